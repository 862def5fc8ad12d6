//! The message of events about failures.

use crate::{ErrorChain, Examples, Key, SyncFailure, WriteError};

/// Formats the failures of a key as one message in upstream's form: several failures in brackets, equal ones once; of more than
/// three, the number. `kind` is that of the owner, such as `Service`. Conflicts are omitted, because a retry resolves them;
/// `None` if nothing else failed.
#[must_use]
pub fn describe_failures(kind: &str, key: &Key, failures: &[SyncFailure]) -> Option<String> {
    let lasting = failures.iter().filter(|failure| !is_conflict(failure));
    let examples: Examples = lasting.map(|failure| describe(kind, key, failure)).collect();
    match examples.shown() {
        0 => None,
        1 => Some(examples.to_string()),
        _ => Some(format!("[{examples}]")),
    }
}

fn is_conflict(failure: &SyncFailure) -> bool {
    match failure {
        SyncFailure::Sync(_) => false,
        SyncFailure::Create(error) | SyncFailure::Update { error, .. } | SyncFailure::Delete { error, .. } => {
            matches!(error, WriteError::Conflict)
        }
    }
}

fn describe(kind: &str, key: &Key, failure: &SyncFailure) -> String {
    match failure {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyncError;

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
            let description = describe_failures("Endpoints", &key, &failures);
            assert_eq!(description.as_deref(), Some(&*expected));
        }
    }

    #[test]
    fn conflicts_are_not_described() {
        let key = Key::new("ns", "db");
        let conflict = || SyncFailure::Create(WriteError::Conflict);
        let deletion = SyncFailure::Delete {
            slice: "db-1".into(),
            error: WriteError::Conflict,
        };
        assert_eq!(describe_failures("Endpoints", &key, &[]), None);
        assert_eq!(describe_failures("Endpoints", &key, &[conflict(), deletion]), None);
        let failures = [conflict(), SyncFailure::Sync(SyncError::other("no uid"))];
        assert_eq!(
            describe_failures("Endpoints", &key, &failures).as_deref(),
            Some("no uid")
        );
    }

    #[test]
    fn many_failures_are_three_and_a_number() {
        let key = Key::new("ns", "db");
        let failure = |n: usize| SyncFailure::Update {
            slice: format!("db-{n}"),
            error: WriteError::Transport("x".repeat(300).into()),
        };
        let failures: Vec<SyncFailure> = (0..500).map(failure).collect();
        let text = describe_failures("Endpoints", &key, &failures).unwrap();
        assert!(text.len() <= 902 && text.ends_with(", and 497 more]"), "{text}");
        assert!(
            text.contains("failed to update db-2 ") && !text.contains("db-3"),
            "{text}"
        );
    }
}
