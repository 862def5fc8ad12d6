//! Comparison of an owner's sources with those of the last commit.

use std::{collections::HashMap, iter, sync::Arc};

use jiff::Timestamp;

/// How many committed sources are skipped at most to find the next one, when sources were removed.
const LOOKAHEAD: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceTime {
    pub(super) id: Arc<str>,
    pub(super) time: Timestamp,
}

/// The change from the committed sources to the current ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Diff {
    /// The same sources in the same order: the changed times, by position.
    Times(Vec<(usize, Timestamp)>),
    /// Other sources, or another order: all current ones.
    Sources(Vec<SourceTime>),
}

impl Diff {
    pub(super) fn apply(self, sources: &mut Vec<SourceTime>) {
        match self {
            Self::Times(times) => {
                for (position, time) in times {
                    sources[position].time = time;
                }
            }
            Self::Sources(current) => *sources = current,
        }
    }
}

/// Returns the earliest of the times that are later than committed, and the diff.
pub(super) fn compare<'s>(
    committed: &[SourceTime],
    current: impl IntoIterator<Item = (&'s str, Timestamp)>,
) -> (Option<Timestamp>, Diff) {
    let mut current = current.into_iter();
    let mut earliest = None;
    let mut times = Vec::new();
    for (position, known) in committed.iter().enumerate() {
        match current.next() {
            Some((id, time)) if *id == *known.id => {
                if time != known.time {
                    times.push((position, time));
                    update_earliest(&mut earliest, time, Some(known));
                }
            }
            other => {
                let mut sources = committed[..position].to_vec();
                Diff::Times(times).apply(&mut sources);
                rematch(
                    &committed[position..],
                    other.into_iter().chain(current),
                    &mut sources,
                    &mut earliest,
                );
                return (earliest, Diff::Sources(sources));
            }
        }
    }
    let Some(first_new) = current.next() else {
        return (earliest, Diff::Times(times));
    };
    let mut sources = committed.to_vec();
    Diff::Times(times).apply(&mut sources);
    rematch(&[], iter::once(first_new).chain(current), &mut sources, &mut earliest);
    (earliest, Diff::Sources(sources))
}

/// Appends the current sources to `sources`. Usually a few were added or removed and the others keep their order: each is
/// searched in the next committed ones, then by id among those that were skipped.
fn rematch<'s>(
    committed: &[SourceTime],
    current: impl Iterator<Item = (&'s str, Timestamp)>,
    sources: &mut Vec<SourceTime>,
    earliest: &mut Option<Timestamp>,
) {
    let mut ahead = committed;
    let mut skipped = Vec::new();
    let current: Vec<_> = current
        .map(|(id, time)| {
            let position = ahead.iter().take(LOOKAHEAD + 1).position(|known| *known.id == *id);
            let known = position.map(|position| {
                skipped.extend(&ahead[..position]);
                let known = &ahead[position];
                ahead = &ahead[position + 1..];
                known
            });
            (id, time, known)
        })
        .collect();
    let skipped_by_id: HashMap<&str, &SourceTime> = skipped
        .into_iter()
        .chain(ahead)
        .map(|known| (&*known.id, known))
        .collect();
    sources.extend(current.into_iter().map(|(id, time, near)| {
        let known = near.or_else(|| skipped_by_id.get(id).copied());
        update_earliest(earliest, time, known);
        SourceTime {
            id: known.map_or_else(|| id.into(), |known| Arc::clone(&known.id)),
            time,
        }
    }));
}

/// Lowers `earliest` to this time, if the source is new or its time grew.
fn update_earliest(earliest: &mut Option<Timestamp>, time: Timestamp, known: Option<&SourceTime>) {
    if known.is_none_or(|known| time > known.time) {
        *earliest = Some(earliest.map_or(time, |earlier| earlier.min(time)));
    }
}
