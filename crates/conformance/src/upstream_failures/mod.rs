//! Past failures of upstream, each as a scenario for one controller behind the fault proxy.
//!
//! The numbers are issues and pull requests of kubernetes/kubernetes (docs/spec/invariants.md §3) and ids of defects that
//! docs/spec marks as verified or measured. Every scenario runs as a test of our binary, and by
//! `cargo xtask upstream-failures` with ours and with kube-controller-manager.

mod harness;
mod hints;
mod mirroring;
mod process;
mod program;
mod publication;
mod races;

use std::path::PathBuf;

use anyhow::Result;
use futures::future::LocalBoxFuture;
use testenv::ControlPlane;
use tokio::sync::Mutex;

use self::harness::Harness;
pub use self::program::{Args, run};

/// The controller that a scenario is about; the value is its index in [`testenv::CONTROLLERS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Services = 0,
    Mirroring = 1,
}

/// A past failure of upstream, as a scenario.
pub struct Failure {
    /// Name of the scenario and of its test, with the number.
    pub name: &'static str,
    /// What is checked, in one line.
    pub description: &'static str,
    controller: Controller,
    /// It depends on all nodes of the cluster, so no other such scenario may run at the same time.
    uses_topology: bool,
    steps: Steps,
}

type Steps = for<'a, 'b> fn(&'a mut Harness<'b>) -> LocalBoxFuture<'a, Result<()>>;

impl Failure {
    fn of_services(name: &'static str, description: &'static str, steps: Steps) -> Self {
        Self {
            name,
            description,
            controller: Controller::Services,
            uses_topology: false,
            steps,
        }
    }

    fn of_mirroring(name: &'static str, description: &'static str, steps: Steps) -> Self {
        Self {
            controller: Controller::Mirroring,
            ..Self::of_services(name, description, steps)
        }
    }

    fn of_topology(name: &'static str, description: &'static str, steps: Steps) -> Self {
        Self {
            uses_topology: true,
            ..Self::of_services(name, description, steps)
        }
    }

    /// The numbers or the id in the name, `upstream_{numbers}_…`: `127370/126578` or `H53b`.
    #[must_use]
    pub fn numbers(&self) -> String {
        let words = self.name.split('_').skip(1);
        let numbers = words.take_while(|word| word.contains(|character: char| character.is_ascii_digit()));
        let numbers: Vec<&str> = numbers.collect();
        let mut numbers = numbers.join("/");
        if let Some(letter) = numbers.get_mut(..1) {
            letter.make_ascii_uppercase();
        }
        numbers
    }

    /// Whether it has a number of kubernetes/kubernetes.
    fn is_issue(&self) -> bool {
        self.numbers().starts_with(|character: char| character.is_ascii_digit())
    }

    /// Runs the scenario with one implementation.
    pub async fn run(&self, environment: &Environment, implementation: Implementation<'_>) -> Outcome {
        let _turn = if self.uses_topology {
            Some(environment.topology_turn.lock().await)
        } else {
            None
        };
        let control_plane = &environment.control_plane;
        let mut harness = match Harness::start(self, control_plane, implementation).await {
            Ok(harness) => harness,
            Err(error) => return Outcome::NotRun(error),
        };
        let result = match (self.steps)(&mut harness).await {
            Ok(()) => harness.check_history().await,
            Err(error) => Err(error),
        };
        match (result, harness.clean_up().await) {
            (Ok(()), Ok(())) => Outcome::Ok,
            (Err(error), _) | (_, Err(error)) => match error.downcast::<Failed>() {
                Ok(Failed(evidence)) => Outcome::Failed(evidence),
                Err(error) => Outcome::NotRun(error),
            },
        }
    }
}

/// All past failures; those with a number of kubernetes/kubernetes first.
#[must_use]
pub fn all() -> Vec<Failure> {
    let mut all = publication::all();
    all.extend(races::all());
    all.extend(mirroring::all());
    all.extend(hints::all());
    all.sort_by_key(|failure| !failure.is_issue());
    all
}

/// The implementation under test.
#[derive(Clone, Copy, Debug)]
pub enum Implementation<'a> {
    /// Our binaries, in the order of [`testenv::CONTROLLERS`]. They watch the namespace of the scenario only.
    Ours(&'a [PathBuf]),
    /// kube-controller-manager. It watches all namespaces, so every scenario needs a control plane of its own.
    Upstream,
}

/// A control plane for scenarios.
pub struct Environment {
    control_plane: ControlPlane,
    topology_turn: Mutex<()>,
}

impl Environment {
    /// Starts a control plane.
    pub async fn start() -> Result<Self> {
        Ok(Self {
            control_plane: ControlPlane::start().await?,
            topology_turn: Mutex::default(),
        })
    }

    /// The version of Kubernetes.
    async fn version(&self) -> Result<String> {
        Ok(self.control_plane.client()?.apiserver_version().await?.git_version)
    }
}

/// The result of a scenario.
#[derive(Debug)]
pub enum Outcome {
    /// The controller does not have the failure.
    Ok,
    /// The controller has the failure, as observed.
    Failed(String),
    /// The scenario did not get as far as the failure.
    NotRun(anyhow::Error),
}

/// The error of a scenario whose controller has the failure. Any other error means that the scenario could not be run.
#[derive(Debug)]
struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A name is also that of a namespace.
    #[test]
    fn names_are_unique_and_begin_with_the_numbers() {
        let all = all();
        let names: BTreeSet<&str> = all.iter().map(|failure| failure.name).collect();
        assert_eq!(names.len(), all.len());
        for failure in &all {
            let name = failure.name.to_lowercase();
            let numbers = failure.numbers().replace('/', "_").to_lowercase();
            assert!(
                !numbers.is_empty() && name.starts_with(&format!("upstream_{numbers}_")),
                "{name}"
            );
            assert!(name.len() <= 63, "{name}");
        }
        let numbers: BTreeSet<String> = all.iter().map(Failure::numbers).collect();
        for expected in ["141592", "127370/126578", "D2", "H53b"] {
            assert!(numbers.contains(expected), "{expected} is missing in {numbers:?}");
        }
    }
}
