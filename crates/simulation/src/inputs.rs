//! The Services, pods, nodes and Endpoints objects that steps create.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::{
        EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Node, Pod, PodCondition, PodIP, PodSpec, PodStatus,
        Service, ServicePort, ServiceSpec,
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};

use crate::{
    object::{Object, Resource},
    schedule::{Selects, Step},
    server::Server,
};

/// The names of Services. The last one has an Endpoints object from the start.
pub(crate) const SERVICES: [&str; 3] = ["web", "db", "external"];
/// The names of Endpoints objects: of Services that may or may not have a selector.
pub(crate) const ENDPOINTS: [&str; 2] = ["external", "db"];
const PODS: u8 = 8;
const NODES: u8 = 2;
const ADDRESSES: u8 = 6;

fn metadata(name: impl Into<String>, labels: &[(&str, &str)]) -> ObjectMeta {
    let labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    ObjectMeta {
        name: Some(name.into()),
        labels: (!labels.is_empty()).then_some(labels),
        ..ObjectMeta::default()
    }
}

pub(crate) fn node(index: u8, zone: u8) -> Object {
    let zone = format!("zone-{zone}");
    Object::Node(Arc::new(Node {
        metadata: metadata(format!("n{index}"), &[("topology.kubernetes.io/zone", &zone)]),
        ..Node::default()
    }))
}

/// A pod. Its node never changes, as in reality.
pub(crate) fn pod(index: u8, ready: bool, db: bool) -> Object {
    let ready = if ready { "True" } else { "False" };
    let ips = [format!("10.0.0.{index}"), format!("fd00::{index}")];
    Object::Pod(Arc::new(Pod {
        metadata: metadata(format!("p{index}"), &[("app", if db { "db" } else { "web" })]),
        spec: Some(PodSpec {
            node_name: Some(format!("n{}", index % NODES)),
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            pod_ips: Some(ips.map(|ip| PodIP { ip }).into()),
            conditions: Some(vec![PodCondition {
                type_: "Ready".to_owned(),
                status: ready.to_owned(),
                ..PodCondition::default()
            }]),
            ..PodStatus::default()
        }),
    }))
}

