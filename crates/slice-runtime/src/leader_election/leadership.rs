//! The state of leader election, as seen by those who may act for the leader only.

use tokio::sync::watch;

use super::{LeaseClock, LeaseTime, Term};

/// What the candidate last published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Published {
    /// The first attempt to acquire the lease has not ended.
    #[default]
    Undecided,
    Standby {
        /// The number of terms so far.
        terms: u64,
    },
    Leading(Term),
}

impl Published {
    /// The term at this time: its renew deadline counts, since the candidate may be late to publish the end (I8).
    pub(crate) fn term(self, now: LeaseTime) -> Option<Term> {
        match self {
            Self::Leading(term) if now < term.deadline => Some(term),
            _ => None,
        }
    }

    /// The number of the last term, which may have ended.
    pub(crate) fn last_term(self) -> u64 {
        match self {
            Self::Undecided => 0,
            Self::Standby { terms } => terms,
            Self::Leading(term) => term.number,
        }
    }
}

/// Whether this instance leads. Clones share the state.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    pub(super) published: watch::Receiver<Published>,
    pub(super) clock: LeaseClock,
}

impl Leadership {
    /// The number of the term; none if this instance does not lead.
    pub(crate) fn term(&self) -> Option<u64> {
        let published = *self.published.borrow();
        published.term(self.clock.now()).map(|term| term.number)
    }

    /// The number of the term; else that of the last one, which has ended.
    pub(crate) fn term_or_last(&self) -> Result<u64, u64> {
        // Read once: the candidate may publish another term meanwhile.
        let published = *self.published.borrow();
        let term = published.term(self.clock.now()).map(|term| term.number);
        term.ok_or(published.last_term())
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
            let state = *published.borrow_and_update();
            let now = self.clock.now();
            let Some(term) = state.term(now) else { return };
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
            let state = *published.borrow_and_update();
            if let Some(term) = state.term(self.clock.now()).filter(|term| term.number > after) {
                return term.number;
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
