//! Tests of the engine: with the controller for Services on a fake API server, and with a stub controller.

mod fake_api;
mod fixtures;
mod harness;
mod logs;
mod scenarios;
mod scheduling;
mod stub;
