//! Index of one namespace: pods to Services by label set, Services to pods.
//!
//! Pods with equal labels, such as those of one `ReplicaSet`, share one [`LabelSet`], and selectors are matched with label sets.
//! The cost of applying or removing a pod grows at most with the logarithm of the number of pods, also if each pod has labels of
//! its own, such as those of one `StatefulSet`.
//!
//! [`NamespaceIndex::apply_pod`] returns the Services to enqueue for a pod event; [`endpoint_changed`] decides whether the pod
//! changed at all.

mod labels;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use slab::Slab;
use slice_core::is_sparse;

use super::pods_by_node::PodsByNode;
use crate::{Pod, Service};
use labels::Label;
pub(crate) use labels::Labels;

/// The pods and Services of one namespace. A pod id or label set id is a key of the slab.
#[derive(Debug, Default)]
pub(super) struct NamespaceIndex {
    pods: Slab<PodEntry>,
    pod_by_name: HashMap<Arc<str>, usize>,
    label_sets: Slab<LabelSet>,
    set_by_labels: HashMap<Labels, usize>,
    /// Label sets that contain the label.
    sets_by_label: HashMap<Label, BTreeSet<usize>>,
    services: HashMap<Arc<str>, ServiceEntry>,
    /// Services whose selector starts with the label.
    services_by_label: HashMap<Label, Vec<Arc<str>>>,
}

/// Pods with equal labels, and the Services that select them.
#[derive(Debug)]
struct LabelSet {
    labels: Labels,
    pods: Vec<usize>,
    services: Vec<Arc<str>>,
}

/// A cached pod.
#[derive(Debug)]
pub(super) struct PodEntry {
    pub(super) pod: Pod,
    /// Last transition time of its `Ready` condition.
    pub(super) ready_transition_time: Option<Timestamp>,
    /// Id of its label set.
    set: usize,
    /// Position in `LabelSet::pods`.
    position: usize,
}

/// A cached Service.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServiceEntry {
    pub(super) service: Service,
    pub(super) created: Option<Timestamp>,
    /// The selector; `None` if the controller does not manage the slices of the Service (R50 steps 3 and 4).
    pub(super) selector: Option<Labels>,
    /// Ids of the label sets that the selector matches.
    sets: BTreeSet<usize>,
}

impl ServiceEntry {
    pub(super) fn new(service: Service, created: Option<Timestamp>, selector: Option<Labels>) -> Self {
        Self {
            service,
            created,
            selector,
            sets: BTreeSet::new(),
        }
    }

    /// Whether both entries are equal but for the matched label sets.
    fn is_equivalent(&self, other: &Self) -> bool {
        self.service == other.service && self.created == other.created && self.selector == other.selector
    }
}

/// Names of the Services to enqueue, without duplicates.
pub(super) type AffectedServices = Vec<Arc<str>>;

