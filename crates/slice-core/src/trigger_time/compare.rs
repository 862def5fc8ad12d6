//! The sources of an owner, compared with those of the last sync.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

/// So many remembered sources are passed over to find the one at hand again, when some before it have vanished.
const VANISHED_IN_A_ROW: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) id: Arc<str>,
    pub(super) time: Timestamp,
}

/// How to get from the remembered sources to those seen now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The same sources in the same order; these, by position, have other times.
    Times(Vec<(usize, Timestamp)>),
    /// Other sources, or another order.
    Sources(Vec<Source>),
}

impl Change {
    pub(super) fn apply(self, sources: &mut Vec<Source>) {
        match self {
            Self::Times(times) => {
                for (position, time) in times {
                    sources[position].time = time;
                }
            }
            Self::Sources(seen) => *sources = seen,
        }
    }
}

/// The earliest of the times that are later than remembered, and what changed.
pub(super) fn compare<'s>(
    remembered: &[Source],
    seen: impl IntoIterator<Item = (&'s str, Timestamp)>,
) -> (Option<Timestamp>, Change) {
    let mut seen = seen.into_iter();
    let mut earliest = None;
    let mut times = Vec::new();
    for (position, known) in remembered.iter().enumerate() {
        match seen.next() {
            Some((id, time)) if *id == *known.id => {
                if time != known.time {
                    times.push((position, time));
                    note(&mut earliest, time, Some(known));
                }
            }
            other => {
                let mut sources = remembered[..position].to_vec();
                Change::Times(times).apply(&mut sources);
                rematch(
                    &remembered[position..],
                    other.into_iter().chain(seen),
                    &mut sources,
                    &mut earliest,
                );
                return (earliest, Change::Sources(sources));
            }
        }
    }
    let Some(first_new) = seen.next() else {
        return (earliest, Change::Times(times));
    };
    let mut sources = remembered.to_vec();
    Change::Times(times).apply(&mut sources);
    rematch(&[], std::iter::once(first_new).chain(seen), &mut sources, &mut earliest);
    (earliest, Change::Sources(sources))
}

/// Appends what is seen to `sources`. Mostly a few came or went and the rest is in the old order; so only those that are
/// not found nearby are looked up, and only among those that were passed over.
fn rematch<'s>(
    remembered: &[Source],
    seen: impl Iterator<Item = (&'s str, Timestamp)>,
    sources: &mut Vec<Source>,
    earliest: &mut Option<Timestamp>,
) {
    let mut ahead = remembered;
    let mut passed = Vec::new();
    let seen: Vec<_> = seen
        .map(|(id, time)| {
            let near = ahead
                .iter()
                .take(VANISHED_IN_A_ROW + 1)
                .position(|known| *known.id == *id);
            let known = near.map(|skipped| {
                passed.extend(&ahead[..skipped]);
                let known = &ahead[skipped];
                ahead = &ahead[skipped + 1..];
                known
            });
            (id, time, known)
        })
        .collect();
    let elsewhere: HashMap<&str, &Source> = passed
        .into_iter()
        .chain(ahead)
        .map(|known| (&*known.id, known))
        .collect();
    sources.extend(seen.into_iter().map(|(id, time, near)| {
        let known = near.or_else(|| elsewhere.get(id).copied());
        note(earliest, time, known);
        Source {
            id: known.map_or_else(|| id.into(), |known| Arc::clone(&known.id)),
            time,
        }
    }));
}

fn note(earliest: &mut Option<Timestamp>, time: Timestamp, known: Option<&Source>) {
    if known.is_none_or(|known| time > known.time) {
        *earliest = Some(earliest.map_or(time, |earlier| earlier.min(time)));
    }
}
