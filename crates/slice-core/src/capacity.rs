//! Capacity of collections: memory should follow the objects that exist, not their highest number so far (I12).

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
};

/// The capacity that a collection may keep however few elements it has.
const CAPACITY_MIN: usize = 64;

/// Whether a collection has so much unused capacity that it should shrink. Growing by doubling never gets there, and shrinking to
/// twice the length is paid for by the removals before it.
#[must_use]
pub fn is_sparse(len: usize, capacity: usize) -> bool {
    capacity > CAPACITY_MIN.max(4 * len)
}

/// Shrinks a map if it [is sparse](is_sparse).
pub fn shrink_if_sparse<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if is_sparse(map.len(), map.capacity()) {
        map.shrink_to(2 * map.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_shrinks_with_its_elements_and_seldom() {
        let mut map: HashMap<_, _> = (0..100_000).map(|i| (i, i)).collect();
        let mut shrunk = 0;
        for i in 0..100_000 {
            map.remove(&i);
            shrunk += usize::from(is_sparse(map.len(), map.capacity()));
            shrink_if_sparse(&mut map);
            assert!(
                !is_sparse(map.len(), map.capacity()),
                "{} {}",
                map.len(),
                map.capacity()
            );
        }
        assert!(shrunk <= 17, "{shrunk}: at most once per halving");
    }

    #[test]
    fn a_growing_map_does_not_shrink() {
        let mut map = HashMap::new();
        for i in 0..10_000 {
            map.insert(i, i);
            assert!(
                !is_sparse(map.len(), map.capacity()),
                "{} {}",
                map.len(),
                map.capacity()
            );
        }
    }
}
