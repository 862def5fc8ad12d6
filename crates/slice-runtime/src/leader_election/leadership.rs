//! The state of leader election, as seen by those who may act for the leader only.

use tokio::sync::watch;

use super::{LeaseClock, Term};

/// What the candidate last published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Published {
    /// The first attempt to acquire the lease has not ended.
    #[default]
    Undecided,
    Standby,
    Leading(Term),
}

/// Whether this instance leads. Clones share the state.
///
/// The renew deadline of the term counts, not only what the candidate published: its task may be late.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    pub(super) published: watch::Receiver<Published>,
    pub(super) clock: LeaseClock,
}

impl Leadership {
    /// The number of the term; none if this instance does not lead.
    pub(crate) fn term(&self) -> Option<u64> {
        match *self.published.borrow() {
            Published::Leading(term) if self.clock.now() < term.deadline => Some(term.number),
            _ => None,
        }
    }

    /// Waits until the first attempt to acquire the lease has ended, so that a single instance starts its lists after it, and
    /// need not catch up again.
    pub(crate) async fn decided(&self) {
        let mut published = self.published.clone();
        let decided = published.wait_for(|published| *published != Published::Undecided);
        let ended = decided.await.is_err();
        if ended {
            // The candidate has ended, as at shutdown.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until this instance does not lead any more; returns at once if it does not lead.
    pub(crate) async fn lost(&self) {
        let mut published = self.published.clone();
        loop {
            let Published::Leading(term) = *published.borrow_and_update() else {
                return;
            };
            let now = self.clock.now();
            if now >= term.deadline {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(term.deadline.since(now)) => {}
                // Renewed, or lost. An error: the candidate has ended, and the deadline stays.
                Ok(()) = published.changed() => {}
            }
        }
    }

    /// Waits for a term after this one.
    pub(crate) async fn next_term(&self, after: u64) -> u64 {
        let mut published = self.published.clone();
        loop {
            // A term that has ended may still be published, while the candidate waits for a response.
            match *published.borrow_and_update() {
                Published::Leading(term) if term.number > after && self.clock.now() < term.deadline => {
                    return term.number;
                }
                _ => {}
            }
            if published.changed().await.is_err() {
                // The candidate has ended, as at shutdown.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until the term is another one than this, or none.
    pub(crate) async fn changed(&self, term: Option<u64>) {
        match term {
            // The candidate acquires no lease before the runner has ended the term.
            Some(_) => self.lost().await,
            None => drop(self.next_term(0).await),
        }
    }
}
