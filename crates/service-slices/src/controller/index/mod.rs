//! Which pods belong to which Services, and the other way round; looked up, never scanned.
//!
//! Pods with the same labels, as those of one `ReplicaSet`, share one [`LabelSet`], and Services are matched with label sets.
//! So a pod that comes and goes costs the same however many others there are.

mod labels;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use slab::Slab;

use crate::{Pod, Service};
pub(crate) use labels::Labels;
use labels::Pair;

/// The pods and Services of one namespace.
#[derive(Debug, Default)]
pub(super) struct Namespace {
    pods: Slab<PodEntry>,
    by_name: HashMap<Arc<str>, usize>,
    by_node: HashMap<Arc<str>, Vec<usize>>,
    sets: Slab<LabelSet>,
    by_labels: HashMap<Labels, usize>,
    /// Label sets with this label.
    by_pair: HashMap<Pair, Vec<usize>>,
    services: HashMap<Arc<str>, ServiceEntry>,
    /// Services whose selector begins with this label.
    by_selector: HashMap<Pair, Vec<Arc<str>>>,
}

/// Pods that have the same labels.
#[derive(Debug)]
struct LabelSet {
    labels: Labels,
    pods: Vec<usize>,
    services: Vec<Arc<str>>,
}

/// A pod.
#[derive(Debug)]
pub(super) struct PodEntry {
    pub(super) pod: Pod,
    /// When its readiness last changed.
    pub(super) ready_since: Option<Timestamp>,
    set: usize,
    /// Its place in the set.
    place: usize,
}

/// A Service.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServiceEntry {
    pub(super) service: Service,
    pub(super) created: Option<Timestamp>,
    /// What it selects; nothing, if its slices are none of our business (R50 steps 3 and 4).
    pub(super) selector: Option<Labels>,
    /// The label sets that it selects.
    sets: Vec<usize>,
}

impl ServiceEntry {
    pub(super) fn new(service: Service, created: Option<Timestamp>, selector: Option<Labels>) -> Self {
        Self {
            service,
            created,
            selector,
            sets: Vec::new(),
        }
    }

    /// Whether two entries say the same about the Service.
    fn says_the_same(&self, other: &Self) -> bool {
        self.service == other.service && self.created == other.created && self.selector == other.selector
    }
}

/// The names of Services whose slices a change concerns, each once.
pub(super) type Concerned = Vec<Arc<str>>;

