//! For whom endpoints are meant.

use std::sync::Arc;

use crate::Text;

/// How many names are compared with before another copy is made.
const KNOWN_MAX: usize = 8;

/// For whom an endpoint is meant. Equal when it is the same zones and nodes, in the same order.
#[derive(Clone, Debug)]
pub enum Hints<T = Arc<str>> {
    /// One zone, as nearly always.
    Zone(T),
    /// Any zones and nodes. Endpoints that are meant for the same best share this.
    Other(Arc<HintedNames>),
}

/// Zones and nodes that endpoints are meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintedNames {
    /// Zones.
    pub for_zones: Vec<Arc<str>>,
    /// Nodes.
    pub for_nodes: Vec<Arc<str>>,
}

impl<T: Text> Hints<T> {
    /// The same, borrowed.
    #[must_use]
    #[inline]
    pub fn view(&self) -> HintsRef<'_> {
        match self {
            Self::Zone(zone) => HintsRef::Zone(zone),
            Self::Other(names) => HintsRef::Other(names),
        }
    }

    /// The same hints in other strings.
    pub fn map<'a, U>(&'a self, mut to: impl FnMut(&'a T) -> U) -> Hints<U> {
        match self {
            Self::Zone(zone) => Hints::Zone(to(zone)),
            Self::Other(names) => Hints::Other(Arc::clone(names)),
        }
    }
}

impl<T> From<HintedNames> for Hints<T> {
    fn from(names: HintedNames) -> Self {
        Self::Other(Arc::new(names))
    }
}

impl<T: Text> PartialEq for Hints<T> {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<T: Text> Eq for Hints<T> {}

/// For whom an endpoint is meant, borrowed.
#[derive(Clone, Copy, Debug)]
pub enum HintsRef<'a> {
    /// One zone.
    Zone(&'a str),
    /// Any zones and nodes.
    Other(&'a HintedNames),
}

impl<'a> HintsRef<'a> {
    /// The zones, in order.
    #[inline]
    pub fn zones(self) -> impl Iterator<Item = &'a str> {
        let (zone, names) = match self {
            Self::Zone(zone) => (Some(zone), &[][..]),
            Self::Other(names) => (None, &names.for_zones[..]),
        };
        zone.into_iter().chain(names.iter().map(|zone| &**zone))
    }

    /// The nodes, in order.
    #[inline]
    pub fn nodes(self) -> impl Iterator<Item = &'a str> {
        let names = match self {
            Self::Zone(_) => &[][..],
            Self::Other(names) => &names.for_nodes[..],
        };
        names.iter().map(|node| &**node)
    }

    /// Whether they are for this zone and this node and nobody else.
    #[inline]
    #[must_use]
    pub fn are_for(self, zone: Option<&str>, node: Option<&str>) -> bool {
        match self {
            Self::Zone(given) => node.is_none() && zone == Some(given),
            Self::Other(names) => names.are_for(zone, node),
        }
    }
}

impl PartialEq for HintsRef<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Zone(one), Self::Zone(other)) => one == other,
            _ => self.zones().eq(other.zones()) && self.nodes().eq(other.nodes()),
        }
    }
}

impl Eq for HintsRef<'_> {}

impl HintedNames {
    fn are_for<'a>(&self, zones: impl IntoIterator<Item = &'a str>, nodes: impl IntoIterator<Item = &'a str>) -> bool {
        are_names(&self.for_zones, zones) && are_names(&self.for_nodes, nodes)
    }
}

fn are_names<'a>(given: &[Arc<str>], names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut names = names.into_iter();
    let mut given = given.iter();
    given.all(|given| names.next() == Some(given)) && names.next().is_none()
}

/// Names that endpoints were meant for before, so that they can be shared.
#[derive(Debug, Default)]
pub struct KnownHints(Vec<Arc<HintedNames>>);

impl KnownHints {
    /// These zones and nodes; made only if they are not known.
    pub fn get<'a>(
        &mut self,
        zones: impl Iterator<Item = &'a str> + Clone,
        nodes: impl Iterator<Item = &'a str> + Clone,
        mut share: impl FnMut(&'a str) -> Arc<str>,
    ) -> Arc<HintedNames> {
        let mut known = self.0.iter();
        if let Some(known) = known.find(|known| known.are_for(zones.clone(), nodes.clone())) {
            return Arc::clone(known);
        }
        let names = Arc::new(HintedNames {
            for_zones: zones.map(&mut share).collect(),
            for_nodes: nodes.map(&mut share).collect(),
        });
        if self.0.len() < KNOWN_MAX {
            self.0.push(Arc::clone(&names));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(zones: &[&str], nodes: &[&str]) -> HintedNames {
        let shared = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        HintedNames {
            for_zones: shared(zones),
            for_nodes: shared(nodes),
        }
    }

    #[test]
    fn hints_are_for_whom_they_name() {
        let samples = [
            Hints::Zone("a"),
            Hints::Zone("b"),
            names(&["c"], &[]).into(),
            names(&[], &[]).into(),
            names(&["a", "b"], &[]).into(),
            names(&["b", "a"], &[]).into(),
            names(&["a"], &["1"]).into(),
            names(&["a"], &["2"]).into(),
            names(&["a"], &["1", "2"]).into(),
            names(&[], &["1"]).into(),
        ];
        for (first, given) in samples.iter().enumerate() {
            for (second, other) in samples.iter().enumerate() {
                assert_eq!(given == other, first == second, "{given:?} {other:?}");
            }
            for zone in [None, Some("a"), Some("b"), Some("c")] {
                for node in [None, Some("1"), Some("2")] {
                    let exactly = names(zone.as_slice(), node.as_slice());
                    let expected = *given == Hints::from(exactly);
                    assert_eq!(
                        given.view().are_for(zone, node),
                        expected,
                        "{given:?} {zone:?} {node:?}"
                    );
                }
            }
        }
        assert_eq!(Hints::Zone("a"), names(&["a"], &[]).into(), "however it is said");
    }

    #[test]
    fn equal_names_are_made_once_and_others_are_made() {
        let mut known = KnownHints::default();
        let zones: Vec<String> = (0..2 * KNOWN_MAX).map(|number| number.to_string()).collect();
        let mut get = |zone: &String| known.get([&**zone].into_iter(), ["1"].into_iter(), Arc::from);
        let first: Vec<_> = zones.iter().map(&mut get).collect();
        let again: Vec<_> = zones.iter().map(&mut get).collect();
        assert_eq!(first, again);
        let shared = first.iter().zip(&again).map(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.filter(|shared| *shared).count(), KNOWN_MAX);
    }
}
