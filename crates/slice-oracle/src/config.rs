//! What a history is held to.

use std::collections::BTreeSet;
use std::time::Duration;

/// A controller whose slices are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// Its value of the managed-by label.
    pub managed_by: String,
    /// The most endpoints in one of its slices; of the mirroring controller, the most addresses per subset.
    pub max_endpoints: usize,
}

/// What a history is held to. The default is both controllers as they are without flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The controller for Services with a selector; none, when none runs.
    pub services: Option<Manager>,
    /// The mirroring controller; none, when none runs.
    pub mirroring: Option<Manager>,
    /// Other values of the managed-by label whose controllers are at work and may change their own slices.
    pub others: BTreeSet<String>,
    /// How old a controller's knowledge of its inputs may be: what ended longer ago excuses nothing (I4). A test that
    /// holds up a stream or the writes for longer has to allow for that.
    pub lag: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            services: Some(Manager {
                managed_by: "endpointslice-controller.k8s.io".to_owned(),
                max_endpoints: 100,
            }),
            mirroring: Some(Manager {
                managed_by: "endpointslicemirroring-controller.k8s.io".to_owned(),
                max_endpoints: 1000,
            }),
            others: BTreeSet::new(),
            lag: Duration::from_secs(30),
        }
    }
}

/// Whose slices they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Services,
    Mirroring,
}

impl Role {
    /// The kind of the objects that own the slices.
    pub(crate) fn owner_kind(self) -> &'static str {
        match self {
            Self::Services => "Service",
            Self::Mirroring => "Endpoints",
        }
    }
}

impl Limits {
    /// Whose slices bear a value of the managed-by label.
    pub(crate) fn role(&self, managed_by: &str) -> Option<Role> {
        let is = |manager: &Option<Manager>| manager.as_ref().is_some_and(|manager| manager.managed_by == managed_by);
        if is(&self.services) {
            Some(Role::Services)
        } else {
            is(&self.mirroring).then_some(Role::Mirroring)
        }
    }

    /// The most endpoints in a slice.
    pub(crate) fn max_endpoints(&self, role: Role) -> usize {
        let manager = match role {
            Role::Services => &self.services,
            Role::Mirroring => &self.mirroring,
        };
        // Nothing holds more, whatever the flags say (I3).
        manager.as_ref().map_or(1000, |manager| manager.max_endpoints.min(1000))
    }
}
