//! Services: defaults, allocation, type changes.

mod allocate;
mod node_ports;
pub(crate) mod spec_ext;
mod warnings;

use std::net::IpAddr;

use k8s_openapi::{
    api::core::v1::{ClientIPConfig, LoadBalancerStatus, Service, ServiceSpec, ServiceStatus, SessionAffinityConfig},
    apimachinery::pkg::util::intstr::IntOrString,
};

use self::spec_ext::{
    has_node_ports, is_externally_accessible, needs_cluster_ip, needs_health_check, node_ports, type_of,
};
use super::{ClusterIps, Kind};
use crate::validation::{FieldError, addresses::parse_lenient, metadata, service};

const AFFINITY_SECONDS: i32 = 10_800;

impl Kind for Service {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        let status = self.status.get_or_insert_default();
        status.load_balancer.get_or_insert_default();
        let spec = self.spec.get_or_insert_default();
        drop_empty(spec);
        default_spec(spec);
        if type_of(spec) == "LoadBalancer" {
            let balancer = status
                .load_balancer
                .iter_mut()
                .flat_map(|balancer| &mut balancer.ingress);
            for entry in balancer.flatten().filter(|entry| entry.ip.is_some()) {
                entry.ip_mode.get_or_insert_with(|| "VIP".to_owned());
            }
        }
    }

    fn allocate(&mut self, old: Option<&Self>, cluster_ips: &ClusterIps) -> Vec<FieldError> {
        let spec = self.spec.get_or_insert_default();
        let result = allocate::allocate(spec, old.and_then(|old| old.spec.as_ref()), cluster_ips);
        result.err().unwrap_or_default()
    }

    fn update_allocation(old: Option<&Self>, new: Option<&Self>, cluster_ips: &mut ClusterIps) {
        let spec = |service: Option<&Self>| service.and_then(|service| service.spec.clone()).unwrap_or_default();
        let (old, new) = (spec(old), spec(new));
        allocated_ips(&old).for_each(|ip| cluster_ips.release_ip(ip));
        allocated_node_ports(&old).for_each(|port| cluster_ips.release_node_port(port));
        allocated_ips(&new).for_each(|ip| cluster_ips.reserve_ip(ip));
        allocated_node_ports(&new).for_each(|port| cluster_ips.reserve_node_port(port));
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        self.status = Some(empty_status());
        if let Some(spec) = &mut self.spec {
            drop_unused_policy(spec);
        }
    }

    fn prepare_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.status.clone_from(&old.status);
        if let (Some(spec), Some(old)) = (&mut self.spec, &old.spec) {
            drop_fields_of_old_type(spec, old);
            drop_unused_policy(spec);
            if type_of(spec) != "LoadBalancer" {
                let status = self.status.get_or_insert_default();
                status.load_balancer = Some(LoadBalancerStatus::default());
            }
        }
    }

    fn prepare_status_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self) -> Vec<FieldError> {
        service::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        service::validate_update(self, old)
    }

    fn warnings(&self, _old: Option<&Self>) -> Vec<String> {
        warnings::warnings(self)
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        let spec = self.spec.as_ref();
        let cluster_ip = spec.and_then(|spec| spec.cluster_ip.clone());
        let type_ = spec.and_then(|spec| spec.type_.clone());
        vec![
            ("spec.clusterIP", cluster_ip.unwrap_or_default()),
            ("spec.type", type_.unwrap_or_default()),
        ]
    }

    fn update_creates() -> bool {
        true
    }
}

fn empty_status() -> ServiceStatus {
    ServiceStatus {
        load_balancer: Some(LoadBalancerStatus::default()),
        ..Default::default()
    }
}

/// Drops empty fields, which equal absent ones.
fn drop_empty(spec: &mut ServiceSpec) {
    for text in [
        &mut spec.type_,
        &mut spec.cluster_ip,
        &mut spec.external_name,
        &mut spec.external_traffic_policy,
        &mut spec.session_affinity,
    ] {
        text.take_if(|text| text.is_empty());
    }
    for list in [&mut spec.cluster_ips, &mut spec.ip_families, &mut spec.external_ips] {
        list.take_if(|list| list.is_empty());
    }
    spec.ports.take_if(|ports| ports.is_empty());
    spec.selector.take_if(|selector| selector.is_empty());
    spec.health_check_node_port.take_if(|port| *port == 0);
    spec.publish_not_ready_addresses.take_if(|publish| !*publish);
    for port in spec.ports.iter_mut().flatten() {
        port.name.take_if(|name| name.is_empty());
        port.protocol.take_if(|protocol| protocol.is_empty());
        port.node_port.take_if(|number| *number == 0);
    }
}