impl Namespace {
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.services.is_empty()
    }

    pub(super) fn service(&self, name: &str) -> Option<&ServiceEntry> {
        self.services.get(name)
    }

    /// The pods that a Service selects.
    pub(super) fn pods_of<'a>(&'a self, service: &'a ServiceEntry) -> impl Iterator<Item = &'a PodEntry> {
        let sets = service.sets.iter().map(|set| &self.sets[*set]);
        sets.flat_map(|set| set.pods.iter().map(|pod| &self.pods[*pod]))
    }

    /// How many pods a Service selects.
    pub(super) fn count_pods_of(&self, service: &ServiceEntry) -> usize {
        service.sets.iter().map(|set| self.sets[*set].pods.len()).sum()
    }

    /// The Services with pods on a node.
    pub(super) fn services_on(&self, node: &str) -> Concerned {
        let pods = self.by_node.get(node).into_iter().flatten();
        let mut services: Concerned = pods
            .flat_map(|pod| self.sets[self.pods[*pod].set].services.iter().cloned())
            .collect();
        services.sort_unstable();
        services.dedup();
        services
    }

    /// Puts a pod in its place. Services that it leaves or joins are concerned, and those that it stays with if it says
    /// something else now (R17–R21, W9).
    pub(super) fn put_pod(&mut self, pod: Pod, labels: &Labels, ready_since: Option<Timestamp>) -> Concerned {
        let set = self.set_of(labels);
        let Some(id) = self.by_name.get(pod.name()).copied() else {
            return self.add_pod(pod, set, ready_since);
        };
        let entry = &mut self.pods[id];
        let changed = says_something_else(&entry.pod, &pod);
        let eligible = entry.pod.eligible || pod.eligible;
        let (old_set, old_node, new_node) = (entry.set, entry.pod.node.clone(), pod.node.clone());
        entry.pod = pod;
        entry.ready_since = ready_since;
        if old_node != new_node {
            self.leave_node(id, old_node.as_deref());
            self.join_node(id, new_node);
        }
        if !eligible {
            self.move_pod(id, set);
            return Vec::new();
        }
        let before = self.sets[old_set].services.clone();
        self.move_pod(id, set);
        let after = &self.sets[set].services;
        match (changed, old_set == set) {
            (false, true) => Vec::new(),
            (true, true) => after.clone(),
            (true, false) => union(&before, after),
            (false, false) => union(&difference(&before, after), &difference(after, &before)),
        }
    }

    fn add_pod(&mut self, pod: Pod, set: usize, ready_since: Option<Timestamp>) -> Concerned {
        let name = pod.identity.name.clone().unwrap_or_default();
        let (node, eligible) = (pod.node.clone(), pod.eligible);
        let place = self.sets[set].pods.len();
        let id = self.pods.insert(PodEntry {
            pod,
            ready_since,
            set,
            place,
        });
        self.sets[set].pods.push(id);
        self.by_name.insert(name, id);
        self.join_node(id, node);
        // One that is nobody's endpoint yet concerns nobody.
        if eligible {
            self.sets[set].services.clone()
        } else {
            Vec::new()
        }
    }

    /// Takes a pod out.
    pub(super) fn remove_pod(&mut self, name: &str) -> Concerned {
        let Some(id) = self.by_name.remove(name) else {
            return Vec::new();
        };
        let set = self.pods[id].set;
        let concerned = if self.pods[id].pod.eligible {
            self.sets[set].services.clone()
        } else {
            Vec::new()
        };
        self.leave_set(id);
        let entry = self.pods.remove(id);
        self.leave_node(id, entry.pod.node.as_deref());
        self.drop_if_empty(set);
        concerned
    }

    /// Puts a Service in its place. Answers whether it says something new.
    pub(super) fn put_service(&mut self, mut entry: ServiceEntry) -> bool {
        let name = Arc::clone(&entry.service.name);
        match self.services.get(&name) {
            Some(known) if known.says_the_same(&entry) => return false,
            Some(known) if known.selector == entry.selector => entry.sets.clone_from(&known.sets),
            _ => {
                self.unmatch(&name);
                entry.sets = self.matching(entry.selector.as_ref());
                for set in &entry.sets {
                    self.sets[*set].services.push(Arc::clone(&name));
                }
                if let Some(first) = entry.selector.as_ref().and_then(|selector| selector.pairs().first()) {
                    self.by_selector
                        .entry(first.clone())
                        .or_default()
                        .push(Arc::clone(&name));
                }
            }
        }
        self.services.insert(name, entry);
        true
    }

    /// Takes a Service out. Answers whether it was there.
    pub(super) fn remove_service(&mut self, name: &str) -> bool {
        self.unmatch(name);
        self.services.remove(name).is_some()
    }

    /// The label sets that a selector selects: among those with the rarest of its labels.
    fn matching(&self, selector: Option<&Labels>) -> Vec<usize> {
        let Some(selector) = selector else { return Vec::new() };
        let candidates = selector
            .pairs()
            .iter()
            .map(|pair| self.by_pair.get(pair).map_or(&[][..], |sets| sets));
        let rarest = candidates.min_by_key(|sets| sets.len()).unwrap_or_default();
        let selected = |set: &&usize| self.sets[**set].labels.are_selected_by(selector);
        rarest.iter().filter(selected).copied().collect()
    }

    fn unmatch(&mut self, name: &str) {
        let Some(known) = self.services.get_mut(name) else {
            return;
        };
        for set in std::mem::take(&mut known.sets) {
            self.sets[set].services.retain(|service| &**service != name);
        }
        if let Some(first) = known.selector.as_ref().and_then(|selector| selector.pairs().first())
            && let Some(services) = self.by_selector.get_mut(first)
        {
            services.retain(|service| &**service != name);
            if services.is_empty() {
                self.by_selector.remove(first);
            }
        }
    }

    /// The set of these labels, matched with the Services that select them.
    fn set_of(&mut self, labels: &Labels) -> usize {
        if let Some(set) = self.by_labels.get(labels) {
            return *set;
        }
        let candidates = labels
            .pairs()
            .iter()
            .filter_map(|pair| self.by_selector.get(pair))
            .flatten();
        let services: Vec<_> = candidates
            .filter(|name| {
                let selector = self.services.get(*name).and_then(|entry| entry.selector.as_ref());
                selector.is_some_and(|selector| labels.are_selected_by(selector))
            })
            .cloned()
            .collect();
        let set = self.sets.insert(LabelSet {
            labels: labels.clone(),
            pods: Vec::new(),
            services: services.clone(),
        });
        for name in services {
            if let Some(entry) = self.services.get_mut(&name) {
                entry.sets.push(set);
            }
        }
        for pair in labels.pairs() {
            self.by_pair.entry(pair.clone()).or_default().push(set);
        }
        self.by_labels.insert(labels.clone(), set);
        set
    }

    fn move_pod(&mut self, id: usize, to: usize) {
        let from = self.pods[id].set;
        if from == to {
            return;
        }
        self.leave_set(id);
        let place = self.sets[to].pods.len();
        self.sets[to].pods.push(id);
        let entry = &mut self.pods[id];
        (entry.set, entry.place) = (to, place);
        self.drop_if_empty(from);
    }

    fn leave_set(&mut self, id: usize) {
        let PodEntry { set, place, .. } = self.pods[id];
        let pods = &mut self.sets[set].pods;
        pods.swap_remove(place);
        if let Some(moved) = pods.get(place) {
            self.pods[*moved].place = place;
        }
    }

    fn drop_if_empty(&mut self, set: usize) {
        if !self.sets[set].pods.is_empty() {
            return;
        }
        let LabelSet { labels, services, .. } = self.sets.remove(set);
        for pair in labels.pairs() {
            remove_from(&mut self.by_pair, pair, set);
        }
        self.by_labels.remove(&labels);
        for name in services {
            if let Some(entry) = self.services.get_mut(&name) {
                entry.sets.retain(|other| *other != set);
            }
        }
    }

    fn join_node(&mut self, id: usize, node: Option<Arc<str>>) {
        if let Some(node) = node {
            self.by_node.entry(node).or_default().push(id);
        }
    }

    fn leave_node(&mut self, id: usize, node: Option<&str>) {
        if let Some(node) = node
            && let Some(pods) = self.by_node.get_mut(node)
        {
            pods.retain(|pod| *pod != id);
            if pods.is_empty() {
                self.by_node.remove(node);
            }
        }
    }
}

fn remove_from(map: &mut HashMap<Pair, Vec<usize>>, pair: &Pair, set: usize) {
    if let Some(sets) = map.get_mut(pair) {
        sets.retain(|other| *other != set);
        if sets.is_empty() {
            map.remove(pair);
        }
    }
}

/// Whether slices would say something else about the pod. What a pod that is nobody's endpoint says does not matter.
fn says_something_else(before: &Pod, now: &Pod) -> bool {
    (before.eligible || now.eligible) && before != now
}

fn union(a: &[Arc<str>], b: &[Arc<str>]) -> Concerned {
    let mut all = a.to_vec();
    all.extend(difference(b, a));
    all
}

fn difference(a: &[Arc<str>], b: &[Arc<str>]) -> Concerned {
    a.iter().filter(|name| !b.contains(name)).cloned().collect()
}
