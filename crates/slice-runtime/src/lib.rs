//! The machinery under the controllers: the only crate that talks to a network.
//!
//! A change travels one way: watch → slim decode → index → queue → desired → plan → write. This crate owns both ends and
//! the queue in between (tasks, sockets, retries, clocks); a [`Controller`](slice_controller::Controller) owns what lies
//! between them and does no I/O. [`run`] brings the two together, and [`program`] makes a program of it.

mod api;
mod carry_out;
mod check;
mod client;
mod events;
mod health;
mod metrics;
mod owner;
pub mod program;
mod queue;
mod run;
mod slices;
mod watch;
mod writers;

pub use check::{Obstacle, check};
pub use client::RateLimit;
pub use health::{Health, SourceState};
pub use metrics::Metrics;
pub use run::{Options, run};
