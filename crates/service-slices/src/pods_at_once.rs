//! Many pods of the API, read at once.

use std::{mem::offset_of, ptr};

use k8s_openapi::api::core::v1 as api;
use slice_core::{fetch, fetch_text};

use crate::{
    Pod, Service,
    pod::{conditions, pod_ips},
};

/// How many pods lie between asking memory for something and reading it.
const AHEAD: usize = 8;

impl<'a> Pod<&'a str> {
    /// Reads what matters of many pods to one Service. Most of what is read of a pod is somewhere in memory where nobody has
    /// looked for long. So memory is asked for it a few pods ahead, one step on the way to it after the other, and answers while
    /// other pods are read; this takes far less time than reading one pod after the other.
    ///
    /// Who has tens of thousands can read them in parts, each on a thread of its own: [`desired`](crate::desired()) takes one part
    /// after the other.
    pub fn all_for_service(pods: impl IntoIterator<Item = &'a api::Pod>, service: &Service) -> Vec<Self> {
        let pods: Vec<&api::Pod> = pods.into_iter().collect();
        let mut namespace = None;
        let read = |(place, pod): (usize, &&'a api::Pod)| {
            for (steps, fetch) in [(3, fetch_object as fn(&api::Pod)), (2, fetch_lists), (1, fetch_texts)] {
                if let Some(pod) = pods.get(place + steps * AHEAD) {
                    fetch(pod);
                }
            }
            let mut pod = Self::for_service(pod, service);
            // Pods of one namespace share its text, so that it is at hand when they are compared.
            if pod.object.namespace != namespace {
                namespace = pod.object.namespace;
            }
            pod.object.namespace = namespace;
            pod
        };
        pods.iter().enumerate().map(read).collect()
    }
}

/// What is read of the pod itself.
fn fetch_object(pod: &api::Pod) {
    let metadata = &pod.metadata;
    fetch(&raw const metadata.name);
    fetch(&raw const metadata.namespace);
    fetch(&raw const metadata.uid);
    fetch(&raw const metadata.deletion_timestamp);
    let (spec, status) = (&raw const pod.spec, &raw const pod.status);
    fetch_in(spec, IS_THERE);
    fetch_in(spec, offset_of!(api::PodSpec, node_name));
    fetch_in(spec, offset_of!(api::PodSpec, hostname));
    fetch_in(status, IS_THERE);
    fetch_in(status, offset_of!(api::PodStatus, phase));
    fetch_in(status, offset_of!(api::PodStatus, conditions));
    fetch_in(status, offset_of!(api::PodStatus, pod_ips));
}

/// Where an object says whether it is there at all.
const IS_THERE: usize = 0;

/// A text or a list of an object, without a look at whether there is one.
#[inline]
fn fetch_in<T>(object: *const Option<T>, offset: usize) {
    fetch(object.wrapping_byte_add(offset).cast::<String>());
}

/// What its lists hold.
fn fetch_lists(pod: &api::Pod) {
    for condition in conditions(pod) {
        fetch(&raw const condition.type_);
    }
    if let Some(ready) = conditions(pod).last() {
        fetch(&raw const ready.status);
    }
    for ip in pod_ips(pod) {
        fetch(ptr::from_ref(ip));
    }
}

/// The texts that these lead to.
fn fetch_texts(pod: &api::Pod) {
    if let Some(namespace) = &pod.metadata.namespace {
        fetch_text(namespace);
    }
    for ip in pod_ips(pod) {
        fetch_text(&ip.ip);
    }
    // Usually the last one is about readiness.
    if let Some(ready) = conditions(pod).last() {
        fetch_text(&ready.type_);
        fetch_text(&ready.status);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn many_at_once_are_what_each_of_them_is() {
        let service: api::Service =
            from_value(json!({"spec": {"ports": [{"port": 80, "targetPort": "http"}]}})).unwrap();
        let service = Service::from(&service);
        let pod = |n: usize| -> api::Pod {
            let conditions = json!([{"type": "Ready", "status": if n.is_multiple_of(2) { "True" } else { "" }}]);
            let status = json!({"podIPs": [{"ip": format!("10.0.0.{n}")}, {"ip": ""}], "conditions": conditions});
            let container = json!({"name": "c", "ports": [{"name": "http", "containerPort": n}]});
            let spec = json!({"containers": [container], "nodeName": format!("node-{n}")});
            let metadata = json!({"namespace": "ns", "name": format!("pod-{n}"), "uid": n.to_string()});
            from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
        };
        // So many that all that is asked for ahead is there, and one with nothing to ask for at every step.
        let mut pods: Vec<api::Pod> = (0..=4 * AHEAD).map(pod).collect();
        for place in [1, 3 * AHEAD + 1] {
            pods[place] = api::Pod::default();
        }
        for count in [0, 1, AHEAD, pods.len()] {
            let pods = &pods[..count];
            let one_by_one = pods.iter().map(|pod| Pod::for_service(pod, &service));
            assert_eq!(Pod::all_for_service(pods, &service), one_by_one.collect::<Vec<_>>());
        }
        let read = Pod::all_for_service(&pods[2..4], &service);
        assert!(ptr::eq(read[0].namespace(), read[1].namespace()), "the text is shared");
    }
}
