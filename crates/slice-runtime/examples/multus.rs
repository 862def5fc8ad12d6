//! Publishes the addresses that pods have on a secondary network, as Multus reports them in an annotation of the pod.
//!
//! A Service without a selector names the network, `namespace/name`, in the annotation `k8s.v1.cni.cncf.io/service-network`, and
//! selects pods of its namespace by a label in `example.com/pod-selector`. `docs/library.md` explains the program step by step.

use std::{collections::BTreeMap, process::ExitCode};

use k8s_openapi::api::core::v1::{ContainerPort, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use slice_controller::{Controller, Event, EventContext, Key, ObjectRef, ObjectStore};
use slice_controller::{SyncContext, SyncError, SyncResult, WatchSpec};
use slice_core::container_ports;
use slice_reconciler::{EndpointSpec, Owner, Partition, Port, Reconciler, plan_deletion};
use slice_runtime::program::{self, ProgramInfo};

const NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
const SELECTOR: &str = "example.com/pod-selector";
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

fn main() -> ExitCode {
    let info = ProgramInfo {
        owner: Some("services"),
        ..ProgramInfo::new("multus", env!("CARGO_PKG_VERSION"), "multus.example.com")
    };
    program::run(info, |args| Multus {
        managed_by: args.controller_name.clone(),
        ..Multus::default()
    })
}

#[derive(Default)]
pub(crate) struct Multus {
    managed_by: String,
    services: ObjectStore<Service>,
    pods: ObjectStore<NetworkPod>,
}

#[derive(Clone, Copy)]
pub(crate) enum Watch {
    Services,
    Pods,
}

pub(crate) enum Object {
    Service(Box<Service>),
    Pod(Key, NetworkPod),
}

/// The part of a pod that is cached. A change of any other part enqueues no Service.
#[derive(PartialEq)]
pub(crate) struct NetworkPod {
    labels: BTreeMap<String, String>,
    ports: Vec<ContainerPort>,
    /// An endpoint for each address, with the name of its network; or why the annotation is invalid.
    endpoints: Result<Vec<(String, EndpointSpec)>, String>,
}

/// A network of a pod in the annotation that Multus writes.
#[derive(Deserialize)]
struct Attachment {
    name: String,
    ips: Option<Vec<String>>,
}

impl From<Pod> for NetworkPod {
    fn from(pod: Pod) -> Self {
        Self {
            endpoints: endpoints(&pod).map_err(|error| format!("{STATUS}: {error}")),
            labels: pod.metadata.labels.unwrap_or_default(),
            ports: pod.spec.iter().flat_map(container_ports).cloned().collect(),
        }
    }
}

/// An endpoint for each address. A pod that has finished has none.
fn endpoints(pod: &Pod) -> serde_json::Result<Vec<(String, EndpointSpec)>> {
    let attachments: Vec<Attachment> = serde_json::from_str(annotation(&pod.metadata, STATUS).unwrap_or("[]"))?;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let mut endpoints = Vec::new();
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return Ok(endpoints);
    }
    for attachment in &attachments {
        for ip in attachment.ips.iter().flatten() {
            // Some plugins add the length of the prefix: 192.0.2.17/24.
            let ip = ip.split_once('/').map_or(&**ip, |(ip, _)| ip);
            endpoints.push((attachment.name.clone(), EndpointSpec::for_pod(ip, pod)));
        }
    }
    Ok(endpoints)
}

impl Controller for Multus {
    type WatchId = Watch;
    type Object = Object;

    fn watches(&self) -> Vec<WatchSpec<Watch, Object>> {
        let pod = |pod: Pod| Object::Pod(Key::from(&pod.metadata), NetworkPod::from(pod));
        vec![
            WatchSpec::new(Watch::Services, "v1", "services", Object::Service),
            WatchSpec::new(Watch::Pods, "v1", "pods", pod),
        ]
    }

    fn apply(&mut self, object: Object, context: &mut EventContext) {
        match object {
            Object::Service(new) => context.enqueue_all(self.services.apply(Key::from(&new.metadata), *new)),
            Object::Pod(key, new) => context.enqueue_all(services_of(self.pods.apply(key, new), &self.services)),
        }
    }

    fn delete(&mut self, watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        let key = Key::from(object);
        match watch {
            Watch::Services => context.enqueue_all(self.services.delete(key)),
            Watch::Pods => context.enqueue_all(services_of(self.pods.delete(key), &self.services)),
        }
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let service = self.services.get(key);
        let network = service.and_then(|service| annotation(&service.metadata, NETWORK));
        let Some((service, network)) = service.zip(network) else {
            return Ok(plan_deletion(context.existing, Partition::default()).into());
        };
        let owner = Owner::from_meta("v1", "Service", &service.metadata);
        let warning = |reason: &'static str, message: String| Event::warning(&owner, reason, message);
        let selector = annotation(&service.metadata, SELECTOR).unwrap_or_default();
        let Some((label, value)) = selector.split_once('=').filter(|(_, value)| !value.contains(',')) else {
            let message = format!("slices stay: {SELECTOR} is {selector:?}, and not like app=rtp");
            return Ok(SyncResult::event_only(warning("InvalidSelector", message)));
        };

        let spec = service.spec.clone().unwrap_or_default();
        let (mut desired, mut events) = (Vec::new(), Vec::new());
        for (name, pod) in self.pods.in_namespace(&key.namespace) {
            match &pod.endpoints {
                _ if pod.labels.get(label).is_none_or(|found| found != value) => {}
                Err(error) => events.push(warning("InvalidNetworkStatus", format!("pod {name}: {error}"))),
                Ok(endpoints) => {
                    let ports = spec.ports.iter().flatten();
                    let ports = ports.filter_map(|port| Port::for_service_port(port, &pod.ports));
                    let on_network = endpoints.iter().filter(|(name, _)| name == network);
                    desired.push((ports, on_network.map(|(_, endpoint)| endpoint.clone())));
                }
            }
        }

        let headless = spec.cluster_ip.as_deref() == Some("None");
        let reconciler = Reconciler::builder(&self.managed_by).headless(headless).build();
        let plan = reconciler.plan_slices(owner, desired, context.existing, context.reserved_names)?;
        let rejected = plan.rejected.iter().map(ToString::to_string);
        events.extend(rejected.map(|message| warning("NotPublished", message)));
        Ok(SyncResult { events, ..plan.into() })
    }
}

/// The Services that a changed pod affects: any of its namespace may select it.
fn services_of(pod: Option<Key>, services: &ObjectStore<Service>) -> Vec<Key> {
    let Some(pod) = pod else { return Vec::new() };
    let affected = services.in_namespace(&pod.namespace);
    affected.map(|(service, _)| service.clone()).collect()
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}
