//! One allocation for equal strings.

use std::{collections::HashSet, sync::Arc};

/// Hands out one `Arc<str>` for all equal strings, and forgets those that nobody else holds any more.
#[derive(Debug, Default)]
pub struct Interner {
    strings: HashSet<Arc<str>>,
    /// How many strings there may be before those that nobody holds are looked for.
    sweep_at: usize,
}

/// Below this it is not worth looking.
const SMALLEST_SWEEP: usize = 1024;

impl Interner {
    /// The string of this text.
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return Arc::clone(known);
        }
        if self.strings.len() >= self.sweep_at.max(SMALLEST_SWEEP) {
            self.strings.retain(|string| Arc::strong_count(string) > 1);
            // Twice what is left: a sweep costs no more than the growth that led to it.
            self.sweep_at = 2 * self.strings.len();
        }
        let string: Arc<str> = text.into();
        self.strings.insert(Arc::clone(&string));
        string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one() {
        let mut interner = Interner::default();
        assert!(Arc::ptr_eq(&interner.intern("a"), &interner.intern("a")));
        assert!(!Arc::ptr_eq(&interner.intern("a"), &interner.intern("b")));
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let mut interner = Interner::default();
        let held: Vec<_> = (0..100).map(|i| interner.intern(&format!("held-{i}"))).collect();
        for i in 0..100_000 {
            interner.intern(&i.to_string());
        }
        assert!(interner.strings.len() <= SMALLEST_SWEEP, "{}", interner.strings.len());
        assert!(Arc::ptr_eq(&interner.intern("held-7"), &held[7]));
    }
}
