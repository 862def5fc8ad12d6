//! Leases.

use k8s_openapi::api::coordination::v1::Lease;

use super::{ClusterIps, Kind};
use crate::validation::{FieldError, lease, metadata};

impl Kind for Lease {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.spec.get_or_insert_default();
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        drop_coordinated_election(self);
    }

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        drop_coordinated_election(self);
    }

    fn validate(&self) -> Vec<FieldError> {
        lease::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        lease::validate_update(self, old)
    }

    fn update_creates() -> bool {
        true
    }

    fn update_is_unconditional() -> bool {
        false
    }
}

/// Drops the fields of coordinated leader election, a feature gate that is off by default.
fn drop_coordinated_election(lease: &mut Lease) {
    if let Some(spec) = &mut lease.spec {
        spec.strategy = None;
        spec.preferred_holder = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::fixtures::{object, summary};

    fn lease(seconds: i32, transitions: i32) -> Lease {
        object(serde_json::json!({
            "metadata": { "name": "leader", "namespace": "ns" },
            "spec": { "leaseDurationSeconds": seconds, "leaseTransitions": transitions },
        }))
    }

    #[test]
    fn duration_must_be_positive_and_transitions_not_negative() {
        assert_eq!(lease(1, 0).validate(), []);
        let errors = [
            "spec.leaseDurationSeconds FieldValueInvalid",
            "spec.leaseTransitions FieldValueInvalid",
        ];
        assert_eq!(summary(&lease(0, -1).validate()), errors);
        assert_eq!(summary(&lease(-3, -1).validate_update(&lease(1, 0))), errors);
    }
}