fn default_spec(spec: &mut ServiceSpec) {
    let affinity = spec.session_affinity.get_or_insert_with(|| "None".to_owned());
    let config = spec.session_affinity_config.take();
    if affinity == "ClientIP" {
        let seconds = config
            .and_then(|config| config.client_ip)
            .and_then(|client| client.timeout_seconds);
        spec.session_affinity_config = Some(SessionAffinityConfig {
            client_ip: Some(ClientIPConfig {
                timeout_seconds: Some(seconds.unwrap_or(AFFINITY_SECONDS)),
            }),
        });
    }
    spec.type_.get_or_insert_with(|| "ClusterIP".to_owned());
    for port in spec.ports.iter_mut().flatten() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
        port.target_port.take_if(|target| match target {
            IntOrString::Int(number) => *number == 0,
            IntOrString::String(name) => name.is_empty(),
        });
        port.target_port.get_or_insert(IntOrString::Int(port.port));
    }
    if is_externally_accessible(spec) {
        spec.external_traffic_policy.get_or_insert_with(|| "Cluster".to_owned());
    }
    if matches!(type_of(spec), "ClusterIP" | "NodePort" | "LoadBalancer") {
        spec.internal_traffic_policy.get_or_insert_with(|| "Cluster".to_owned());
    }
    if type_of(spec) == "LoadBalancer" {
        spec.allocate_load_balancer_node_ports.get_or_insert(true);
    }
}

/// After a type change, drops unchanged fields that the new type does not use. Clients need not clear them.
fn drop_fields_of_old_type(spec: &mut ServiceSpec, old: &ServiceSpec) {
    if needs_cluster_ip(old) && !needs_cluster_ip(spec) {
        if (&spec.cluster_ip, &spec.cluster_ips) == (&old.cluster_ip, &old.cluster_ips) {
            spec.cluster_ip = None;
            spec.cluster_ips = None;
        }
        spec.ip_families
            .take_if(|families| Some(&*families) == old.ip_families.as_ref());
        spec.ip_family_policy
            .take_if(|policy| Some(&*policy) == old.ip_family_policy.as_ref());
    }
    if has_node_ports(old) && !has_node_ports(spec) {
        let old_ports: Vec<i32> = node_ports(old).collect();
        if node_ports(spec).all(|port| old_ports.contains(&port)) {
            spec.ports.iter_mut().flatten().for_each(|port| port.node_port = None);
        }
    }
    let same_check = spec.health_check_node_port == old.health_check_node_port;
    if needs_health_check(old) && !needs_health_check(spec) && same_check {
        spec.health_check_node_port = None;
    }
    if type_of(old) == "LoadBalancer" && type_of(spec) != "LoadBalancer" {
        let [new_value, old_value] = [&*spec, old].map(|spec| spec.allocate_load_balancer_node_ports);
        spec.allocate_load_balancer_node_ports = new_value.filter(|_| new_value != old_value);
        spec.load_balancer_class
            .take_if(|class| Some(&*class) == old.load_balancer_class.as_ref());
    }
    if is_externally_accessible(old) && !is_externally_accessible(spec) {
        let old_policy = old.external_traffic_policy.as_ref();
        spec.external_traffic_policy
            .take_if(|policy| Some(&*policy) == old_policy);
    }
}

/// A Service of type `ExternalName` has no `internalTrafficPolicy`.
fn drop_unused_policy(spec: &mut ServiceSpec) {
    if !needs_cluster_ip(spec) {
        spec.internal_traffic_policy = None;
    }
}

fn allocated_ips(spec: &ServiceSpec) -> impl Iterator<Item = IpAddr> {
    spec.cluster_ips.iter().flatten().filter_map(|ip| parse_lenient(ip))
}

fn allocated_node_ports(spec: &ServiceSpec) -> impl Iterator<Item = i32> {
    node_ports(spec).chain(spec.health_check_node_port.filter(|port| *port != 0))
}

#[cfg(test)]
mod tests;
