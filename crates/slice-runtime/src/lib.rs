//! The machinery under the controllers: the only crate that talks to a network.
//!
//! A change travels one way: watch → slim decode → index → queue → desired → plan → write. This crate owns both ends and
//! the queue in between (tasks, sockets, retries, clocks); a [`Controller`](slice_controller::Controller) owns what lies
//! between them and does no I/O. [`run`] brings the two together, and [`program`] makes a program of it.
//!
//! A whole program, with flags, logs, metrics and an orderly end, here for the controller of `service-slices`; how to write
//! your own is shown by [`slice_controller`].
//!
//! ```no_run
//! use std::{num::NonZeroUsize, process::ExitCode, time::Duration};
//!
//! use clap::Parser;
//! use service_slices::controller::{Config, ServiceController};
//! use slice_runtime::program::{self, About, CONCURRENCY, CommonArgs, Program};
//!
//! const ABOUT: About = About {
//!     name: "my-controller",
//!     version: "0.1.0",
//!     managed_by: "my-controller.example.com",
//!     event_source: "my-controller",
//!     metrics_subsystem: "my_controller",
//!     work_queue: "my_controller",
//! };
//!
//! /// Writes the EndpointSlices of Services that select pods
//! #[derive(Debug, Parser)]
//! struct Args {
//!     /// Services with writes under way at the same time
//!     #[arg(long, default_value_t = 5)]
//!     concurrency: i64,
//!     #[command(flatten)]
//!     common: CommonArgs,
//! }
//!
//! fn main() -> ExitCode {
//!     program::main(&ABOUT, |args: Args, complaints| {
//!         let concurrency = complaints.within("concurrency", args.concurrency, CONCURRENCY);
//!         let config = Config {
//!             managed_by: args.common.controller_name.clone(),
//!             max_endpoints_per_slice: NonZeroUsize::MIN.saturating_add(99),
//!             batch_period: Duration::ZERO,
//!             service_selector: args.common.service_selector.clone(),
//!         };
//!         Program {
//!             controller: ServiceController::new(config),
//!             common: args.common,
//!             concurrency,
//!             slice_delay: Duration::from_secs(1),
//!         }
//!     })
//! }
//! ```

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
