//! `cargo xtask simulate`: runs the engine against an in-memory API server in random schedules, and checks the invariants.
//!
//! The engine is a state machine without I/O and clock, so that a schedule of thousands of interleavings needs no server and no
//! time. A schedule is a list of steps that its seed determines: changes of inputs, watch events, lists, syncs, writes, responses,
//! faults, foreign edits and virtual time. After its last step all faults end, and the slices must become what the objects demand,
//! without a resync.
//!
//! * `schedule.rs` generates the steps, `inputs.rs` the objects.
//! * `server.rs` is the API server; `engine.rs` has the engines, and `replica/` one with its watch streams and requests in flight.
//! * `play.rs` executes a schedule, `writes.rs` the writes, `election.rs` the requests about leases, `foreign.rs` the edits of slices by others, and `quiescence.rs` the end;
//!   `checks/` has the invariants.
//! * `shrink.rs` removes the steps of a failing schedule that it does not need.

mod checks;
mod election;
mod engine;
mod foreign;
mod inputs;
mod object;
mod play;
mod quiescence;
mod replica;
mod runner;
mod schedule;
mod server;
mod shrink;
#[cfg(test)]
mod tests;
mod trace;
mod writes;

pub use runner::{Args, run};
