//! The two controllers, with the constants of their programs.

use std::{num::NonZeroUsize, time::Duration};

use k8s_openapi::api::rbac::v1::PolicyRule;
use mirroring::controller::MirroringController;
use service_slices::controller::ServiceController;
use slice_runtime::{dry_run_rules, policy_rules, secure_port_rules};

/// One of the two controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Slices of Services with a selector.
    EndpointSlice,
    /// Slices of Endpoints objects.
    Mirroring,
}

impl Controller {
    /// Both.
    pub const ALL: [Self; 2] = [Self::EndpointSlice, Self::Mirroring];

    /// The name of the program, and of its Deployment, `ServiceAccount`, Lease and default image.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EndpointSlice => "endpointslice-controller",
            Self::Mirroring => "endpointslice-mirroring-controller",
        }
    }

    /// The name of its directory in `deploy/` and of its values in the Helm chart.
    pub(crate) const fn short_name(self) -> &'static str {
        match self {
            Self::EndpointSlice => "endpointslice",
            Self::Mirroring => "mirroring",
        }
    }

    /// The port of metrics and probes, by HTTPS.
    #[must_use]
    pub const fn secure_port(self) -> u16 {
        match self {
            Self::EndpointSlice => service_slices::SECURE_PORT,
            Self::Mirroring => mirroring::SECURE_PORT,
        }
    }

    /// Prefix of the names of its metrics.
    #[must_use]
    pub const fn metrics_prefix(self) -> &'static str {
        match self {
            Self::EndpointSlice => service_slices::METRICS_SUBSYSTEM,
            Self::Mirroring => mirroring::METRICS_SUBSYSTEM,
        }
    }

    /// Requests of CPU and memory.
    ///
    /// The most memory that was measured (docs/reliability.md, `cargo xtask bench outage`): 46.8 MiB with 1,000 Services of three
    /// pods, 17.9 MiB with 200 mirrored Services.
    pub(crate) const fn requests(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::EndpointSlice => [("cpu", "100m"), ("memory", "64Mi")],
            Self::Mirroring => [("cpu", "50m"), ("memory", "32Mi")],
        }
    }

    /// The rules of its `ClusterRole`.
    pub(crate) fn cluster_rules(self, shadow: bool) -> Vec<PolicyRule> {
        let own = match self {
            Self::EndpointSlice => own_rules(&service_controller(), service_slices::OWNER_RESOURCE, shadow),
            Self::Mirroring => own_rules(&mirroring_controller(), mirroring::OWNER_RESOURCE, shadow),
        };
        [own, secure_port_rules()].concat()
    }
}

fn own_rules<C: slice_controller::Controller>(controller: &C, owner: &str, shadow: bool) -> Vec<PolicyRule> {
    if shadow {
        dry_run_rules(controller)
    } else {
        policy_rules(controller, owner)
    }
}

/// A controller of which only the declarations are read.
pub(crate) fn service_controller() -> ServiceController {
    ServiceController::new(service_slices::controller::Config {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        max_endpoints_per_slice: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    })
}

/// A controller of which only the declarations are read.
pub(crate) fn mirroring_controller() -> MirroringController {
    MirroringController::new(mirroring::controller::Config {
        managed_by: mirroring::MANAGED_BY.to_owned(),
        max_endpoints_per_subset: NonZeroUsize::MIN,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    })
}
