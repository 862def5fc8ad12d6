//! The Services, pods, nodes and Endpoints objects that steps create.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::{
        EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Node, NodeCondition, NodeStatus, Pod, PodCondition,
        PodIP, PodSpec, PodStatus, Service, ServicePort, ServiceSpec,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ObjectMeta, Time},
    },
    jiff::Timestamp,
};

use crate::{
    object::{NAMESPACES, Name, Object, Resource},
    schedule::{Hints, Selects, Step},
    server::Server,
};

const FIRST: &str = NAMESPACES[0];
const SECOND: &str = NAMESPACES[1];
/// The Services by namespace and name.
pub(crate) const SERVICES: [(&str, &str); 4] = [(FIRST, "web"), (FIRST, "db"), (FIRST, "external"), (SECOND, "web")];
/// The Endpoints objects: of Services that may or may not have a selector.
pub(crate) const ENDPOINTS: [(&str, &str); 3] = [(FIRST, "external"), (FIRST, "db"), (SECOND, "web")];
/// Pods by namespace.
const PODS: [u8; 2] = [8, 3];
const NODES: u8 = 2;
const ADDRESSES: u8 = 6;

fn metadata(namespace: &str, name: impl Into<String>, labels: &[(&str, &str)]) -> ObjectMeta {
    let labels: BTreeMap<String, String> = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    ObjectMeta {
        name: Some(name.into()),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        labels: (!labels.is_empty()).then_some(labels),
        ..ObjectMeta::default()
    }
}

pub(crate) fn node(index: u8, zone: u8) -> Object {
    let zone = format!("zone-{zone}");
    Object::Node(Arc::new(Node {
        metadata: metadata("", format!("n{index}"), &[("topology.kubernetes.io/zone", &zone)]),
        status: Some(NodeStatus {
            allocatable: Some(BTreeMap::from([("cpu".to_owned(), Quantity("4".to_owned()))])),
            conditions: Some(vec![NodeCondition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                ..NodeCondition::default()
            }]),
            ..NodeStatus::default()
        }),
        ..Node::default()
    }))
}

