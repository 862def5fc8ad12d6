//! Combinations of cached objects that a controller may have seen.
//!
//! A controller watches each resource separately, and the watches are not synchronized: it may have seen a change of a
//! Service and not yet an earlier change of a pod. A write based on such a view matches no state of the store and is
//! still correct.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::jiff::Timestamp;

use super::inputs::effective_revision;
use crate::desired::{self, DesiredEndpoint, node_name};
use crate::history::{Event, Verb};
use crate::object::{Object, uid};
use crate::state::State;

/// All versions of the inputs of Service slices.
#[derive(Debug, Default)]
pub(super) struct CacheViews<'a> {
    services: BTreeMap<&'a str, Vec<Version<&'a Service>>>,
    pods: BTreeMap<&'a str, Vec<Version<&'a Pod>>>,
    /// By name, as pods refer to nodes.
    nodes: BTreeMap<&'a str, Vec<Version<&'a Node>>>,
}

/// A version of an object; `None` while it does not exist.
#[derive(Clone, Copy, Debug)]
struct Version<T> {
    begin: u64,
    /// Revision and time of the next version.
    end: Option<(u64, Timestamp)>,
    object: Option<T>,
}

/// Versions that a cache may hold as the latest: of these revisions, and not superseded before `since`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevisionRange {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) since: Timestamp,
}

impl<'a> CacheViews<'a> {
    /// Records a new version of an object.
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

    /// Finds the first view in which the desired endpoints of a pod match, and returns its latest revision.
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
