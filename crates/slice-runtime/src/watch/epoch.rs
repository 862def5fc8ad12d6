//! Detection of resourceVersions that went back, because etcd was restored from an older copy (F14).
//!
//! A watch from a resourceVersion that the server has not reached yet is silent: no event, no bookmark, no error. A list without
//! a resourceVersion is a consistent read, which no stale server can serve. So the reflector probes with such a list: a version
//! below one that was seen before the probe was sent proves that versions went back.
//!
//! The restored server writes as well, so that its versions may have passed the one that was seen before the probe. So the
//! probe after a watch that ended early, as a restore ends it, also reads the newest object that was seen until then: if versions
//! went back, the last change of that object is among those that were lost.

use std::{collections::VecDeque, num::NonZeroU64, time::Duration};

use futures::future::BoxFuture;
use slice_controller::ObjectRef;
use tokio::time::Instant;

use crate::client::RequestError;

/// The shortest interval of probes. A random part of `INTERVAL_JITTER` is added. Together with the delays below, versions that
/// went back are detected within a minute even if the connection was not lost.
const INTERVAL: Duration = Duration::from_secs(40);
const INTERVAL_JITTER: Duration = Duration::from_secs(10);
/// The delay of a probe when something indicates that versions may have gone back; as much again is added at random.
const SOON: Duration = Duration::from_secs(2);
/// The delay of a probe after one that failed or lacked the newest object.
const RETRY: Duration = Duration::from_secs(10);
/// The delay of the second read that confirms the first; as much again is added at random.
const CONFIRMATION: Duration = Duration::from_secs(1);

/// Objects that wait to be read. If there are more, the last one makes room.
const MAX_OBJECTS: usize = 4;

/// The response to a probe.
pub(super) type ProbeResponse = BoxFuture<'static, Result<ConsistentRead, RequestError>>;

/// A consistent read of at most one object.
#[derive(Debug)]
pub(super) struct ConsistentRead {
    /// The current resourceVersion.
    pub(super) version: Box<str>,
    /// The object, if it exists.
    pub(super) object: Option<ObjectRef>,
}

/// The object with the highest numeric resourceVersion that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewestObject {
    pub(super) object: ObjectRef,
    version: u64,
    deleted: bool,
}

impl NewestObject {
    /// Replaces the newest object if this one is newer, or as new.
    pub(super) fn update(newest: &mut Option<Self>, object: &ObjectRef, deleted: bool) {
        let Ok(version) = object.resource_version.parse() else {
            return;
        };
        if newest.as_ref().is_none_or(|newest| newest.version <= version) {
            let object = object.clone();
            *newest = Some(Self {
                object,
                version,
                deleted,
            });
        }
    }

    /// Replaces this object by a newer version of it.
    fn see(&mut self, object: &ObjectRef, deleted: bool) {
        let mut newest = Some(self.clone());
        Self::update(&mut newest, object, deleted);
        *self = newest.expect("an update leaves an object");
    }

    /// Whether this is the same object in an older version, or from before its deletion.
    pub(super) fn contradicts(&self, object: &ObjectRef) -> bool {
        self.has_name_of(object) && is_below(&object.resource_version, self.version)
    }

    fn has_name_of(&self, object: &ObjectRef) -> bool {
        (&object.namespace, &object.name) == (&self.object.namespace, &self.object.name)
    }
}

/// What was seen in this epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The highest numeric resourceVersion; others cannot be compared. Never 0, which means any version.
    pub(super) highest: Option<NonZeroU64>,
    pub(super) newest: Option<NewestObject>,
}

/// How a consistent read compares with what was seen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It is not older.
    Current,
    /// It is older: resourceVersions went back.
    Older,
    /// It lacks the newest object: versions went back, or the watch has yet to show the deletion.
    Missing,
}

impl Seen {
    pub(super) fn compare(&self, read: &ConsistentRead) -> Comparison {
        if self
            .highest
            .is_some_and(|highest| is_below(&read.version, highest.get()))
        {
            return Comparison::Older;
        }
        match (&self.newest, &read.object) {
            (Some(newest), Some(object)) if newest.contradicts(object) => Comparison::Older,
            (Some(newest), None) if !newest.deleted => Comparison::Missing,
            _ => Comparison::Current,
        }
    }
}

/// The schedule of probes, and the probe in flight.
pub(super) struct EpochProbe {
    due: Instant,
    in_flight: Option<InFlight>,
    /// The objects to read, one per probe, as they were last seen; the first one is next.
    objects: VecDeque<NewestObject>,
    /// Whether the last probe lacked the first object, which has not changed since.
    missing: bool,
}

struct InFlight {
    /// What was seen before the probe was sent.
    seen: Seen,
    response: ProbeResponse,
}

impl EpochProbe {
    pub(super) fn new() -> Self {
        Self {
            due: Instant::now() + interval(),
            in_flight: None,
            objects: VecDeque::new(),
            missing: false,
        }
    }

    /// An object was created, updated or deleted.
    pub(super) fn see_object(&mut self, object: &ObjectRef, deleted: bool) {
        for (index, own) in self.objects.iter_mut().enumerate() {
            if own.has_name_of(object) {
                own.see(object, deleted);
                self.missing &= index > 0;
            }
        }
    }

    /// A list is complete, from which deletions were concluded that have no version.
    pub(super) fn see_list(&mut self) {
        self.in_flight = None;
        self.objects.clear();
        self.missing = false;
    }

