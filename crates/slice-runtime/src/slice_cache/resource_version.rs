//! Versions of slices: the tracker's view of one, and the order of resourceVersions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::SliceVersion;

/// The fields of a slice that the tracker compares.
pub(super) fn tracked_version<'a>(metadata: &ObjectMeta, uid: &'a str) -> SliceVersion<'a> {
    SliceVersion {
        uid,
        generation: metadata.generation.unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

/// Whether one resourceVersion is newer than another. Versions of one resource increase; if one is not a number, the version
/// that arrived last counts as newer.
pub(crate) fn is_newer(version: Option<&str>, than: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    match (number(version), number(than)) {
        (Some(version), Some(than)) => version > than,
        _ => version != than,
    }
}
