//! Runs a [`Controller`](slice_controller::Controller): watches its resources, queues and syncs its keys, writes its
//! EndpointSlices.
//!
//! A controller is a state machine without I/O. This crate supplies the rest: reflectors (list and watch), the work queue with
//! delays and backoff, a cache of the controller's own slices, writers, an event recorder, metrics and health.
//!
//! ```text
//!                 one task per watch              one task                          one task per key in flight
//! API server ───► Reflector ──watch events──► runner: Engine (Controller, ──jobs──► writer ───► API server
//!                             (bounded)       WorkQueue, SliceCache)  ◄──results──┘
//!                                                      │ events (bounded)
//!                                                      └──► event recorder ───► API server
//! ```
//!
//! * [`program::run`] is the whole `main` of a controller: flags, client configuration, review of permissions, logging, HTTP
//!   endpoints and shutdown. [`program::run_with`] adds flags of your own.
//! * [`run`] runs a controller inside a program that has all of this already; [`preflight`] checks its options before.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! # use slice_controller::{Controller, EventContext, Key, ObjectRef, SyncContext, SyncError, SyncResult, WatchSpec};
//! use slice_runtime::program::{self, ProgramInfo};
//! # struct MyController;
//! # impl MyController {
//! #     fn new(_managed_by: &str) -> Self { Self }
//! # }
//! # impl Controller for MyController {
//! #     type WatchId = ();
//! #     type Object = ();
//! #     fn watches(&self) -> Vec<WatchSpec<(), ()>> { Vec::new() }
//! #     fn apply(&mut self, _object: (), _context: &mut EventContext) {}
//! #     fn delete(&mut self, _watch: (), _object: &ObjectRef, _context: &mut EventContext) {}
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
//! How to write the controller itself: [`slice_controller`], and `docs/library.md` for a complete program, `examples/multus.rs`.

mod admission;
mod api;
mod client;
mod engine;
mod escape;
mod event_channel;
mod events;
mod failure_log;
mod file_hashes;
#[cfg(test)]
mod fixtures;
mod health;
pub mod leader_election;
mod metrics;
mod preflight;
pub mod program;
mod queue;
mod rbac;
mod run;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation;
mod slice_cache;
mod watch;
mod writers;

pub use client::{Connections, RateLimit};
pub use events::runtime_events;
pub use health::{Health, WatchState};
pub use metrics::Metrics;
pub use preflight::{PreflightError, preflight};
pub use rbac::{dry_run_rules, lease_rules, policy_rules, secure_port_rules};
pub use run::{RunError, RunOptions, run};
