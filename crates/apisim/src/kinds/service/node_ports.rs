//! Which node ports a Service gets.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ServiceSpec;

use super::{
    allot::SPEC,
    shape::{allots_node_ports, has_node_ports, needs_health_check, node_ports},
};
use crate::{
    kinds::{ClusterIps, cluster_ips::Refusal},
    validation::FieldError,
};

/// Checks the ports asked for and chooses the others.
pub(super) fn allot_node_ports(
    spec: &mut ServiceSpec,
    old: Option<&ServiceSpec>,
    ips: &ClusterIps,
) -> Result<(), Vec<FieldError>> {
    let had: BTreeSet<i32> = old.into_iter().flat_map(node_ports).collect();
    let mut chosen: BTreeSet<i32> = BTreeSet::new();
    if has_node_ports(spec) {
        let mut by_number: BTreeMap<i32, i32> = BTreeMap::new();
        for (i, port) in spec.ports.iter().flatten().enumerate() {
            let Some(number) = port.node_port.filter(|number| !had.contains(number)) else {
                continue;
            };
            let shared = by_number.get(&port.port) == Some(&number);
            by_number.entry(port.port).or_insert(number);
            let free = if chosen.insert(number) {
                ips.check_node_port(number)
            } else if shared || old.is_some() {
                Ok(())
            } else {
                Err(Refusal::Taken)
            };
            free.map_err(|refusal| refused(i, number, refusal))?;
        }
        chosen.extend(&had);
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
    if !allots_node_ports(spec) {
        return Ok(());
    }
    let ports = spec.ports.iter_mut().flatten();
    // A new Service has one node port for the same number in several protocols.
    let mut by_number: BTreeMap<i32, i32> = BTreeMap::new();
    if new {
        let asked = ports.filter_map(|port| Some((port.port, port.node_port?)));
        asked.for_each(|(number, node_port)| {
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
            None => ips.choose_node_port(chosen).map_err(|refusal| refused(i, 0, refusal))?,
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
    let refused = |port: i32, refusal: Refusal| vec![FieldError::invalid(&path, port, refusal.to_string())];
    if let Some(port) = spec.health_check_node_port {
        return ips.check_node_port(port).map_err(|refusal| refused(port, refusal));
    }
    let port = ips.choose_node_port(chosen).map_err(|refusal| refused(0, refusal))?;
    spec.health_check_node_port = Some(port);
    Ok(())
}

fn refused(i: usize, number: i32, refusal: Refusal) -> Vec<FieldError> {
    let ports = SPEC.child("ports");
    let path = ports.index(i);
    vec![FieldError::invalid(
        &path.child("nodePort"),
        number,
        refusal.to_string(),
    )]
}
