//! Metadata that the server sets for all kinds.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

const NAME_MAX: usize = 63;
const SUFFIX_LENGTH: usize = 5;
/// Lower case letters and digits without vowels and without ambiguous characters.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The current time in seconds, the precision of object metadata.
pub(crate) fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Appends a random suffix to a `generateName` (R142).
pub(super) fn generate_name(base: &str) -> String {
    let suffix = (0..SUFFIX_LENGTH).map(|_| char::from(SUFFIX_ALPHABET[fastrand::usize(..SUFFIX_ALPHABET.len())]));
    base.chars().take(NAME_MAX - SUFFIX_LENGTH).chain(suffix).collect()
}

/// Sets uid and creationTimestamp of a new object and clears the other system fields.
pub(super) fn set_system_fields(metadata: &mut ObjectMeta) {
    metadata.uid = Some(uuid::Uuid::new_v4().to_string());
    metadata.creation_timestamp = Some(now());
    metadata.generation = None;
    metadata.deletion_timestamp = None;
    metadata.deletion_grace_period_seconds = None;
}

/// Drops empty fields, which equal absent ones, and the fields that the server does not store: `managedFields`, `selfLink`.
pub(super) fn normalize(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    metadata.self_link = None;
    metadata.labels.take_if(|labels| labels.is_empty());
    metadata.annotations.take_if(|annotations| annotations.is_empty());
    metadata.finalizers.take_if(|finalizers| finalizers.is_empty());
    metadata.owner_references.take_if(|owners| owners.is_empty());
    metadata.generate_name.take_if(|name| name.is_empty());
}

/// Copies the fields that an update cannot change from the old metadata.
pub(super) fn preserve_immutable(metadata: &mut ObjectMeta, old: &ObjectMeta) {
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
    fn update_preserves_system_fields() {
        let old = ObjectMeta {
            uid: Some("u".into()),
            creation_timestamp: Some(now()),
            deletion_timestamp: Some(now()),
            deletion_grace_period_seconds: Some(0),
            ..ObjectMeta::default()
        };
        let mut new = ObjectMeta::default();
        preserve_immutable(&mut new, &old);
        assert_eq!(new, old);
    }
}
