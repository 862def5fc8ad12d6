//! Configuration of the checks.

use std::collections::BTreeSet;
use std::time::Duration;

/// A controller whose slices are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// Value of the managed-by label.
    pub managed_by: String,
    /// Maximum endpoints per slice; for the mirroring controller, maximum addresses per subset.
    pub max_endpoints: usize,
}

/// Configuration of the checks. The default expects both controllers with their default flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckConfig {
    /// The `EndpointSlice` controller; `None` if it does not run.
    pub services: Option<Manager>,
    /// The `EndpointSliceMirroring` controller; `None` if it does not run.
    pub mirroring: Option<Manager>,
    /// Managed-by values of other running controllers, which may write their own slices.
    pub others: BTreeSet<String>,
    /// Maximum age of a controller's cache: an input that ended longer ago does not justify a write (I4). A test that
    /// delays a watch stream or the writes for longer must raise it.
    pub lag: Duration,
}

impl Default for CheckConfig {
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

/// The controller that manages a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Services,
    Mirroring,
}

impl Role {
    /// Kind of the owner objects.
    pub(crate) fn owner_kind(self) -> &'static str {
        match self {
            Self::Services => "Service",
            Self::Mirroring => "Endpoints",
        }
    }
}

impl CheckConfig {
    /// The controller with this value of the managed-by label.
    pub(crate) fn role(&self, managed_by: &str) -> Option<Role> {
        let is = |manager: &Option<Manager>| manager.as_ref().is_some_and(|manager| manager.managed_by == managed_by);
        if is(&self.services) {
            Some(Role::Services)
        } else {
            is(&self.mirroring).then_some(Role::Mirroring)
        }
    }

    /// Maximum endpoints per slice.
    pub(crate) fn max_endpoints(&self, role: Role) -> usize {
        let manager = match role {
            Role::Services => &self.services,
            Role::Mirroring => &self.mirroring,
        };
        // The API server rejects more than 1000 (I3).
        manager.as_ref().map_or(1000, |manager| manager.max_endpoints.min(1000))
    }
}
