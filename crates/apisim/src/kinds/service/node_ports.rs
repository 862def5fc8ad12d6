//! Allocation of node ports of a Service.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ServiceSpec;

use super::{
    allocate::SPEC,
    spec_ext::{allocates_node_ports, has_node_ports, needs_health_check, node_ports},
};
use crate::{
    kinds::{ClusterIps, cluster_ips::AllocationError},
    validation::FieldError,
};

/// Checks requested node ports and chooses the others.
pub(super) fn allocate_node_ports(
    spec: &mut ServiceSpec,
    old: Option<&ServiceSpec>,
    ips: &ClusterIps,
) -> Result<(), Vec<FieldError>> {
    let old_ports: BTreeSet<i32> = old.into_iter().flat_map(node_ports).collect();
    let mut chosen: BTreeSet<i32> = BTreeSet::new();
    if has_node_ports(spec) {
        let mut by_number: BTreeMap<i32, i32> = BTreeMap::new();
        for (i, port) in spec.ports.iter().flatten().enumerate() {
            let Some(number) = port.node_port.filter(|number| !old_ports.contains(number)) else {
                continue;
            };
            let shared = by_number.get(&port.port) == Some(&number);
            by_number.entry(port.port).or_insert(number);
            let free = if chosen.insert(number) {
                ips.check_node_port(number)
            } else if shared || old.is_some() {
                Ok(())
            } else {
                Err(AllocationError::InUse)
            };
            free.map_err(|error| allocation_error(i, number, error))?;
        }
        chosen.extend(&old_ports);
        choose_missing(spec, old.is_none(), &mut chosen, ips)?;
    }
    choose_health_check_port(spec, old, &chosen, ips)
}

fn choose_missing(
    spec: &mut ServiceSpec,
    new: bool,
    chosen: &mut BTreeSet<i32>,
    ips: &ClusterIps,
) -> Result<(), Vec<FieldError>> {
    if !allocates_node_ports(spec) {
        return Ok(());
    }
    let ports = spec.ports.iter_mut().flatten();
    // In a new Service, ports with the same number and different protocols share a node port.
    let mut by_number: BTreeMap<i32, i32> = BTreeMap::new();
    if new {
        let requested = ports.filter_map(|port| Some((port.port, port.node_port?)));
        requested.for_each(|(number, node_port)| {
            by_number.entry(number).or_insert(node_port);
        });
    }
    for (i, port) in spec
        .ports
        .iter_mut()
        .flatten()
        .enumerate()
        .filter(|(_, port)| port.node_port.is_none())
    {
        let shared = by_number.get(&port.port).copied().filter(|_| new);
        let number = match shared {
            Some(number) => number,
            None => ips
                .choose_node_port(chosen)
                .map_err(|error| allocation_error(i, 0, error))?,
        };
        chosen.insert(number);
        by_number.insert(port.port, number);
        port.node_port = Some(number);
    }
    Ok(())
}

fn choose_health_check_port(
    spec: &mut ServiceSpec,
    old: Option<&ServiceSpec>,
    chosen: &BTreeSet<i32>,
    ips: &ClusterIps,
) -> Result<(), Vec<FieldError>> {
    if !needs_health_check(spec) || old.is_some_and(needs_health_check) {
        return Ok(());
    }
    let path = SPEC.child("healthCheckNodePort");
    let invalid = |port: i32, error: AllocationError| vec![FieldError::invalid(&path, port, error.to_string())];
    if let Some(port) = spec.health_check_node_port {
        return ips.check_node_port(port).map_err(|error| invalid(port, error));
    }
    let port = ips.choose_node_port(chosen).map_err(|error| invalid(0, error))?;
    spec.health_check_node_port = Some(port);
    Ok(())
}

fn allocation_error(i: usize, number: i32, error: AllocationError) -> Vec<FieldError> {
    let ports = SPEC.child("ports");
    let path = ports.index(i);
    vec![FieldError::invalid(&path.child("nodePort"), number, error.to_string())]
}
