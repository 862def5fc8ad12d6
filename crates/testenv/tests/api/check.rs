//! Tables of objects and the expected validation errors.

use serde_json::Value;

use super::Api;

/// Creates each object of a table (case, object, causes of its rejection) and returns the cases that differ; without
/// causes the object must be accepted.
pub(crate) async fn differences(resource: &str, cases: Vec<(&str, Value, &[&str])>) -> Vec<String> {
    let api = Api::new().await;
    let mut differences = Vec::new();
    for (case, object, causes) in cases {
        let response = api.create(resource, &object).await;
        let code = if causes.is_empty() { 201 } else { 422 };
        if response.code != code || response.causes() != causes {
            let message = &response.body["message"];
            differences.push(format!("{case}: {} {:?} {message}", response.code, response.causes()));
        }
    }
    differences
}

/// Asserts that each object is rejected with these causes.
pub(crate) async fn assert_all_rejected(resource: &str, cases: Vec<(Value, &[&str])>) {
    let texts: Vec<String> = cases.iter().map(|(object, _)| object.to_string()).collect();
    let cases = texts
        .iter()
        .zip(cases)
        .map(|(text, (object, causes))| (text.as_str(), object, causes));
    let differences = differences(resource, cases.collect()).await;
    assert!(differences.is_empty(), "{differences:#?}");
}
