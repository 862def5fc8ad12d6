//! The order of writes: an endpoint is removed from a slice only after another slice has it (I4).

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
};

use foldhash::fast::RandomState;
use slice_core::{Address, Endpoint, EndpointSet, EndpointSource, TargetView};

use crate::planned::PlannedEndpoint;

/// One write in the dependency graph: the endpoints of a slice before and after it.
pub(crate) struct Step<'a, E: EndpointSource> {
    pub(crate) before: &'a [Endpoint],
    pub(crate) after: &'a [PlannedEndpoint<'a, E>],
    /// Whether the write removes an address type, so that its targets may be added with addresses of another type.
    pub(crate) removes_address_type: bool,
}

/// A published item that must not be missing between two writes.
#[derive(PartialEq, Eq, Hash)]
enum Protected<'a> {
    /// An endpoint by its identity: addresses in any order, hostname and target name (G5).
    Endpoint(Cow<'a, [Address]>, &'a str, &'a str),
    /// A target by its uid, with any address: a pod that changes its address family is the same pod, a recreated pod of the
    /// same name is not.
    Target(&'a str),
}

impl<'a> Protected<'a> {
    fn endpoint(endpoint: &'a impl EndpointSource) -> Self {
        let name = endpoint.target().and_then(TargetView::name);
        Self::Endpoint(
            sorted(endpoint.addresses()),
            endpoint.hostname().unwrap_or_default(),
            name.unwrap_or_default(),
        )
    }

    fn target(endpoint: &'a impl EndpointSource) -> Option<Self> {
        endpoint.target().and_then(TargetView::uid).map(Self::Target)
    }
}

fn sorted(addresses: &[Address]) -> Cow<'_, [Address]> {
    if addresses.len() < 2 {
        return addresses.into();
    }
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.into()
}

/// The endpoints that a step removes from its slice and adds to it.
struct Change<'a, E: EndpointSource> {
    removed: Vec<&'a Endpoint>,
    added: &'a [PlannedEndpoint<'a, E>],
}

impl<'a, E: EndpointSource> Change<'a, E> {
    /// Relies on the order of a planned slice: unchanged endpoints come first, in their existing order. Duplicates and
    /// reordered endpoints appear as removed and added; [`LazyMembers`] excludes them later.
    fn new(step: &Step<'a, E>) -> Self {
        let mut added = step.after;
        let mut removed = Vec::new();
        for endpoint in step.before {
            match added.split_first() {
                Some((first, rest)) if first.replaces(endpoint) => added = rest,
                _ => removed.push(endpoint),
            }
        }
        Self { removed, added }
    }
}

/// Endpoint sets of steps, built on the first lookup: endpoints rarely move between slices. A deleted slice has an empty set
/// afterwards, so that each duplicate endpoint is treated as removed; duplicates may belong to different pods.
struct LazyMembers<H>(HashMap<usize, EndpointSet<H>, RandomState>);

impl<H: EndpointSource> LazyMembers<H> {
    fn contains(&mut self, step: usize, members: impl ExactSizeIterator<Item = H>, key: &impl EndpointSource) -> bool {
        let members = self.0.entry(step).or_insert_with(|| {
            let mut set = EndpointSet::with_capacity(members.len());
            set.extend(members);
            set
        });
        members.contains(key)
    }
}