pub(crate) fn service(name: &str, selects: Selects, port: u16, label: u8, dual: bool, not_ready: bool) -> Object {
    let app = match selects {
        Selects::Web => Some("web"),
        Selects::Db => Some("db"),
        Selects::Nothing => None,
    };
    let families = if dual { &["IPv4", "IPv6"][..] } else { &["IPv4"] };
    Object::Service(Arc::new(Service {
        metadata: metadata(name, &[("version", &label.to_string())]),
        spec: Some(ServiceSpec {
            cluster_ip: Some("10.96.0.1".to_owned()),
            ip_families: Some(families.iter().map(|family| (*family).to_owned()).collect()),
            selector: app.map(|app| BTreeMap::from([("app".to_owned(), app.to_owned())])),
            ports: Some(vec![ServicePort {
                port: i32::from(port),
                ..ServicePort::default()
            }]),
            publish_not_ready_addresses: Some(not_ready),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }))
}

/// An Endpoints object; the bits of `addresses` and `not_ready` choose from the addresses.
pub(crate) fn endpoints(name: &str, addresses: u8, not_ready: u8, port: u16) -> Object {
    let chosen = |bits: u8| {
        let addresses = (0..ADDRESSES).filter(move |bit| bits & (1 << bit) != 0);
        let addresses: Vec<_> = addresses
            .map(|bit| EndpointAddress {
                ip: format!("10.1.0.{bit}"),
                ..EndpointAddress::default()
            })
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    };
    Object::Endpoints(Arc::new(Endpoints {
        metadata: metadata(name, &[]),
        subsets: Some(vec![EndpointSubset {
            addresses: chosen(addresses & !not_ready),
            not_ready_addresses: chosen(addresses & not_ready),
            ports: Some(vec![EndpointPort {
                port: i32::from(port),
                ..EndpointPort::default()
            }]),
        }]),
    }))
}

/// The objects at the start of a play.
pub(crate) fn create_initial_objects(server: &mut Server) {
    for index in 0..NODES {
        server.put(node(index, index));
    }
    server.put(service(SERVICES[0], Selects::Web, 80, 0, false, false));
    server.put(service(SERVICES[2], Selects::Nothing, 80, 0, false, false));
    server.put(endpoints(ENDPOINTS[0], 0b111, 0, 80));
    for index in 0..3 {
        server.put(pod(index, true, false));
    }
}

/// Executes a step that changes an input. Returns false for other steps.
pub(crate) fn change(server: &mut Server, step: Step) -> bool {
    match step {
        Step::PutPod { pod: index, ready, db } => drop(server.put(pod(index % PODS, ready, db))),
        Step::TerminatePod { pod } => {
            if let Some(Object::Pod(found)) = server.get(Resource::Pods, &pod_name(pod)) {
                let mut pod = Pod::clone(found);
                pod.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
                server.put(Object::Pod(Arc::new(pod)));
            }
        }
        Step::DeletePod { pod } => drop(server.delete(Resource::Pods, &pod_name(pod))),
        Step::RecreatePod { pod: index } => recreate(server, Resource::Pods, &pod_name(index)),
        Step::PutService {
            service: index,
            selects,
            port,
            label,
            dual,
            not_ready,
        } => {
            drop(server.put(service(choose(&SERVICES, index), selects, port, label, dual, not_ready)));
        }
        Step::DeleteService { service } => drop(server.delete(Resource::Services, choose(&SERVICES, service))),
        Step::RecreateService { service } => recreate(server, Resource::Services, choose(&SERVICES, service)),
        Step::PutNode { node: index, zone } => drop(server.put(node(index % NODES, zone))),
        Step::DeleteNode { node } => drop(server.delete(Resource::Nodes, &format!("n{}", node % NODES))),
        Step::PutEndpoints {
            endpoints: index,
            addresses,
            not_ready,
            port,
        } => {
            drop(server.put(endpoints(choose(&ENDPOINTS, index), addresses, not_ready, port)));
        }
        Step::DeleteEndpoints { endpoints } => drop(server.delete(Resource::Endpoints, choose(&ENDPOINTS, endpoints))),
        Step::RecreateEndpoints { endpoints } => recreate(server, Resource::Endpoints, choose(&ENDPOINTS, endpoints)),
        _ => return false,
    }
    true
}

/// Deletes an object and creates it again, with another uid.
pub(crate) fn recreate(server: &mut Server, resource: Resource, name: &str) {
    if let Some(object) = server.get(resource, name).cloned() {
        server.delete(resource, name);
        server.put(object);
    }
}

/// Makes an object undecodable. Its state stays the same, so that the earlier version in use is right. Returns its resource.
pub(crate) fn corrupt(server: &mut Server, resource: u8, object: u8) -> Option<Resource> {
    let resource = Resource::ALL[usize::from(resource) % Resource::ALL.len()];
    let count = server.list(resource).count();
    let object = server.list(resource).nth(usize::from(object).checked_rem(count)?)?;
    let mut object = object.clone();
    object.set_undecodable(true);
    server.put(object);
    Some(resource)
}

/// Makes all objects decodable.
pub(crate) fn repair(server: &mut Server) {
    let undecodable: Vec<Object> = server
        .objects()
        .filter(|object| object.is_undecodable())
        .cloned()
        .collect();
    for mut object in undecodable {
        object.set_undecodable(false);
        server.put(object);
    }
}

fn pod_name(index: u8) -> String {
    format!("p{}", index % PODS)
}

fn choose(names: &[&'static str], index: u8) -> &'static str {
    names[usize::from(index) % names.len()]
}
