//! What happened to slices, and whether it was right: the judge of every test that runs a controller.
//!
//! A [`Recorder`] follows all `EndpointSlices` and the objects that they are made from, revision by revision, into a
//! [`History`]. [`check_history`] holds the whole of it to the invariants I3, I4, I6 and I7 of docs/spec/invariants.md,
//! [`check_rest`] holds what is there at its end to I1, I2 and I5, and [`assert_clean`] does both for a test. They judge by
//! the objects alone, with none of the controllers' code; what slices should hold is derived anew, from docs/spec.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use testenv::{ControlPlane, history::{Limits, Recorder, Window, assert_clean}};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let control_plane = ControlPlane::start().await?;
//! let recorder = Recorder::start(control_plane.client()?).await?;
//! // Run a controller and change things.
//! recorder.settled(Duration::from_secs(3)).await?;
//! recorder.mark("restart", Window::NoWrites).await?;
//! // Start the controller again.
//! recorder.settled(Duration::from_secs(3)).await?;
//! println!("{}", assert_clean(&recorder.history()?, &Limits::default(), std::env::temp_dir()));
//! # Ok(())
//! # }
//! ```
//!
//! What a history cannot show: writes that change nothing (the API server drops them), requests that were refused, and who
//! wrote. A slice that a test writes itself is therefore owned up to, by [`Recorder::by_hand`].

mod config;
mod desired;
mod final_state;
mod history;
mod object;
mod recorder;
mod report;
mod state;
mod timeline;
mod violation;
mod well_known;

pub use self::config::{Limits, Manager};
pub use self::history::{BadVersion, ByHand, Entry, Event, History, Mark, ReadError, Verb, Window};
pub use self::object::Object;
pub use self::recorder::{RecordError, Recorder};
pub use self::report::{Report, assert_clean, check_history, check_rest, verify};
pub use self::violation::{Invariant, Violation};
