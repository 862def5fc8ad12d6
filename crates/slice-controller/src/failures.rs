//! Failures, told to people.

use crate::{Failure, Key};

/// All failures of a key as one text, as upstream puts it: one as itself, several in brackets, equal ones once. `kind` is
/// the owner's, such as `Service`.
#[must_use]
pub fn describe_failures(kind: &str, key: &Key, failures: &[Failure]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for failure in failures {
        let text = match failure {
            Failure::Sync(error) => error.clone(),
            Failure::Create(error) => format!("failed to create EndpointSlice for {kind} {key}: {error}"),
            Failure::Update { slice, error } => {
                format!("failed to update {slice} EndpointSlice for {kind} {key}: {error}")
            }
            Failure::Delete { slice, error } => {
                format!("failed to delete {slice} EndpointSlice for {kind} {key}: {error}")
            }
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R107, R132, M103.
    #[test]
    fn one_failure_stands_alone_and_several_in_brackets() {
        let key = Key::new("ns", "db");
        let create = Failure::Create("no".into());
        let update = Failure::Update {
            slice: "db-1".into(),
            error: "gone".into(),
        };
        let delete = Failure::Delete {
            slice: "db-2".into(),
            error: "no".into(),
        };
        let created = "failed to create EndpointSlice for Endpoints ns/db: no";
        let updated = "failed to update db-1 EndpointSlice for Endpoints ns/db: gone";
        let deleted = "failed to delete db-2 EndpointSlice for Endpoints ns/db: no";
        for (failures, expected) in [
            (vec![create.clone()], created.to_owned()),
            (vec![create.clone(), create.clone()], created.to_owned()),
            (
                vec![create, update, delete],
                format!("[{created}, {updated}, {deleted}]"),
            ),
            (vec![Failure::Sync("no uid".into())], "no uid".to_owned()),
        ] {
            assert_eq!(describe_failures("Endpoints", &key, &failures), expected);
        }
    }
}
