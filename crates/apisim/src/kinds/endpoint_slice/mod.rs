//! EndpointSlices: defaults, generation, topology, warnings (R140–R148).

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::{ClusterIps, Kind};
use crate::validation::{
    FieldError, addresses::ip_warning, endpoint_slice, metadata, names::dns1123_subdomain, path::Path,
};

const HOSTNAME_KEY: &str = "kubernetes.io/hostname";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Controllers that write addresses in canonical form themselves; their slices get no address warnings.
const CANONICALIZING_MANAGERS: [&str; 2] = [
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
];

impl Kind for EndpointSlice {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        self.endpoints.take_if(|endpoints| endpoints.is_empty());
        self.ports.take_if(|ports| ports.is_empty());
        for port in self.ports.iter_mut().flatten() {
            port.name.get_or_insert_default();
            port.protocol.get_or_insert_with(|| "TCP".to_owned());
        }
        for endpoint in self.endpoints.iter_mut().flatten() {
            default_endpoint(endpoint);
        }
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        self.metadata.generation = Some(1);
        drop_topology(self, &BTreeSet::new());
    }

    fn prepare_update(&mut self, old: &Self) {
        let changed = (&self.address_type, &self.endpoints, &self.ports, &self.metadata.labels)
            != (&old.address_type, &old.endpoints, &old.ports, &old.metadata.labels);
        let generation = old.metadata.generation.unwrap_or_default() + i64::from(changed);
        self.metadata.generation = Some(generation);
        if self.endpoints != old.endpoints {
            drop_topology(self, &topology_nodes(old));
        }
    }

    fn validate(&self) -> Vec<FieldError> {
        endpoint_slice::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        endpoint_slice::validate_update(self, old)
    }

    fn warnings(&self, old: Option<&Self>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() && self.address_type == "FQDN" {
            warnings.push("spec.addressType: addresses of type FQDN are deprecated".to_owned());
        }
        let manager = self.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
        if !manager.is_some_and(|manager| CANONICALIZING_MANAGERS.contains(&manager.as_str())) {
            warnings.extend(address_warnings(self));
        }
        warnings
    }
}

/// Drops empty fields, which equal absent ones, and adds empty conditions.
fn default_endpoint(endpoint: &mut Endpoint) {
    endpoint.conditions.get_or_insert_default();
    endpoint.deprecated_topology.take_if(|topology| topology.is_empty());
    if let Some(hints) = &mut endpoint.hints {
        hints.for_zones.take_if(|zones| zones.is_empty());
        hints.for_nodes.take_if(|nodes| nodes.is_empty());
    }
    if let Some(target) = &mut endpoint.target_ref {
        for field in [
            &mut target.api_version,
            &mut target.field_path,
            &mut target.kind,
            &mut target.name,
            &mut target.namespace,
            &mut target.resource_version,
            &mut target.uid,
        ] {
            field.take_if(|text| text.is_empty());
        }
    }
}

/// Drops `deprecatedTopology`, which v1 clients cannot write (R147). A hostname in it becomes the `nodeName` if the old
/// slice had this node in its topology.
fn drop_topology(slice: &mut EndpointSlice, old_nodes: &BTreeSet<String>) {
    for endpoint in slice.endpoints.iter_mut().flatten() {
        let topology = endpoint.deprecated_topology.take();
        if endpoint.node_name.is_none() {
            endpoint.node_name = topology
                .and_then(|mut topology| topology.remove(HOSTNAME_KEY))
                .filter(|node| old_nodes.contains(node) && dns1123_subdomain(node).is_empty());
        }
    }
}

fn topology_nodes(slice: &EndpointSlice) -> BTreeSet<String> {
    let topologies = slice
        .endpoints
        .iter()
        .flatten()
        .flat_map(|endpoint| &endpoint.deprecated_topology);
    topologies
        .filter_map(|topology| topology.get(HOSTNAME_KEY))
        .filter(|node| !node.is_empty())
        .cloned()
        .collect()
}

fn address_warnings(slice: &EndpointSlice) -> Vec<String> {
    let path = Path::new("endpoints");
    let mut warnings = Vec::new();
    for (i, endpoint) in slice.endpoints.iter().flatten().enumerate() {
        let path = path.index(i);
        let path = path.child("addresses");
        let addresses = endpoint.addresses.iter().enumerate();
        warnings.extend(addresses.filter_map(|(i, address)| ip_warning(&path.index(i), address)));
    }
    warnings
}

#[cfg(test)]
mod tests;
