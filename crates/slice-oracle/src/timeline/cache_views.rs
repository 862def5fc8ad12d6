//! What a controller may take for the present.
//!
//! It follows each resource by a watch of its own, and these are not in step: it may know what became of a Service and not
//! yet what became of a pod before that. What it does then fits no state that ever was, and is right all the same.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::jiff::Timestamp;

use super::inputs::effective_revision;
use crate::desired::{self, DesiredEndpoint, node_name};
use crate::history::{Event, Verb};
use crate::object::{Object, uid};
use crate::state::State;

/// All versions of what the slices of Services are made from.
#[derive(Debug, Default)]
pub(super) struct CacheViews<'a> {
    services: BTreeMap<&'a str, Vec<Version<&'a Service>>>,
    pods: BTreeMap<&'a str, Vec<Version<&'a Pod>>>,
    /// By name: that is how pods refer to them.
    nodes: BTreeMap<&'a str, Vec<Version<&'a Node>>>,
}

/// An object, or that there is none.
#[derive(Clone, Copy, Debug)]
struct Version<T> {
    begin: u64,
    /// When the next one came.
    end: Option<(u64, Timestamp)>,
    object: Option<T>,
}

/// Which versions may be taken for the latest: of these revisions, unless they had ended before.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevisionRange {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) since: Timestamp,
}

impl<'a> CacheViews<'a> {
    /// Notes what became of an object.
    pub(super) fn apply(&mut self, event: &'a Event) {
        let metadata = event.object().metadata();
        match event.object() {
            Object::Service(service) => push(self.services.entry(uid(metadata)).or_default(), event, service),
            Object::Pod(pod) => push(self.pods.entry(uid(metadata)).or_default(), event, pod),
            Object::Node(node) => {
                let name = metadata.name.as_deref().unwrap_or_default();
                push(self.nodes.entry(name).or_default(), event, node);
            }
            _ => {}
        }
    }

    /// The first of the views in which a pod has such endpoints in the slices of a Service: the latest revision in it.
    pub(super) fn find(
        &self,
        (service, pod): (&str, &str),
        range: RevisionRange,
        state: &State<'a>,
        matches: impl Fn(&[DesiredEndpoint]) -> bool,
    ) -> Option<u64> {
        let mut view = state.clone();
        for service in versions_in(self.services.get(service), range) {
            for pod in versions_in(self.pods.get(pod), range) {
                let node = pod.object.and_then(node_name);
                let nodes: Vec<_> = versions_in(node.and_then(|name| self.nodes.get(name)), range).collect();
                for node_version in nodes.iter().map(Some).chain(nodes.is_empty().then_some(None)) {
                    if let (Some(name), Some(version)) = (node, node_version) {
                        match version.object {
                            Some(node) => view.nodes.insert(name, node),
                            None => view.nodes.remove(name),
                        };
                    }
                    let endpoints = match (service.object, pod.object) {
                        (Some(service), Some(pod)) => desired::endpoints(service, pod, &view),
                        _ => Vec::new(),
                    };
                    if matches(&endpoints) {
                        let begins = [service.begin, pod.begin, node_version.map_or(0, |node| node.begin)];
                        return begins.into_iter().max().map(|begin| begin.max(range.from));
                    }
                }
            }
        }
        None
    }
}

fn push<T>(versions: &mut Vec<Version<T>>, event: &Event, object: T) {
    let begin = effective_revision(event);
    if let Some(last) = versions.last_mut() {
        last.end = Some((begin, event.at()));
    }
    versions.push(Version {
        begin,
        end: None,
        object: (event.verb() != Verb::Deleted).then_some(object),
    });
}

fn versions_in<T: Copy>(versions: Option<&Vec<Version<T>>>, range: RevisionRange) -> impl Iterator<Item = Version<T>> {
    let fits = move |version: &&Version<T>| {
        version.begin <= range.to
            && version
                .end
                .is_none_or(|(end, at)| end > range.from && at >= range.since)
    };
    versions.into_iter().flatten().filter(fits).copied()
}
