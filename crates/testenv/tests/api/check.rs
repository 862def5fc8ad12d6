//! Tables of objects and of what a server says to them.

use serde_json::Value;

use super::Api;

/// Creates each object of a table (what it shows, the object, the causes of its refusal) and tells where the server
/// saw it differently; without causes the object must be taken.
pub(crate) async fn differences(resource: &str, cases: Vec<(&str, Value, &[&str])>) -> Vec<String> {
    let api = Api::new().await;
    let mut differences = Vec::new();
    for (case, object, causes) in cases {
        let answer = api.create(resource, &object).await;
        let code = if causes.is_empty() { 201 } else { 422 };
        if answer.code != code || answer.causes() != causes {
            let message = &answer.body["message"];
            differences.push(format!("{case}: {} {:?} {message}", answer.code, answer.causes()));
        }
    }
    differences
}

/// Checks that each object is refused for the causes beside it.
pub(crate) async fn refuses(resource: &str, cases: Vec<(Value, &[&str])>) {
    let texts: Vec<String> = cases.iter().map(|(object, _)| object.to_string()).collect();
    let cases = texts
        .iter()
        .zip(cases)
        .map(|(text, (object, causes))| (text.as_str(), object, causes));
    let differences = differences(resource, cases.collect()).await;
    assert!(differences.is_empty(), "{differences:#?}");
}
