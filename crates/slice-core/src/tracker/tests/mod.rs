//! Tests of the slice tracker.

mod races;
mod upstream;

use super::SliceVersion;

const fn version(uid: &str, generation: i64) -> SliceVersion<'_> {
    SliceVersion {
        uid,
        generation,
        terminating: false,
    }
}
