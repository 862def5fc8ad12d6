//! Many pods of the API, read at once.

use std::hint::black_box;

use k8s_openapi::api::core::v1 as api;
use smallvec::SmallVec;

use crate::{
    Pod, Service,
    pod::{conditions, ips},
};

/// About as many pods as processors have questions open to memory.
const READ_AT_ONCE: usize = 16;

impl<'a> Pod<&'a str> {
    /// Reads what matters of many pods to one Service. Most of what is read of a pod is somewhere in memory where nobody has
    /// looked for long, and memory answers many questions at once about as fast as a single one; so this takes far less time
    /// than reading one pod after the other.
    pub fn all_for_service(pods: impl IntoIterator<Item = &'a api::Pod>, service: &Service) -> Vec<Self> {
        let mut pods = pods.into_iter();
        let mut read = Vec::with_capacity(pods.size_hint().0);
        let mut next: SmallVec<[&api::Pod; READ_AT_ONCE]> = SmallVec::new();
        loop {
            next.clear();
            next.extend(pods.by_ref().take(READ_AT_ONCE));
            if next.is_empty() {
                return read;
            }
            touch(&next);
            read.extend(next.iter().map(|pod| Self::for_service(pod, service)));
        }
    }
}

/// Looks at what will be read, without waiting for any of it: first at the pods and what their lists hold, then at the texts
/// that these lead to.
fn touch(pods: &[&api::Pod]) {
    black_box(pods.iter().map(|pod| lengths(pod)).sum::<usize>());
    black_box(pods.iter().map(|pod| first_bytes(pod)).sum::<usize>());
}

fn lengths(pod: &api::Pod) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let (metadata, spec, status) = (&pod.metadata, pod.spec.as_ref(), pod.status.as_ref());
    let deleted = usize::from(metadata.deletion_timestamp.is_some());
    let named = length(&metadata.name) + length(&metadata.namespace) + length(&metadata.uid);
    let placed = spec.map_or(0, |spec| length(&spec.node_name) + length(&spec.hostname));
    let phase = status.map_or(0, |status| length(&status.phase));
    let listed = ips(pod)
        .map(str::len)
        .chain(conditions(pod).map(|condition| condition.type_.len()));
    deleted + named + placed + phase + listed.sum::<usize>()
}

fn first_bytes(pod: &api::Pod) -> usize {
    let first = |text: &str| text.as_bytes().first().copied().map_or(0, usize::from);
    // Usually the last one is about readiness.
    let ready = conditions(pod).next_back();
    let ready = ready.map_or(0, |ready| first(&ready.type_) + first(&ready.status));
    ready + ips(pod).map(first).sum::<usize>()
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
        let mut pods: Vec<api::Pod> = (0..=2 * READ_AT_ONCE).map(pod).collect();
        pods[1] = api::Pod::default();
        for count in [0, 1, READ_AT_ONCE, pods.len()] {
            let pods = &pods[..count];
            let one_by_one = pods.iter().map(|pod| Pod::for_service(pod, &service));
            assert_eq!(Pod::all_for_service(pods, &service), one_by_one.collect::<Vec<_>>());
        }
    }
}
