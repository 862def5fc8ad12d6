//! Test oracle for `EndpointSlices`: records every revision and checks the invariants of docs/spec/invariants.md.
//!
//! A [`Recorder`] watches `EndpointSlices` and their inputs (Services, Pods, Nodes, Endpoints, Namespaces) and appends
//! every revision to a [`History`]. [`check_history`] checks each revision of it (I3, I4, I6, I7),
//! [`check_final_state`] checks the state at its end (I1, I2, I5), and [`assert_clean`] does both for a test. The
//! checks use none of the controllers' code: they derive the desired endpoints from the recorded objects, as docs/spec
//! describes.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use slice_oracle::{CheckConfig, Recorder, Window, assert_clean};
//! use testenv::ControlPlane;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let control_plane = ControlPlane::start().await?;
//! let recorder = Recorder::start(control_plane.client()?).await?;
//! // Run a controller and change objects.
//! recorder.wait_quiescent(Duration::from_secs(3)).await?;
//! recorder.mark("restart", Window::NoWrites).await?;
//! // Start the controller again.
//! recorder.wait_quiescent(Duration::from_secs(3)).await?;
//! println!("{}", assert_clean(&recorder.history()?, &CheckConfig::default(), std::env::temp_dir()));
//! # Ok(())
//! # }
//! ```
//!
//! A history does not contain no-op writes (the API server drops them), rejected requests, or the author of a write. A
//! test that writes a slice itself therefore reports it with [`Recorder::record_manual_write`].

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

pub use self::config::{CheckConfig, Manager};
pub use self::history::{Entry, Event, History, InvalidVersion, ManualWrite, Mark, ReadError, Verb, Window};
pub use self::object::Object;
pub use self::recorder::{RecordError, Recorder};
pub use self::report::{Report, assert_clean, check_final_state, check_history, verify};
pub use self::violation::{Invariant, Violation};