impl NamespaceIndex {
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.services.is_empty()
    }

    pub(super) fn service(&self, name: &str) -> Option<&ServiceEntry> {
        self.services.get(name)
    }

    /// The pods that a Service selects.
    pub(super) fn pods_of<'a>(&'a self, service: &'a ServiceEntry) -> impl Iterator<Item = &'a PodEntry> {
        let sets = service.sets.iter().map(|set| &self.label_sets[*set]);
        sets.flat_map(|set| set.pods.iter().map(|pod| &self.pods[*pod]))
    }

    /// Number of pods that a Service selects.
    pub(super) fn count_pods_of(&self, service: &ServiceEntry) -> usize {
        service.sets.iter().map(|set| self.label_sets[*set].pods.len()).sum()
    }

    /// The Services that select a pod.
    pub(super) fn services_of_pod(&self, name: &str) -> &[Arc<str>] {
        let pod = self.pod_by_name.get(name).map(|id| &self.pods[*id]);
        pod.map_or(&[], |pod| &self.label_sets[pod.set].services)
    }

    /// Whether a change of a pod takes a ready endpoint out of service. `after` is none if the pod is deleted.
    pub(super) fn takes_out_of_service(&self, name: &str, after: Option<(&Pod, &Labels)>) -> bool {
        let is_in_service = |pod: &Pod| pod.eligible && pod.ready && !pod.terminating;
        let Some(entry) = self.pod_by_name.get(name).map(|id| &self.pods[*id]) else {
            return false;
        };
        let stays = |(pod, labels): (&Pod, &Labels)| is_in_service(pod) && self.label_sets[entry.set].labels == *labels;
        is_in_service(&entry.pod) && !after.is_some_and(stays)
    }

    /// The number of endpoints that a pod has in all Services.
    pub(super) fn endpoints_of_pod(&self, name: &str) -> usize {
        self.pod_by_name.get(name).map_or(0, |id| self.count_endpoints(*id))
    }

    /// The number of endpoints of a Service.
    pub(super) fn endpoints_of_service(&self, name: &str) -> usize {
        let Some(service) = self.services.get(name) else {
            return 0;
        };
        let pods = self.pods_of(service);
        pods.map(|entry| endpoints_in(&entry.pod, &service.service)).sum()
    }

    fn count_endpoints(&self, id: usize) -> usize {
        let PodEntry { pod, set, .. } = &self.pods[id];
        let services = self.label_sets[*set].services.iter();
        let services = services.filter_map(|name| self.services.get(name));
        services.map(|entry| endpoints_in(pod, &entry.service)).sum()
    }

    /// Adds or replaces a pod. Returns the Services that it leaves and joins; if its endpoint changed, also the Services that
    /// keep selecting it (R17–R21, W9).
    pub(super) fn apply_pod(
        &mut self,
        pod: Pod,
        labels: &Labels,
        ready_transition_time: Option<Timestamp>,
        pods_by_node: &mut PodsByNode,
    ) -> AffectedServices {
        let set = self.find_or_insert_label_set(labels);
        let Some(id) = self.pod_by_name.get(pod.name()).copied() else {
            pods_by_node.insert(&pod);
            return self.insert_pod(pod, set, ready_transition_time);
        };
        let entry = &mut self.pods[id];
        let changed = endpoint_changed(&entry.pod, &pod);
        let eligible = entry.pod.eligible || pod.eligible;
        let old_set = entry.set;
        pods_by_node.replace(&entry.pod, &pod);
        entry.pod = pod;
        entry.ready_transition_time = ready_transition_time;
        if !eligible {
            self.move_to_label_set(id, set);
            return Vec::new();
        }
        let before = self.label_sets[old_set].services.clone();
        self.move_to_label_set(id, set);
        let after = &self.label_sets[set].services;
        match (changed, old_set == set) {
            (false, true) => Vec::new(),
            (true, true) => after.clone(),
            (true, false) => union(&before, after),
            (false, false) => union(&difference(&before, after), &difference(after, &before)),
        }
    }

    fn insert_pod(&mut self, pod: Pod, set: usize, ready_transition_time: Option<Timestamp>) -> AffectedServices {
        let name = pod.identity.name.clone().unwrap_or_default();
        let eligible = pod.eligible;
        let position = self.label_sets[set].pods.len();
        let id = self.pods.insert(PodEntry {
            pod,
            ready_transition_time,
            set,
            position,
        });
        self.label_sets[set].pods.push(id);
        self.pod_by_name.insert(name, id);
        self.services_of_label_set(set, eligible)
    }

    /// Removes a pod. Returns the Services that selected it.
    pub(super) fn remove_pod(&mut self, name: &str, pods_by_node: &mut PodsByNode) -> AffectedServices {
        let Some(id) = self.pod_by_name.remove(name) else {
            return Vec::new();
        };
        let set = self.pods[id].set;
        let affected = self.services_of_label_set(set, self.pods[id].pod.eligible);
        self.remove_from_label_set(id);
        pods_by_node.remove(&self.pods.remove(id).pod);
        self.drop_label_set_if_empty(set);
        self.rebuild_if_sparse();
        affected
    }

    /// The Services that select a label set. A pod that is not eligible has no endpoints and affects none.
    fn services_of_label_set(&self, set: usize, eligible: bool) -> AffectedServices {
        if eligible {
            self.label_sets[set].services.clone()
        } else {
            Vec::new()
        }
    }

    /// Adds or replaces a Service. Returns whether it changed.
    pub(super) fn apply_service(&mut self, mut entry: ServiceEntry) -> bool {
        let name = Arc::clone(&entry.service.name);
        match self.services.get_mut(&name) {
            Some(cached) if cached.is_equivalent(&entry) => return false,
            Some(cached) if cached.selector == entry.selector => entry.sets = std::mem::take(&mut cached.sets),
            _ => {
                self.remove_matches(&name);
                entry.sets = self.matching_label_sets(entry.selector.as_ref());
                for set in &entry.sets {
                    self.label_sets[*set].services.push(Arc::clone(&name));
                }
                if let Some(first) = entry.selector.as_ref().and_then(|selector| selector.as_slice().first()) {
                    self.services_by_label
                        .entry(first.clone())
                        .or_default()
                        .push(Arc::clone(&name));
                }
            }
        }
        self.services.insert(name, entry);
        true
    }

    /// Removes a Service. Returns whether it was cached.
    pub(super) fn remove_service(&mut self, name: &str) -> bool {
        self.remove_matches(name);
        let known = self.services.remove(name).is_some();
        self.rebuild_if_sparse();
        known
    }

    /// The number of pods, label sets and Services that memory is allocated for.
    pub(super) fn capacity(&self) -> usize {
        self.pods.capacity() + self.label_sets.capacity() + self.services.capacity()
    }

    /// Rebuilds the index if most of its memory is unused. Ids are places in the slabs, so that these cannot just shrink. The
    /// removals since the last time pay for it.
    fn rebuild_if_sparse(&mut self) {
        let len = self.pods.len() + self.label_sets.len() + self.services.len();
        if !is_sparse(len, self.capacity()) {
            return;
        }
        let old = std::mem::take(self);
        for entry in old.services.into_values() {
            self.apply_service(ServiceEntry::new(entry.service, entry.created, entry.selector));
        }
        for (_, entry) in old.pods {
            let set = self.find_or_insert_label_set(&old.label_sets[entry.set].labels);
            self.insert_pod(entry.pod, set, entry.ready_transition_time);
        }
    }

    /// The label sets that a selector matches. Only the sets with the rarest label of the selector are tested.
    fn matching_label_sets(&self, selector: Option<&Labels>) -> BTreeSet<usize> {
        let labels = selector.map_or(&[][..], Labels::as_slice);
        let candidates: Option<Vec<_>> = labels.iter().map(|label| self.sets_by_label.get(label)).collect();
        let rarest = candidates.into_iter().flatten().min_by_key(|sets| sets.len());
        let selected =
            |set: &&usize| selector.is_some_and(|selector| self.label_sets[**set].labels.are_selected_by(selector));
        rarest.into_iter().flatten().filter(selected).copied().collect()
    }

    /// Removes a Service from the label sets that it selects and from the selector index.
    fn remove_matches(&mut self, name: &str) {
        let Some(cached) = self.services.get_mut(name) else {
            return;
        };
        for set in std::mem::take(&mut cached.sets) {
            self.label_sets[set].services.retain(|service| &**service != name);
        }
        if let Some(first) = cached
            .selector
            .as_ref()
            .and_then(|selector| selector.as_slice().first())
            && let Some(services) = self.services_by_label.get_mut(first)
        {
            services.retain(|service| &**service != name);
            if services.is_empty() {
                self.services_by_label.remove(first);
            }
        }
    }

    /// Id of the label set with these labels. A new one is matched with all selectors.
    fn find_or_insert_label_set(&mut self, labels: &Labels) -> usize {
        if let Some(set) = self.set_by_labels.get(labels) {
            return *set;
        }
        let candidates = labels
            .as_slice()
            .iter()
            .filter_map(|label| self.services_by_label.get(label))
            .flatten();
        let services: Vec<_> = candidates
            .filter(|name| {
                let selector = self.services.get(*name).and_then(|entry| entry.selector.as_ref());
                selector.is_some_and(|selector| labels.are_selected_by(selector))
            })
            .cloned()
            .collect();
        let set = self.label_sets.insert(LabelSet {
            labels: labels.clone(),
            pods: Vec::new(),
            services: services.clone(),
        });
        for name in services {
            if let Some(entry) = self.services.get_mut(&name) {
                entry.sets.insert(set);
            }
        }
        for label in labels.as_slice() {
            self.sets_by_label.entry(label.clone()).or_default().insert(set);
        }
        self.set_by_labels.insert(labels.clone(), set);
        set
    }

    fn move_to_label_set(&mut self, id: usize, to: usize) {
        let from = self.pods[id].set;
        if from == to {
            return;
        }
        self.remove_from_label_set(id);
        let position = self.label_sets[to].pods.len();
        self.label_sets[to].pods.push(id);
        let entry = &mut self.pods[id];
        (entry.set, entry.position) = (to, position);
        self.drop_label_set_if_empty(from);
    }

    fn remove_from_label_set(&mut self, id: usize) {
        let PodEntry { set, position, .. } = self.pods[id];
        let pods = &mut self.label_sets[set].pods;
        pods.swap_remove(position);
        if is_sparse(pods.len(), pods.capacity()) {
            pods.shrink_to(2 * pods.len());
        }
        if let Some(moved) = pods.get(position) {
            self.pods[*moved].position = position;
        }
    }

    fn drop_label_set_if_empty(&mut self, set: usize) {
        if !self.label_sets[set].pods.is_empty() {
            return;
        }
        let LabelSet { labels, services, .. } = self.label_sets.remove(set);
        for label in labels.as_slice() {
            if let Some(sets) = self.sets_by_label.get_mut(label) {
                sets.remove(&set);
                if sets.is_empty() {
                    self.sets_by_label.remove(label);
                }
            }
        }
        self.set_by_labels.remove(&labels);
        for name in services {
            if let Some(entry) = self.services.get_mut(&name) {
                entry.sets.remove(&set);
            }
        }
    }
}

/// Whether the endpoints of a pod changed: readiness, termination, addresses, node, hostname or named ports. Changes of a pod
/// that is not eligible before and after do not count.
fn endpoint_changed(before: &Pod, after: &Pod) -> bool {
    (before.eligible || after.eligible) && before != after
}

fn union(a: &[Arc<str>], b: &[Arc<str>]) -> AffectedServices {
    let mut all = a.to_vec();
    all.extend(difference(b, a));
    all
}

fn difference(a: &[Arc<str>], b: &[Arc<str>]) -> AffectedServices {
    a.iter().filter(|name| !b.contains(name)).cloned().collect()
}

/// The number of endpoints of a pod in the slices of a Service: one per address type.
fn endpoints_in(pod: &Pod, service: &Service) -> usize {
    let types = service.families.address_types().iter();
    types
        .filter(|address_type| pod.eligible && !pod.addresses.of(**address_type).is_empty())
        .count()
}
