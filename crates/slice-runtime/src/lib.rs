//! The runtime of a controller: the only crate that talks to a network.
//!
//! A change travels one way: watch → decode → controller → work queue → sync → plan → writes. This crate owns both ends and
//! the queue in between (tasks, sockets, relists, retries, clocks); a [`Controller`](slice_controller::Controller) owns what
//! lies between them and does no I/O. [`run`] brings the two together, and [`program`] makes a program of it.
//!
//! A whole program, with flags, logs, metrics, health and an orderly shutdown; the controller is any that [`slice_controller`]
//! shows how to write.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use slice_runtime::program::{self, ProgramInfo};
//! # use slice_controller::{Controller, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec};
//! #
//! # struct MyController;
//! #
//! # impl MyController {
//! #     fn new(_managed_by: &str) -> Self {
//! #         Self
//! #     }
//! # }
//! #
//! # impl Controller for MyController {
//! #     type WatchId = ();
//! #     type Object = ();
//! #
//! #     fn watches(&self) -> Vec<WatchSpec<(), ()>> {
//! #         Vec::new()
//! #     }
//! #
//! #     fn apply(&mut self, _object: (), _context: &mut EventContext) {}
//! #
//! #     fn delete(&mut self, _watch: (), _object: &ObjectRef, _context: &mut EventContext) {}
//! #
//! #     fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
//! #         Ok(SyncResult::default())
//! #     }
//! # }
//!
//! fn main() -> ExitCode {
//!     let info = ProgramInfo::new("my-controller", "0.1.0", "my-controller.example.com");
//!     program::run(info, |args| MyController::new(&args.controller_name))
//! }
//! ```
//!
//! A program with flags of its own uses [`program::run_with`].

mod api;
mod client;
mod engine;
mod events;
mod health;
mod metrics;
mod preflight;
pub mod program;
mod queue;
mod run;
mod slices;
mod watch;
mod writers;

pub use client::RateLimit;
pub use health::{Health, WatchState};
pub use metrics::Metrics;
pub use preflight::{PreflightError, preflight};
pub use run::{RunOptions, run};
