//! Answers of reviews, each kept for some seconds.

use std::{collections::HashMap, sync::Arc};

use tokio::{
    sync::OnceCell,
    time::{Duration, Instant},
};

/// How long an answer is used, as in kube-controller-manager.
pub(super) const TTL: Duration = Duration::from_secs(10);
/// Maximum number of answers. A few clients have one each; random tokens have many.
pub(super) const MAX_ANSWERS: usize = 1024;

/// A keyed hash of what was asked.
pub(super) type Digest = [u8; 32];

/// An answer, once there is one, and when it was asked for. Requests that ask the same share it.
pub(super) type Cell<V> = Arc<OnceCell<(V, Instant)>>;

/// Answers by the digest of what was asked.
#[derive(Debug)]
pub(super) struct AnswerCache<V> {
    cells: HashMap<Digest, Entry<V>>,
}

#[derive(Debug)]
struct Entry<V> {
    cell: Cell<V>,
    added_at: Instant,
}

impl<V> Default for AnswerCache<V> {
    fn default() -> Self {
        Self { cells: HashMap::new() }
    }
}

impl<V> AnswerCache<V> {
    /// The answer, or an empty cell for it if there is none yet or it is too old.
    pub(super) fn cell(&mut self, digest: Digest, now: Instant) -> Cell<V> {
        let is_usable = |entry: &Entry<V>| match entry.cell.get() {
            Some((_, asked_at)) => now.saturating_duration_since(*asked_at) < TTL,
            None => true,
        };
        if let Some(entry) = self.cells.get(&digest).filter(|entry| is_usable(entry)) {
            return Arc::clone(&entry.cell);
        }
        if self.cells.len() >= MAX_ANSWERS {
            self.cells
                .retain(|_, entry| entry.cell.initialized() && is_usable(entry));
        }
        if self.cells.len() >= MAX_ANSWERS
            && let Some((&oldest, _)) = self.cells.iter().min_by_key(|(_, entry)| entry.added_at)
        {
            self.cells.remove(&oldest);
        }
        let cell = Cell::default();
        let entry = Entry {
            cell: Arc::clone(&cell),
            added_at: now,
        };
        self.cells.insert(digest, entry);
        cell
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        let mut digest = Digest::default();
        digest[..8].copy_from_slice(&number.to_le_bytes());
        digest
    }

    #[test]
    fn an_answer_is_used_for_its_time() {
        let (mut cache, start) = (AnswerCache::default(), Instant::now());
        let cell = cache.cell(digest(1), start);
        assert!(
            Arc::ptr_eq(&cell, &cache.cell(digest(1), start + TTL * 2)),
            "a review in flight is shared"
        );
        cell.set(("yes", start)).unwrap();
        let just_before = start + TTL - Duration::from_millis(1);
        assert_eq!(cache.cell(digest(1), just_before).get().unwrap().0, "yes");
        assert!(cache.cell(digest(2), start).get().is_none());
        assert!(cache.cell(digest(1), start + TTL).get().is_none(), "too old");
    }

    #[test]
    fn old_answers_make_room_and_then_the_oldest_one() {
        let (mut cache, start) = (AnswerCache::default(), Instant::now());
        for number in 0..MAX_ANSWERS {
            let asked_at = start + Duration::from_millis(number as u64);
            cache.cell(digest(number), asked_at).set((number, asked_at)).unwrap();
        }
        let now = start + Duration::from_secs(2);
        cache.cell(digest(MAX_ANSWERS), now).set((MAX_ANSWERS, now)).unwrap();
        assert_eq!(cache.len(), MAX_ANSWERS);
        assert!(cache.cell(digest(1), now).get().is_some());
        // Of the first thousand answers, those of 0.5 s are too old now.
        let now = start + TTL + Duration::from_millis(500);
        cache.cell(digest(MAX_ANSWERS + 1), now);
        assert_eq!(cache.len(), MAX_ANSWERS - 500 + 1);
        assert!(cache.cell(digest(501), now).get().is_some());
    }
}
