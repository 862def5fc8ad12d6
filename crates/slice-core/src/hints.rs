//! For whom endpoints are meant.

use std::{ptr, sync::Arc};

/// How many hints are compared with before another copy is made.
const KNOWN_MAX: usize = 8;

/// For whom an endpoint is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Zones.
    pub for_zones: Vec<Arc<str>>,
    /// Nodes.
    pub for_nodes: Vec<Arc<str>>,
}

impl Hints {
    /// Whether they are for these zones and nodes, in this order. Names that are shared are equal without a look at them.
    #[inline]
    pub fn are_for<'a>(
        &self,
        zones: impl IntoIterator<Item = &'a str>,
        nodes: impl IntoIterator<Item = &'a str>,
    ) -> bool {
        are_names(&self.for_zones, zones) && are_names(&self.for_nodes, nodes)
    }
}

#[inline]
fn are_names<'a>(given: &[Arc<str>], names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut names = names.into_iter();
    for given in given {
        match names.next() {
            Some(name) if ptr::eq(&raw const **given, name) || is_same_zone(given, name) => {}
            _ => return false,
        }
    }
    names.next().is_none()
}

/// Whether two texts are equal, as fast as can be where they are mostly names of zones: those of a region differ in their last
/// letter alone.
#[inline]
#[must_use]
pub fn is_same_zone(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().last() == b.as_bytes().last() && a == b
}

/// Hints that were given before: mostly for a few zones, again and again, so that endpoints can share them.
#[derive(Debug, Default)]
pub struct KnownHints(Vec<Arc<Hints>>);

impl KnownHints {
    /// The hints that are wanted, if they are known.
    #[inline]
    pub fn find(&self, are_wanted: impl Fn(&Hints) -> bool) -> Option<Arc<Hints>> {
        self.0.iter().find(|known| are_wanted(known)).cloned()
    }

    /// The hints that are wanted; made only if they are not known.
    #[inline]
    pub fn get(&mut self, are_wanted: impl Fn(&Hints) -> bool, make: impl FnOnce() -> Hints) -> Arc<Hints> {
        if let Some(known) = self.find(are_wanted) {
            return known;
        }
        let hints = Arc::new(make());
        if self.0.len() < KNOWN_MAX {
            self.0.push(Arc::clone(&hints));
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(zones: &[&str], nodes: &[&str]) -> Hints {
        let shared = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        Hints {
            for_zones: shared(zones),
            for_nodes: shared(nodes),
        }
    }

    #[test]
    fn hints_are_for_whom_they_name() {
        let given = hints(&["a", "b"], &["1"]);
        assert!(given.are_for(["a", "b"], ["1"]));
        for (zones, nodes) in [
            (&["a"][..], &["1"][..]),
            (&["a", "b", "c"], &["1"]),
            (&["b", "a"], &["1"]),
            (&["a", "b"], &[]),
            (&["a", "b"], &["2"]),
            (&["a", "b"], &["1", "2"]),
        ] {
            assert!(
                !given.are_for(zones.iter().copied(), nodes.iter().copied()),
                "{zones:?} {nodes:?}"
            );
        }
        assert!(Hints::default().are_for([], []));
    }

    #[test]
    fn equal_hints_are_made_once_and_others_are_made() {
        let mut known = KnownHints::default();
        let names: Vec<String> = (0..2 * KNOWN_MAX).map(|number| number.to_string()).collect();
        let mut get = |zone: &String| known.get(|known| known.are_for([&**zone], []), || hints(&[zone], &[]));
        let first: Vec<_> = names.iter().map(&mut get).collect();
        let again: Vec<_> = names.iter().map(&mut get).collect();
        assert_eq!(first, again);
        let shared = first.iter().zip(&again).map(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.filter(|shared| *shared).count(), KNOWN_MAX);
    }
}