/// The steps that remove an item, with the removed endpoint.
type RemovedBy<'a> = HashMap<Protected<'a>, Vec<(usize, &'a Endpoint)>, RandomState>;

/// For each step, the steps that must succeed before it.
pub(crate) fn dependencies<E: EndpointSource>(steps: &[Step<'_, E>]) -> Vec<Vec<usize>> {
    let mut dependencies = vec![Vec::new(); steps.len()];
    let changes: Vec<Change<'_, E>> = steps.iter().map(Change::new).collect();
    if changes.iter().all(|change| change.removed.is_empty()) {
        return dependencies;
    }
    let added = changes.iter().flat_map(|change| change.added);
    let added_addresses: HashSet<_, RandomState> = added.map(|added| sorted(added.addresses())).collect();
    let mut removed_by: RemovedBy<'_> = HashMap::default();
    for (index, change) in changes.iter().enumerate() {
        for removed in &change.removed {
            // Few removed endpoints are added elsewhere. Comparing addresses first rules out the others.
            let is_added = added_addresses.contains(&*sorted(&removed.addresses));
            let endpoint = is_added.then(|| Protected::endpoint(*removed));
            let target = Protected::target(*removed).filter(|_| steps[index].removes_address_type);
            for protected in [endpoint, target].into_iter().flatten() {
                removed_by.entry(protected).or_default().push((index, removed));
            }
        }
    }
    if removed_by.is_empty() {
        return dependencies;
    }
    let removes_address_type = steps.iter().any(|step| step.removes_address_type);
    let (mut before, mut after) = (LazyMembers(HashMap::default()), LazyMembers(HashMap::default()));
    for (index, change) in changes.iter().enumerate() {
        for added in change.added {
            let target = Protected::target(added).filter(|_| removes_address_type);
            for protected in [Some(Protected::endpoint(added)), target].into_iter().flatten() {
                for (remover, removed) in removed_by.get(&protected).into_iter().flatten() {
                    let mut stays = || {
                        after.contains(*remover, steps[*remover].after.iter(), removed)
                            || before.contains(index, steps[index].before.iter(), added)
                    };
                    if *remover != index && !stays() {
                        dependencies[*remover].push(index);
                    }
                }
            }
        }
    }
    dependencies.iter_mut().for_each(Vec::dedup);
    dependencies
}

/// Sorts steps after their dependencies, otherwise in the given order. Returns a step of a cycle if there is one.
pub(crate) fn topological_sort(dependencies: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let (sorted, unmet) = sort_executable(dependencies, 0);
    if sorted.len() == dependencies.len() {
        Ok(sorted)
    } else {
        Err(find_cycle(dependencies, &unmet))
    }
}

/// Sorts the steps that can be executed without the first ones. Omits steps that depend on those or on a cycle.
pub(crate) fn topological_sort_without_first(dependencies: &[Vec<usize>], first: usize) -> Vec<usize> {
    sort_executable(dependencies, first).0
}

/// The executable steps in order, and for each step the number of its unmet dependencies (Kahn's algorithm).
fn sort_executable(dependencies: &[Vec<usize>], first: usize) -> (Vec<usize>, Vec<usize>) {
    let mut unmet: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); dependencies.len()];
    for (index, dependencies) in dependencies.iter().enumerate() {
        for dependency in dependencies {
            dependents[*dependency].push(index);
        }
    }
    let ready = unmet.iter().enumerate().skip(first).filter(|(_, unmet)| **unmet == 0);
    let mut ready: BTreeSet<usize> = ready.map(|(index, _)| index).collect();
    let mut sorted = Vec::with_capacity(dependencies.len());
    while let Some(index) = ready.pop_first() {
        sorted.push(index);
        for dependent in &dependents[index] {
            unmet[*dependent] -= 1;
            if unmet[*dependent] == 0 {
                ready.insert(*dependent);
            }
        }
    }
    (sorted, unmet)
}

