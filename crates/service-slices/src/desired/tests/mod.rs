//! Tests of [`desired()`](super::desired).

mod endpoints;
mod fixtures;
mod ports;
mod sources;
