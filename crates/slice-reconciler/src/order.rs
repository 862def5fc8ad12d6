//! The order among writes: what is taken out of a slice must first be somewhere else (I4).

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
};

use foldhash::fast::RandomState;
use slice_core::{Address, Endpoint, EndpointSet, EndpointSource, TargetView};

use crate::planned::PlannedEndpoint;

/// A write as far as its place in the order goes: what a slice held before, and what it will hold.
pub(crate) struct Step<'a, E: EndpointSource> {
    pub(crate) before: &'a [Endpoint],
    pub(crate) after: &'a [PlannedEndpoint<'a, E>],
    /// Whether what it takes away may come back as an address of another type.
    pub(crate) leaves_type: bool,
}

/// What must not be missing in between.
#[derive(PartialEq, Eq, Hash)]
enum Wanted<'a> {
    /// An endpoint, by what makes it the same one: with another address or hostname it is another, with its addresses in another
    /// order it is not (G5).
    Endpoint(Cow<'a, [Address]>, &'a str, &'a str),
    /// What is behind endpoints, whatever their address: a pod that changes its address family is still the same pod, while one
    /// that was made anew under the same name is not.
    Target(&'a str),
}

impl<'a> Wanted<'a> {
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

/// What a step takes out of its slice and what it puts there.
struct Change<'a, E: EndpointSource> {
    taken: Vec<&'a Endpoint>,
    put: &'a [PlannedEndpoint<'a, E>],
}

impl<'a, E: EndpointSource> Change<'a, E> {
    /// What a slice keeps comes first and as it was before. What it holds twice, or in another order, is found here too; see
    /// [`Holds`].
    fn of(step: &Step<'a, E>) -> Self {
        let mut put = step.after;
        let mut taken = Vec::new();
        for endpoint in step.before {
            match put.split_first() {
                Some((first, rest)) if first.replaces(endpoint) => put = rest,
                _ => taken.push(endpoint),
            }
        }
        Self { taken, put }
    }
}

/// Which endpoints the slices of some steps hold, made when it is asked: hardly ever is one put somewhere that another slice
/// lost. A slice that goes holds nothing afterwards, and so all counts that it held, be it twice: that may stand for two pods.
struct Holds<H>(HashMap<usize, EndpointSet<H>, RandomState>);

impl<H: EndpointSource> Holds<H> {
    fn new() -> Self {
        Self(HashMap::default())
    }

    fn contains(&mut self, step: usize, held: impl ExactSizeIterator<Item = H>, like: &impl EndpointSource) -> bool {
        let held = self.0.entry(step).or_insert_with(|| {
            let mut set = EndpointSet::with_capacity(held.len());
            set.extend(held);
            set
        });
        held.contains(like)
    }
}

