//! Topology hints (`forZones`, `forNodes`) of endpoints.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The maximum number of hints that an interner keeps; hints beyond it are not shared.
const INTERNED_MAX: usize = 8;

/// The topology hints of an endpoint, shared by endpoints with equal hints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// The zones whose traffic the endpoint should get, in order.
    #[serde(serialize_with = "serialize_names", skip_serializing_if = "Vec::is_empty")]
    pub for_zones: Vec<Arc<str>>,
    /// The nodes whose traffic the endpoint should get, in order.
    #[serde(serialize_with = "serialize_names", skip_serializing_if = "Vec::is_empty")]
    pub for_nodes: Vec<Arc<str>>,
}

impl Hints {
    /// Hints for one zone.
    #[must_use]
    pub fn zone(zone: impl Into<Arc<str>>) -> Arc<Self> {
        Arc::new(Self {
            for_zones: vec![zone.into()],
            for_nodes: Vec::new(),
        })
    }

    /// Whether these are hints for exactly this zone and this node.
    #[must_use]
    pub fn matches_exactly(&self, zone: Option<&str>, node: Option<&str>) -> bool {
        self.equals(zone, node)
    }

    fn equals<'a>(&self, zones: impl IntoIterator<Item = &'a str>, nodes: impl IntoIterator<Item = &'a str>) -> bool {
        self.for_zones.iter().map(|zone| &**zone).eq(zones) && self.for_nodes.iter().map(|node| &**node).eq(nodes)
    }
}

/// Serializes names as the API does: a list of objects with the field `name`.
fn serialize_names<S: Serializer>(names: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct HintTarget<'a> {
        name: &'a str,
    }
    serializer.collect_seq(names.iter().map(|name| HintTarget { name }))
}

/// Interns hints, so that endpoints with equal hints share one `Arc`.
#[derive(Debug, Default)]
pub struct HintInterner(Vec<Arc<Hints>>);

impl HintInterner {
    /// The shared hints for these zones and nodes, with strings interned by `intern`.
    pub fn get<'a>(
        &mut self,
        zones: impl IntoIterator<Item = &'a str> + Clone,
        nodes: impl IntoIterator<Item = &'a str> + Clone,
        mut intern: impl FnMut(&'a str) -> Arc<str>,
    ) -> Arc<Hints> {
        let mut known = self.0.iter();
        if let Some(known) = known.find(|known| known.equals(zones.clone(), nodes.clone())) {
            return Arc::clone(known);
        }
        let hints = Arc::new(Hints {
            for_zones: zones.into_iter().map(&mut intern).collect(),
            for_nodes: nodes.into_iter().map(&mut intern).collect(),
        });
        if self.0.len() < INTERNED_MAX {
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
    fn exact_match_compares_zones_and_nodes() {
        let samples = [
            hints(&["a"], &[]),
            hints(&["c"], &[]),
            hints(&[], &[]),
            hints(&["a", "b"], &[]),
            hints(&["b", "a"], &[]),
            hints(&["a"], &["1"]),
            hints(&["a"], &["2"]),
            hints(&["a"], &["1", "2"]),
            hints(&[], &["1"]),
        ];
        for given in &samples {
            for zone in [None, Some("a"), Some("b"), Some("c")] {
                for node in [None, Some("1"), Some("2")] {
                    let expected = *given == hints(zone.as_slice(), node.as_slice());
                    assert_eq!(
                        given.matches_exactly(zone, node),
                        expected,
                        "{given:?} {zone:?} {node:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn equal_hints_are_interned_up_to_a_maximum() {
        let mut interner = HintInterner::default();
        let zones: Vec<String> = (0..2 * INTERNED_MAX).map(|number| number.to_string()).collect();
        let mut get = |zone: &String| interner.get([&**zone], ["1"], Arc::from);
        let first: Vec<_> = zones.iter().map(&mut get).collect();
        let second: Vec<_> = zones.iter().map(&mut get).collect();
        assert_eq!(first, second);
        let shared = first.iter().zip(&second).filter(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.count(), INTERNED_MAX);
    }
}
