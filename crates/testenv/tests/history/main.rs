//! The judge, judged: histories that break an invariant are rejected for that one, and good ones are accepted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod i1_i2_mirrored;
mod i1_i2_services;
mod i3;
mod i4;
mod i5;
mod i6;
mod i7;
mod objects;
mod recorder;
mod report;
mod story;