/// Who takes what out of its slice.
type Takers<'a> = HashMap<Wanted<'a>, Vec<(usize, &'a Endpoint)>, RandomState>;

/// For each step, the steps that must have succeeded before it.
pub(crate) fn dependencies<E: EndpointSource>(steps: &[Step<'_, E>]) -> Vec<Vec<usize>> {
    let mut waits = vec![Vec::new(); steps.len()];
    let changes: Vec<Change<'_, E>> = steps.iter().map(Change::of).collect();
    if changes.iter().all(|change| change.taken.is_empty()) {
        return waits;
    }
    let put = changes.iter().flat_map(|change| change.put);
    let put_at: HashSet<_, RandomState> = put.map(|put| sorted(put.addresses())).collect();
    let mut takers: Takers<'_> = HashMap::default();
    for (index, change) in changes.iter().enumerate() {
        for taken in &change.taken {
            // Hardly any is put elsewhere, which comparing its addresses shows.
            let is_put = put_at.contains(&*sorted(&taken.addresses));
            let endpoint = is_put.then(|| Wanted::endpoint(*taken));
            let target = Wanted::target(*taken).filter(|_| steps[index].leaves_type);
            for wanted in [endpoint, target].into_iter().flatten() {
                takers.entry(wanted).or_default().push((index, taken));
            }
        }
    }
    if takers.is_empty() {
        return waits;
    }
    let type_left = steps.iter().any(|step| step.leaves_type);
    let (mut before, mut after) = (Holds::new(), Holds::new());
    for (index, change) in changes.iter().enumerate() {
        for put in change.put {
            let target = Wanted::target(put).filter(|_| type_left);
            for wanted in [Some(Wanted::endpoint(put)), target].into_iter().flatten() {
                for (taker, taken) in takers.get(&wanted).into_iter().flatten() {
                    let mut stays = || {
                        after.contains(*taker, steps[*taker].after.iter(), taken)
                            || before.contains(index, steps[index].before.iter(), put)
                    };
                    if *taker != index && !stays() {
                        waits[*taker].push(index);
                    }
                }
            }
        }
    }
    for waits in &mut waits {
        waits.dedup();
    }
    waits
}

/// The steps in an order in which each comes after those it waits for, and otherwise as they were given; or one of those that
/// wait for each other.
pub(crate) fn sort(waits: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let (sorted, open) = sort_possible(waits, 0);
    if sorted.len() == waits.len() {
        Ok(sorted)
    } else {
        Err(in_cycle(waits, &open))
    }
}

/// The steps that are possible without the first ones, in the same order: what waits for one of these, or for itself, is left
/// out.
pub(crate) fn sort_without_first(waits: &[Vec<usize>], first: usize) -> Vec<usize> {
    sort_possible(waits, first).0
}

/// What can be done, and for how many others each step still waits then.
fn sort_possible(waits: &[Vec<usize>], first: usize) -> (Vec<usize>, Vec<usize>) {
    let mut open: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut awaited_by = vec![Vec::new(); waits.len()];
    for (index, waits) in waits.iter().enumerate() {
        for other in waits {
            awaited_by[*other].push(index);
        }
    }
    let ready = open.iter().enumerate().skip(first).filter(|(_, open)| **open == 0);
    let mut ready: BTreeSet<usize> = ready.map(|(index, _)| index).collect();
    let mut sorted = Vec::with_capacity(waits.len());
    while let Some(index) = ready.pop_first() {
        sorted.push(index);
        for waiting in &awaited_by[index] {
            open[*waiting] -= 1;
            if open[*waiting] == 0 {
                ready.insert(*waiting);
            }
        }
    }
    (sorted, open)
}

/// Whoever waits leads to a cycle when followed for long enough.
fn in_cycle(waits: &[Vec<usize>], open: &[usize]) -> usize {
    let mut index = open.iter().position(|open| *open > 0).unwrap_or_default();
    for _ in 0..waits.len() {
        let next = waits[index].iter().find(|other| open[**other] > 0);
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

    fn drafts(endpoints: &[Endpoint]) -> Vec<PlannedEndpoint<'_, &Endpoint>> {
        endpoints.iter().map(PlannedEndpoint::from_desired).collect()
    }

    fn waits(steps: &[(&str, &str)]) -> Vec<Vec<usize>> {
        let owned: Vec<_> = steps
            .iter()
            .map(|(before, after)| (endpoints(before), endpoints(after)))
            .collect();
        let after: Vec<_> = owned.iter().map(|(_, after)| drafts(after)).collect();
        let steps = owned.iter().zip(&after).map(|((before, _), after)| Step {
            before,
            after,
            leaves_type: false,
        });
        dependencies(&steps.collect::<Vec<_>>())
    }

    #[test]
    fn i4_a_write_that_takes_waits_for_the_write_that_puts() {
        // A deletion waits for the creation that takes the endpoint over, an update for the update; others wait for nobody.
        assert_eq!(waits(&[("", "a"), ("a", "")]), [vec![], vec![0]]);
        assert_eq!(
            waits(&[("ab", "b"), ("c", "ca"), ("d", "e")]),
            [vec![1], vec![], vec![]]
        );
        assert_eq!(waits(&[("a", "a"), ("b", "")]), [Vec::<usize>::new(), vec![]]);
        // What a slice holds twice, or in another order, is not taken out of it.
        assert_eq!(waits(&[("aab", "ba"), ("", "a")]), [Vec::<usize>::new(), vec![]]);
        assert_eq!(waits(&[("b", ""), ("ba", "ab")]), [Vec::<usize>::new(), vec![]]);
    }

    #[test]
    fn i4_a_slice_that_leaves_with_two_pods_of_one_name_waits_for_both() {
        let pod = |address: &str, uid: &str| Endpoint {
            addresses: [Address::from_canonical(address)].into_iter().collect(),
            target: Some(Target::from(&ObjectReference {
                uid: Some(uid.to_owned()),
                ..ObjectReference::default()
            })),
            ..Endpoint::default()
        };
        let leaving = [pod("fd00::1", "old"), pod("fd00::1", "new")];
        for uid in ["old", "new"] {
            let taken_over = [pod("10.0.0.1", uid)];
            let taken_over = drafts(&taken_over);
            let steps = [
                Step {
                    before: &[][..],
                    after: &taken_over[..],
                    leaves_type: false,
                },
                Step {
                    before: &leaving,
                    after: &[],
                    leaves_type: true,
                },
            ];
            assert_eq!(dependencies(&steps), [vec![], vec![0]], "{uid}");
        }
    }

    #[test]
    fn i4_addresses_in_another_order_are_the_same_endpoint() {
        let with = |addresses: [&str; 2]| Endpoint {
            addresses: addresses.map(Address::from_canonical).into_iter().collect(),
            ..Endpoint::default()
        };
        let (before, after) = ([with(["10.0.0.2", "10.0.0.1"])], [with(["10.0.0.1", "10.0.0.2"])]);
        let after = drafts(&after);
        let step = |before, after| Step {
            before,
            after,
            leaves_type: false,
        };
        let steps: [Step<'_, &Endpoint>; 2] = [step(&before[..], &[]), step(&[], &after[..])];
        assert_eq!(dependencies(&steps), [vec![1], vec![]]);
    }

    #[test]
    fn steps_are_sorted_and_a_cycle_is_found() {
        assert_eq!(sort(&[vec![], vec![2], vec![], vec![]]), Ok(vec![0, 2, 1, 3]));
        assert_eq!(sort(&[vec![1], vec![], vec![0]]), Ok(vec![1, 0, 2]));
        let in_cycle = sort(&[vec![1], vec![2], vec![1]]).unwrap_err();
        assert!([1, 2].contains(&in_cycle));
    }

    #[test]
    fn steps_that_need_one_that_is_left_out_are_left_out() {
        assert_eq!(
            sort_without_first(&[vec![], vec![0], vec![1], vec![4], vec![]], 1),
            [4, 3]
        );
        assert_eq!(sort_without_first(&[vec![1], vec![0], vec![]], 0), [2]);
    }
}
