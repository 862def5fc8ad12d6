//! Publishes the addresses that pods have on a secondary network, as Multus reports them in an annotation of the pod.
//!
//! A Service without a selector names the network in the annotation `k8s.v1.cni.cncf.io/service-network`, and selects pods by
//! labels in `example.com/pod-selector`, such as `app=rtp,tier=media`.
//!
//! `cargo run -p slice-runtime --example annotated_pods -- --help`

use std::process::ExitCode;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use slice_controller::{Controller, Event, EventContext, Key, ObjectRef, ObjectStore};
use slice_controller::{SyncContext, SyncError, SyncResult, WatchSpec};
use slice_reconciler::{EndpointSpec, Owner, Partition, Port, Reconciler, plan_deletion};
use slice_runtime::program::{self, ProgramInfo};

const SELECTOR: &str = "example.com/pod-selector";
const NETWORK: &str = "k8s.v1.cni.cncf.io/service-network";
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

fn main() -> ExitCode {
    let info = ProgramInfo::new("annotated_pods", "0.1.0", "network-status-controller.example.com");
    program::run(info, |args| AnnotatedPods {
        reconciler: Reconciler::builder(&args.controller_name).build(),
        services: ObjectStore::default(),
        pods: ObjectStore::default(),
    })
}

struct AnnotatedPods {
    reconciler: Reconciler,
    services: ObjectStore<Service>,
    pods: ObjectStore<Pod>,
}

enum Object {
    Service(Box<Service>),
    Pod(Box<Pod>),
}

#[derive(Clone, Copy)]
enum Watch {
    Services,
    Pods,
}

impl Controller for AnnotatedPods {
    type WatchId = Watch;
    type Object = Object;

    fn watches(&self) -> Vec<WatchSpec<Watch, Object>> {
        vec![
            WatchSpec::new(Watch::Services, "v1", "services", Object::Service),
            WatchSpec::new(Watch::Pods, "v1", "pods", Object::Pod),
        ]
    }

    fn apply(&mut self, object: Object, context: &mut EventContext) {
        let (watch, changed) = match object {
            Object::Service(new) => (Watch::Services, self.services.apply(Key::from(&new.metadata), *new)),
            Object::Pod(new) => (Watch::Pods, self.pods.apply(Key::from(&new.metadata), *new)),
        };
        self.enqueue(watch, changed, context);
    }

    fn delete(&mut self, watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        let changed = match watch {
            Watch::Services => self.services.delete(Key::from(object)),
            Watch::Pods => self.pods.delete(Key::from(object)),
        };
        self.enqueue(watch, changed, context);
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let service = self.services.get(key);
        let network = service.and_then(|service| annotation(&service.metadata, NETWORK));
        let Some((service, network)) = service.zip(network) else {
            return Ok(plan_deletion(context.existing, Partition::default()).into());
        };
        let owner = Owner::from_meta("v1", "Service", &service.metadata);
        let (mut endpoints, mut events) = (Vec::new(), Vec::new());
        let pods = self.pods.in_namespace(&key.namespace).map(|(_, pod)| pod);
        for pod in pods.filter(|pod| selects(&service.metadata, &pod.metadata)) {
            match addresses(&pod.metadata, network) {
                Ok(addresses) => endpoints.extend(addresses.iter().map(|ip| EndpointSpec::for_pod(ip, pod))),
                Err(error) => events.push(Event::warning(&owner, "InvalidNetworkStatus", error.to_string())),
            }
        }
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        let groups = [(ports.filter_map(Port::for_service_port), endpoints)];
        let plan = self
            .reconciler
            .plan_slices(owner, groups, context.existing, context.reserved_names)?;
        let rejected = plan.rejected.iter().map(ToString::to_string);
        events.extend(rejected.map(|message| Event::warning(&owner, "NotPublished", message)));
        Ok(SyncResult { events, ..plan.into() })
    }
}

impl AnnotatedPods {
    /// Enqueues the Services that a change concerns: a pod may be selected by any of its namespace.
    fn enqueue(&self, watch: Watch, changed: Option<Key>, context: &mut EventContext) {
        match (watch, changed) {
            (Watch::Services, Some(key)) => context.enqueue(key),
            (Watch::Pods, Some(pod)) => {
                let services = self.services.in_namespace(&pod.namespace);
                services.for_each(|(key, _)| context.enqueue(key.clone()));
            }
            (_, None) => {}
        }
    }
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn selects(service: &ObjectMeta, pod: &ObjectMeta) -> bool {
    let labels = pod.labels.iter().flatten();
    let has = |label: &str| {
        labels
            .clone()
            .any(|(key, value)| label.split_once('=') == Some((key, value)))
    };
    annotation(service, SELECTOR).is_some_and(|selector| selector.split(',').all(has))
}

/// The addresses of a pod on a network, without their prefix length. A name without a namespace is in that of the pod.
fn addresses(pod: &ObjectMeta, network: &str) -> Result<Vec<String>, serde_json::Error> {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    let network = network.strip_prefix(&format!("{namespace}/")).unwrap_or(network);
    let attachments: Vec<Value> = serde_json::from_str(annotation(pod, STATUS).unwrap_or("[]"))?;
    let is_on_network = |attachment: &&Value| {
        let name = attachment["name"].as_str().unwrap_or_default();
        attachment["default"] != true && name.strip_prefix(&format!("{namespace}/")).unwrap_or(name) == network
    };
    let ips = attachments
        .iter()
        .filter(is_on_network)
        .filter_map(|attachment| attachment["ips"].as_array());
    let without_prefix = |ip: &str| ip.split_once('/').map_or(ip, |(ip, _)| ip).to_owned();
    Ok(ips.flatten().filter_map(Value::as_str).map(without_prefix).collect())
}