/// A pod. Its node never changes, as in reality. Pods of both namespaces have the same names.
fn pod(index: u8, ready: bool, db: bool) -> Object {
    let name = pod_name(index);
    let ready = if ready { "True" } else { "False" };
    let ips = [format!("10.0.0.{index}"), format!("fd00::{index}")];
    Object::Pod(Arc::new(Pod {
        metadata: metadata(name.namespace, name.name, &[("app", if db { "db" } else { "web" })]),
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

/// A Service with one port and one address type.
fn service((namespace, name): (&str, &str), selects: Selects) -> Service {
    let app = match selects {
        Selects::Web => Some("web"),
        Selects::Db => Some("db"),
        Selects::Nothing => None,
    };
    Service {
        metadata: metadata(namespace, name, &[("version", "0")]),
        spec: Some(ServiceSpec {
            cluster_ip: Some("10.96.0.1".to_owned()),
            ip_families: Some(vec!["IPv4".to_owned()]),
            selector: app.map(|app| BTreeMap::from([("app".to_owned(), app.to_owned())])),
            ports: Some(vec![ServicePort {
                port: 80,
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn set_hints(service: &mut Service, hints: Hints) {
    if hints == Hints::Auto {
        let annotation = ("service.kubernetes.io/topology-mode".to_owned(), "Auto".to_owned());
        service.metadata.annotations = Some(BTreeMap::from([annotation]));
    }
    service.spec.get_or_insert_default().traffic_distribution = match hints {
        Hints::SameZone => Some("PreferSameZone".to_owned()),
        Hints::SameNode => Some("PreferSameNode".to_owned()),
        Hints::None | Hints::Auto => None,
    };
}

/// An Endpoints object; the bits of `addresses` and `not_ready` choose from the addresses.
fn endpoints((namespace, name): (&str, &str), addresses: u8, not_ready: u8, port: u16) -> Object {
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
        metadata: metadata(namespace, name, &[]),
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
pub(crate) fn create_initial_objects(server: &mut Server, namespaces: usize) {
    for index in 0..NODES {
        server.put(node(index, index));
    }
    server.put(Object::Service(Arc::new(service(SERVICES[0], Selects::Web))));
    server.put(Object::Service(Arc::new(service(SERVICES[2], Selects::Nothing))));
    server.put(endpoints(ENDPOINTS[0], 0b111, 0, 80));
    for index in 0..3 {
        server.put(pod(index, true, false));
    }
    if namespaces > 1 {
        server.put(Object::Service(Arc::new(service(SERVICES[3], Selects::Web))));
        server.put(pod(PODS[0], true, false));
    }
}

/// Chooses objects by indexes, in one namespace or in both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chooser {
    pub(crate) namespaces: usize,
}

impl Chooser {
    fn choose(self, names: &[(&'static str, &'static str)], index: u8) -> (&'static str, &'static str) {
        let used = &NAMESPACES[..self.namespaces];
        let count = names.iter().filter(|(namespace, _)| used.contains(namespace)).count();
        names[usize::from(index) % count]
    }

    fn service(self, index: u8) -> (&'static str, &'static str) {
        self.choose(&SERVICES, index)
    }

    fn endpoints(self, index: u8) -> (&'static str, &'static str) {
        self.choose(&ENDPOINTS, index)
    }

    fn pod(self, index: u8) -> u8 {
        index % PODS[..self.namespaces].iter().sum::<u8>()
    }

    pub(crate) fn namespace(self, index: u8) -> &'static str {
        NAMESPACES[usize::from(index) % self.namespaces]
    }
}

/// Executes a step that changes an input. Returns false for other steps.
pub(crate) fn change(server: &mut Server, chooser: Chooser, step: Step) -> bool {
    let full_name = |(namespace, name)| Name::new(namespace, name);
    match step {
        Step::PutPod { pod: index, ready, db } => drop(server.put(pod(chooser.pod(index), ready, db))),
        Step::TerminatePod { pod } => {
            if let Some(Object::Pod(found)) = server.get(Resource::Pods, &pod_name(chooser.pod(pod))) {
                let mut pod = Pod::clone(found);
                pod.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
                server.put(Object::Pod(Arc::new(pod)));
            }
        }
        Step::DeletePod { pod } => drop(server.delete(Resource::Pods, &pod_name(chooser.pod(pod)))),
        Step::RecreatePod { pod } => recreate(server, Resource::Pods, &pod_name(chooser.pod(pod))),
        Step::PutService {
            service: index,
            selects,
            port,
            label,
            dual,
            not_ready,
            hints,
        } => {
            let mut service = service(chooser.service(index), selects);
            service
                .metadata
                .labels
                .get_or_insert_default()
                .insert("version".to_owned(), label.to_string());
            let spec = service.spec.get_or_insert_default();
            spec.ports = Some(vec![ServicePort {
                port: i32::from(port),
                ..ServicePort::default()
            }]);
            if dual {
                spec.ip_families = Some(vec!["IPv4".to_owned(), "IPv6".to_owned()]);
            }
            spec.publish_not_ready_addresses = Some(not_ready);
            set_hints(&mut service, hints);
            server.put(Object::Service(Arc::new(service)));
        }
        Step::DeleteService { service } => {
            server.delete(Resource::Services, &full_name(chooser.service(service)));
        }
        Step::RecreateService { service } => {
            recreate(server, Resource::Services, &full_name(chooser.service(service)));
        }
        Step::PutNode { node: index, zone } => drop(server.put(node(index % NODES, zone))),
        Step::DeleteNode { node } => {
            server.delete(Resource::Nodes, &Name::new("", format!("n{}", node % NODES)));
        }
        Step::PutEndpoints {
            endpoints: index,
            addresses,
            not_ready,
            port,
        } => {
            drop(server.put(endpoints(chooser.endpoints(index), addresses, not_ready, port)));
        }
        Step::DeleteEndpoints { endpoints } => {
            server.delete(Resource::Endpoints, &full_name(chooser.endpoints(endpoints)));
        }
        Step::RecreateEndpoints { endpoints } => {
            recreate(server, Resource::Endpoints, &full_name(chooser.endpoints(endpoints)));
        }
        _ => return false,
    }
    true
}

/// Deletes an object and creates it again, decodable and with another uid. One with finalizers becomes terminating.
pub(crate) fn recreate(server: &mut Server, resource: Resource, name: &Name) {
    let Some(mut object) = server.get(resource, name).cloned() else {
        return;
    };
    object.set_undecodable(false);
    server.delete(resource, name);
    if server.get(resource, name).is_none() {
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

fn pod_name(index: u8) -> Name {
    match index.checked_sub(PODS[0]) {
        None => Name::new(FIRST, format!("p{index}")),
        Some(index) => Name::new(SECOND, format!("p{index}")),
    }
}
