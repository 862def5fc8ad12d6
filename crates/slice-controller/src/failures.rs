//! The message of events about failures.

use crate::{ErrorChain, Key, SyncFailure};

/// Formats the failures of a key as one message in upstream's form: several failures in brackets, equal ones once. `kind` is
/// that of the owner, such as `Service`.
#[must_use]
pub fn describe_failures(kind: &str, key: &Key, failures: &[SyncFailure]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for failure in failures {
        let text = match failure {
            SyncFailure::Sync(error) => ErrorChain(error).to_string(),
            SyncFailure::Create(error) => {
                format!("failed to create EndpointSlice for {kind} {key}: {}", ErrorChain(error))
            }
            SyncFailure::Update { slice, error } => {
                format!(
                    "failed to update {slice} EndpointSlice for {kind} {key}: {}",
                    ErrorChain(error)
                )
            }
            SyncFailure::Delete { slice, error } => {
                format!(
                    "failed to delete {slice} EndpointSlice for {kind} {key}: {}",
                    ErrorChain(error)
                )
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
    use crate::{SyncError, WriteError};

    /// The form of upstream's aggregate errors (R107, R132, M103).
    #[test]
    fn several_failures_are_in_brackets_and_equal_ones_once() {
        let key = Key::new("ns", "db");
        let no = || WriteError::Transport("no".into());
        let create = || SyncFailure::Create(no());
        let update = SyncFailure::Update {
            slice: "db-1".into(),
            error: WriteError::Api {
                code: 410,
                reason: "Gone".into(),
                message: "gone".into(),
            },
        };
        let delete = SyncFailure::Delete {
            slice: "db-2".into(),
            error: no(),
        };
        let relabelled = SyncFailure::Create(WriteError::Relabelled {
            slice: "db-3".into(),
            label: "kubernetes.io/service-name".into(),
            value: None,
        });
        let created = "failed to create EndpointSlice for Endpoints ns/db: no";
        let updated = "failed to update db-1 EndpointSlice for Endpoints ns/db: gone";
        let deleted = "failed to delete db-2 EndpointSlice for Endpoints ns/db: no";
        for (failures, expected) in [
            (vec![create()], created.to_owned()),
            (vec![create(), create()], created.to_owned()),
            (
                vec![create(), update, delete],
                format!("[{created}, {updated}, {deleted}]"),
            ),
            (
                vec![relabelled],
                "failed to create EndpointSlice for Endpoints ns/db: slice db-3 is stored with no label \
                 kubernetes.io/service-name: a mutating webhook or policy, or another client, rewrites the labels of \
                 EndpointSlices; exclude EndpointSlices from it"
                    .to_owned(),
            ),
            (vec![SyncFailure::Sync(SyncError::other("no uid"))], "no uid".to_owned()),
        ] {
            assert_eq!(describe_failures("Endpoints", &key, &failures), expected);
        }
    }
}
