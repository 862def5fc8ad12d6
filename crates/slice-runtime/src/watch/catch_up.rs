//! Catching up at the beginning of a term of leadership.
//!
//! A standby's view may be older than the slices that the leader before has written. So the engine decides nothing before every
//! watch has reached a version that was read after the term began.

use std::time::Duration;

/// The duration of a watch while a version has to be reached. The API server sends a bookmark 2 s before the end of a watch,
/// else about once a minute; with an object that changes rarely, only a bookmark shows that nothing was missed.
pub(super) const CATCH_UP_WATCH: Duration = Duration::from_secs(3);

/// Which term the watch has to catch up with.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    /// The last term with which it has caught up.
    reached: u64,
    target: Option<Target>,
}

/// A version to reach.
#[derive(Clone, Copy, Debug)]
struct Target {
    term: u64,
    /// None if it is not a number: only a list shows then that it was reached.
    version: Option<u64>,
}

impl CatchUp {
    /// The present term, if no version has been read in it yet.
    pub(crate) fn unread_term(&self, term: Option<u64>) -> Option<u64> {
        term.filter(|term| *term > self.last_term())
    }

    /// The last term in which a version was read.
    pub(crate) fn last_term(&self) -> u64 {
        self.target.map_or(self.reached, |target| target.term)
    }

    /// This version was read after the term began. Returns whether a list is needed to reach it.
    pub(crate) fn set_target(&mut self, term: u64, version: &str) -> bool {
        let version = version.parse().ok();
        self.target = Some(Target { term, version });
        version.is_none()
    }

    /// Whether a version has to be reached.
    pub(crate) fn is_pending(&self) -> bool {
        self.target.is_some()
    }

    /// The watch has reached this version. Returns the term with which it has caught up by that.
    pub(crate) fn advance(&mut self, version: Option<&str>) -> Option<u64> {
        let target = self.target?;
        let reached: u64 = version?.parse().ok()?;
        (reached >= target.version?).then(|| self.finish(target.term))
    }

    /// A list that began after the version was read is complete. Returns the term with which the watch has caught up by that.
    pub(crate) fn complete_list(&mut self) -> Option<u64> {
        self.target.map(|target| self.finish(target.term))
    }

    /// Ends the catching up with a term. Returns it.
    pub(crate) fn finish(&mut self, term: u64) -> u64 {
        self.target = None;
        self.reached = term;
        term
    }

    /// resourceVersions went back: a version has to be read again.
    pub(crate) fn start_epoch(&mut self) {
        self.target = None;
    }
}