/// Returns a step of a cycle: following dependencies of an unsorted step n times ends inside one.
fn find_cycle(dependencies: &[Vec<usize>], unmet: &[usize]) -> usize {
    let mut index = unmet.iter().position(|unmet| *unmet > 0).unwrap_or_default();
    for _ in 0..dependencies.len() {
        let next = dependencies[index].iter().find(|other| unmet[**other] > 0);
        index = next.copied().unwrap_or(index);
    }
    index
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;
    use slice_core::Target;

    use super::*;

    fn endpoints(names: &str) -> Vec<Endpoint> {
        let pod = |name: char| Endpoint {
            target: Some(Target::from(&ObjectReference {
                name: Some(name.to_string()),
                ..ObjectReference::default()
            })),
            ..Endpoint::default()
        };
        names.chars().map(pod).collect()
    }

    fn planned(endpoints: &[Endpoint]) -> Vec<PlannedEndpoint<'_, &Endpoint>> {
        endpoints.iter().map(PlannedEndpoint::from_desired).collect()
    }

    fn depends_on(steps: &[(&str, &str)]) -> Vec<Vec<usize>> {
        let owned: Vec<_> = steps
            .iter()
            .map(|(before, after)| (endpoints(before), endpoints(after)))
            .collect();
        let after: Vec<_> = owned.iter().map(|(_, after)| planned(after)).collect();
        let steps = owned.iter().zip(&after).map(|((before, _), after)| Step {
            before,
            after,
            removes_address_type: false,
        });
        dependencies(&steps.collect::<Vec<_>>())
    }

    #[test]
    fn i4_a_removing_write_depends_on_the_adding_write() {
        // A delete depends on the create that adds the endpoint, an update on the update; other writes have no dependencies.
        assert_eq!(depends_on(&[("", "a"), ("a", "")]), [vec![], vec![0]]);
        assert_eq!(
            depends_on(&[("ab", "b"), ("c", "ca"), ("d", "e")]),
            [vec![1], vec![], vec![]]
        );
        assert_eq!(depends_on(&[("a", "a"), ("b", "")]), [Vec::<usize>::new(), vec![]]);
        // Removing a duplicate or reordering endpoints is no removal.
        assert_eq!(depends_on(&[("aab", "ba"), ("", "a")]), [Vec::<usize>::new(), vec![]]);
        assert_eq!(depends_on(&[("b", ""), ("ba", "ab")]), [Vec::<usize>::new(), vec![]]);
    }

    #[test]
    fn i4_deleting_a_slice_with_duplicate_endpoints_depends_on_each_target() {
        let pod = |address: &str, uid: &str| Endpoint {
            addresses: [Address::from_canonical(address)].into_iter().collect(),
            target: Some(Target::from(&ObjectReference {
                uid: Some(uid.to_owned()),
                ..ObjectReference::default()
            })),
            ..Endpoint::default()
        };
        let deleted = [pod("fd00::1", "old"), pod("fd00::1", "new")];
        for uid in ["old", "new"] {
            let replacement = [pod("10.0.0.1", uid)];
            let replacement = planned(&replacement);
            let steps = [
                Step {
                    before: &[][..],
                    after: &replacement[..],
                    removes_address_type: false,
                },
                Step {
                    before: &deleted,
                    after: &[],
                    removes_address_type: true,
                },
            ];
            assert_eq!(dependencies(&steps), [vec![], vec![0]], "{uid}");
        }
    }

    #[test]
    fn i4_reordered_addresses_are_the_same_endpoint() {
        let with = |addresses: [&str; 2]| Endpoint {
            addresses: addresses.map(Address::from_canonical).into_iter().collect(),
            ..Endpoint::default()
        };
        let (before, after) = ([with(["10.0.0.2", "10.0.0.1"])], [with(["10.0.0.1", "10.0.0.2"])]);
        let after = planned(&after);
        let step = |before, after| Step {
            before,
            after,
            removes_address_type: false,
        };
        let steps: [Step<'_, &Endpoint>; 2] = [step(&before[..], &[]), step(&[], &after[..])];
        assert_eq!(dependencies(&steps), [vec![1], vec![]]);
    }

    #[test]
    fn topological_sort_orders_steps_and_finds_cycles() {
        assert_eq!(
            topological_sort(&[vec![], vec![2], vec![], vec![]]),
            Ok(vec![0, 2, 1, 3])
        );
        assert_eq!(topological_sort(&[vec![1], vec![], vec![0]]), Ok(vec![1, 0, 2]));
        let cyclic = topological_sort(&[vec![1], vec![2], vec![1]]).unwrap_err();
        assert!([1, 2].contains(&cyclic));
    }

    #[test]
    fn steps_that_depend_on_omitted_steps_are_omitted() {
        assert_eq!(
            topological_sort_without_first(&[vec![], vec![0], vec![1], vec![4], vec![]], 1),
            [4, 3]
        );
        assert_eq!(topological_sort_without_first(&[vec![1], vec![0], vec![]], 0), [2]);
    }
}