    /// The object that the next probe reads.
    pub(super) fn object(&self) -> Option<&NewestObject> {
        self.objects.front()
    }

    /// Probes within some seconds, and reads the newest object of now, as well as those of earlier calls that no probe has read
    /// yet: versions may have gone back before or after any of them, and the events since are then those of a new epoch.
    pub(super) fn schedule_soon(&mut self, newest: Option<&NewestObject>) {
        self.due = self.due.min(Instant::now() + with_jitter(SOON));
        if let Some(newest) = newest
            && !self.objects.contains(newest)
        {
            self.objects.truncate(MAX_OBJECTS - 1);
            self.objects.push_back(newest.clone());
        }
    }

    /// Waits until a probe is due and sends it; returns whether versions went back compared with what was seen at that time.
    /// Nothing is lost if the future is dropped: the next call waits for the same probe.
    pub(super) async fn is_older(
        &mut self,
        highest: Option<NonZeroU64>,
        send: impl FnOnce(Option<ObjectRef>) -> ProbeResponse,
    ) -> bool {
        if self.in_flight.is_none() {
            tokio::time::sleep_until(self.due).await;
        }
        let newest = self.objects.front();
        let in_flight = self.in_flight.get_or_insert_with(|| InFlight {
            seen: Seen {
                highest,
                newest: newest.cloned(),
            },
            response: send(newest.map(|newest| newest.object.clone())),
        });
        let response = (&mut in_flight.response).await;
        let comparison = response.map(|read| in_flight.seen.compare(&read));
        let changed = in_flight.seen.newest.as_ref() != self.objects.front();
        self.in_flight = None;
        self.due = Instant::now() + RETRY;
        match comparison {
            Ok(Comparison::Current) => {
                self.objects.pop_front();
                self.missing = false;
                self.due = Instant::now()
                    + if self.objects.is_empty() {
                        interval()
                    } else {
                        Duration::ZERO
                    };
                false
            }
            Ok(Comparison::Older) => true,
            // The watch had the time between two probes to show the deletion.
            Ok(Comparison::Missing) => std::mem::replace(&mut self.missing, !changed) && !changed,
            Err(error) => {
                tracing::debug!(%error, "cannot read the current resourceVersion, retrying");
                false
            }
        }
    }
}

/// Whether a resourceVersion is a number below another.
pub(super) fn is_below(version: &str, seen: u64) -> bool {
    version.parse::<u64>().is_ok_and(|version| version < seen)
}

/// The delay before a further read confirms that versions went back.
pub(super) fn confirmation_delay() -> Duration {
    with_jitter(CONFIRMATION)
}

fn interval() -> Duration {
    INTERVAL + INTERVAL_JITTER.mul_f64(fastrand::f64())
}

fn with_jitter(delay: Duration) -> Duration {
    delay.mul_f64(1.0 + fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, version: &str) -> ObjectRef {
        ObjectRef {
            name: name.into(),
            resource_version: version.into(),
            ..ObjectRef::default()
        }
    }

    #[test]
    fn newest_object_shows_that_versions_went_back_and_passed_those_that_were_seen() {
        let compare = |deleted, version: &str, found: Option<&str>| {
            let mut seen = Seen {
                highest: NonZeroU64::new(7),
                newest: None,
            };
            for (name, version, deleted) in [("b", "6", false), ("a", "7", deleted), ("c", "5", false)] {
                NewestObject::update(&mut seen.newest, &object(name, version), deleted);
            }
            let object = found.map(|version| object("a", version));
            let version = version.into();
            seen.compare(&ConsistentRead { version, object })
        };
        assert_eq!(compare(false, "6", Some("7")), Comparison::Older);
        assert_eq!(compare(false, "9", Some("7")), Comparison::Current);
        assert_eq!(compare(false, "9", Some("8")), Comparison::Current);
        assert_eq!(compare(false, "9", Some("3")), Comparison::Older);
        assert_eq!(compare(false, "9", None), Comparison::Missing);
        assert_eq!(compare(true, "9", None), Comparison::Current);
        assert_eq!(compare(true, "9", Some("3")), Comparison::Older);
        assert_eq!(compare(true, "9", Some("8")), Comparison::Current);
    }

    /// A first sign was without a cause; then an object was written, and versions went back before the probe of the first sign.
    #[tokio::test(start_paused = true)]
    async fn objects_of_later_signs_are_read_as_well() {
        let newest = |name: &str, version: &str| {
            let mut newest = None;
            NewestObject::update(&mut newest, &object(name, version), false);
            newest
        };
        let mut probe = EpochProbe::new();
        probe.schedule_soon(newest("a", "7").as_ref());
        probe.schedule_soon(newest("b", "8").as_ref());
        probe.schedule_soon(newest("b", "8").as_ref());
        // The restored server has passed both versions, and lacks the last change of b.
        let read = |object: Option<ObjectRef>| -> ProbeResponse {
            let mut object = object.expect("an object is read");
            if *object.name == *"b" {
                object.resource_version = "6".into();
            }
            let version = "9".into();
            Box::pin(async move {
                Ok(ConsistentRead {
                    version,
                    object: Some(object),
                })
            })
        };
        let highest = NonZeroU64::new(8);
        let soon = Instant::now() + 2 * SOON;
        assert!(!probe.is_older(highest, read).await, "a is as it was seen");
        assert!(probe.is_older(highest, read).await, "b is older");
        assert!(Instant::now() <= soon, "no interval between them");
    }
}
