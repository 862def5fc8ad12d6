//! Tests of the engine: with the controller for Services on a fake API server, and with a stub controller.

mod admission;
mod debug_state;
mod dry_run;
mod fake_api;
mod fixtures;
mod harness;
mod logs;
mod relabelling;
mod relists;
mod responses;
mod scenarios;
mod scheduling;
mod stub;
mod terms;
