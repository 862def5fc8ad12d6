//! Metadata that the server itself looks after, whatever the kind.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

const NAME_MAX: usize = 63;
const SUFFIX: usize = 5;
/// No vowels and nothing that is mistaken for another character.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The time, in the precision of object metadata.
pub(crate) fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Completes the name of an object that only says how its name begins (R142).
pub(super) fn generate_name(base: &str) -> String {
    let suffix = (0..SUFFIX).map(|_| char::from(SUFFIX_ALPHABET[fastrand::usize(..SUFFIX_ALPHABET.len())]));
    base.chars().take(NAME_MAX - SUFFIX).chain(suffix).collect()
}

/// Sets what only the server says about a new object.
pub(super) fn stamp(metadata: &mut ObjectMeta) {
    metadata.uid = Some(uuid::Uuid::new_v4().to_string());
    metadata.creation_timestamp = Some(now());
    metadata.generation = None;
    metadata.deletion_timestamp = None;
    metadata.deletion_grace_period_seconds = None;
}

/// Leaves out what is empty, so that absent and empty are the same, and what is not kept at all: `managedFields`.
pub(super) fn tidy(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    metadata.self_link = None;
    metadata.labels.take_if(|labels| labels.is_empty());
    metadata.annotations.take_if(|annotations| annotations.is_empty());
    metadata.finalizers.take_if(|finalizers| finalizers.is_empty());
    metadata.owner_references.take_if(|owners| owners.is_empty());
    metadata.generate_name.take_if(|name| name.is_empty());
}

/// Takes over what an update cannot change.
pub(super) fn keep(metadata: &mut ObjectMeta, old: &ObjectMeta) {
    if metadata.uid.as_deref().unwrap_or_default().is_empty() {
        metadata.uid.clone_from(&old.uid);
    }
    metadata.creation_timestamp.clone_from(&old.creation_timestamp);
    if old.deletion_timestamp.is_some() {
        metadata.deletion_timestamp.clone_from(&old.deletion_timestamp);
    }
    if metadata.deletion_grace_period_seconds.is_none() {
        metadata.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r142_generated_names_have_five_random_characters_and_at_most_63() {
        for (base, length) in [("a-", 7), (&*"x".repeat(58), 63), (&*"x".repeat(100), 63)] {
            let name = generate_name(base);
            let (start, suffix) = name.split_at(length - 5);
            assert_eq!(name.len(), length);
            assert!(base.starts_with(start));
            assert!(suffix.bytes().all(|byte| SUFFIX_ALPHABET.contains(&byte)), "{suffix}");
        }
    }

    #[test]
    fn an_update_keeps_what_the_server_set() {
        let old = ObjectMeta {
            uid: Some("u".into()),
            creation_timestamp: Some(now()),
            deletion_timestamp: Some(now()),
            deletion_grace_period_seconds: Some(0),
            ..ObjectMeta::default()
        };
        let mut new = ObjectMeta::default();
        keep(&mut new, &old);
        assert_eq!(new, old);
    }
}
