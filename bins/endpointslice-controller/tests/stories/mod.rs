//! What is played on both API servers, and how.

pub(crate) mod cluster;
pub(crate) mod program;
mod smoke;

pub(crate) use smoke::smoke;
