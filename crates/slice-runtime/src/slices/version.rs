//! Which of two versions of an object is newer.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::SliceVersion;

/// As much of a slice as is remembered of our writes.
pub(super) fn of<'a>(metadata: &ObjectMeta, uid: &'a str) -> SliceVersion<'a> {
    SliceVersion {
        uid,
        generation: metadata.generation.unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

/// Whether one resourceVersion is newer than another. Versions of one resource grow; where one cannot be read as a number,
/// what came last is taken for the newest.
pub(super) fn is_newer(version: Option<&str>, than: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    match (number(version), number(than)) {
        (Some(version), Some(than)) => version > than,
        _ => version != than,
    }
}
