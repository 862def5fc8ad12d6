//! Endpoints: defaults and warnings.

use k8s_openapi::api::core::v1::Endpoints;

use super::{ClusterIps, Kind};
use crate::validation::{FieldError, addresses::ip_warning, endpoints, metadata, path::Path};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// The controller that writes addresses in canonical form itself; its Endpoints get no address warnings.
const CANONICALIZING_MANAGER: &str = "endpoint-controller";

impl Kind for Endpoints {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.subsets.take_if(|subsets| subsets.is_empty());
        for subset in self.subsets.iter_mut().flatten() {
            subset.addresses.take_if(|addresses| addresses.is_empty());
            subset.not_ready_addresses.take_if(|addresses| addresses.is_empty());
            subset.ports.take_if(|ports| ports.is_empty());
            for port in subset.ports.iter_mut().flatten() {
                port.name.take_if(|name| name.is_empty());
                port.protocol.take_if(|protocol| protocol.is_empty());
                port.protocol.get_or_insert_with(|| "TCP".to_owned());
            }
        }
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {}

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
    }

    fn validate(&self) -> Vec<FieldError> {
        endpoints::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        endpoints::validate_update(self, old)
    }

    fn warnings(&self, _old: Option<&Self>) -> Vec<String> {
        let manager = self.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
        if manager.is_some_and(|manager| manager == CANONICALIZING_MANAGER) {
            return Vec::new();
        }
        address_warnings(self)
    }

    fn update_creates() -> bool {
        true
    }
}

fn address_warnings(endpoints: &Endpoints) -> Vec<String> {
    let path = Path::new("subsets");
    let mut warnings = Vec::new();
    for (i, subset) in endpoints.subsets.iter().flatten().enumerate() {
        let path = path.index(i);
        let lists = [
            ("addresses", &subset.addresses),
            ("notReadyAddresses", &subset.not_ready_addresses),
        ];
        for (name, addresses) in lists {
            let path = path.child(name);
            for (i, address) in addresses.iter().flatten().enumerate() {
                warnings.extend(ip_warning(&path.index(i).child("ip"), &address.ip));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
