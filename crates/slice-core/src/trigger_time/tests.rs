//! Tests of the trigger-time tracker.

use super::*;

const KEY: &str = "default/web";

type Pods<'a> = &'a [(&'a str, i64)];

/// t0 < t1 < …, one second apart.
fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn compute(times: &TriggerTimeTracker<&'static str>, owner: i64, pods: Pods<'_>) -> PendingTriggerTime<&'static str> {
    times.compute(
        &KEY,
        Some(t(owner)),
        pods.iter().map(|(name, second)| (*name, t(*second))),
    )
}

/// Computes and commits.
fn sync(times: &mut TriggerTimeTracker<&'static str>, owner: i64, pods: Pods<'_>) -> Option<Timestamp> {
    let pending = compute(times, owner, pods);
    let time = pending.time();
    times.commit(pending);
    time
}

#[test]
fn trigger_time_is_the_earliest_time_that_grew() {
    // Each sync: the owner's time, its pods, the result.
    type Sync = (i64, Pods<'static>, Option<i64>);
    let rows: [(&str, &[Sync]); 10] = [
        ("T-TRG-01 T-TTT-01: new owner", &[(2, &[], Some(2))]),
        (
            "T-TRG-02 T-TTT-02: new owner with pods",
            &[(3, &[("p1", 0), ("p2", 1), ("p3", 5)], Some(3))],
        ),
        (
            "T-TRG-03 T-TTT-03: pods appear",
            &[(0, &[], Some(0)), (0, &[("p1", 2), ("p2", 1)], Some(1))],
        ),
        (
            "T-TRG-04 T-TTT-04: pods change",
            &[
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], Some(0)),
                (0, &[("p1", 5), ("p2", 4), ("p3", 3)], Some(4)),
            ],
        ),
        (
            "T-TRG-05 T-TTT-05: nothing changes",
            &[
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], Some(0)),
                (0, &[("p1", 1), ("p2", 2), ("p3", 3)], None),
            ],
        ),
        (
            "T-TRG-06 T-TTT-06: a pod is deleted and created again",
            &[
                (0, &[("p1", 1), ("p2", 2)], Some(0)),
                (0, &[("p1", 1)], None),
                (0, &[("p1", 1), ("p2", 4)], Some(4)),
            ],
        ),
        (
            "T-TRG-08 T-TTT-08: ports of the owner change (R113)",
            &[(0, &[("p1", 1)], Some(0)), (0, &[("p1", 1)], None)],
        ),
        (
            "R111: a pod that was missing in between is new",
            &[(0, &[("p1", 1)], Some(0)), (0, &[], None), (0, &[("p1", 1)], Some(1))],
        ),
        (
            "R111: an older time is committed, but no trigger time",
            &[
                (3, &[("p1", 5)], Some(3)),
                (2, &[("p1", 4)], None),
                (3, &[("p1", 5)], Some(3)),
            ],
        ),
        (
            "R111: the owner's time is compared with those of pods",
            &[(0, &[("p1", 1)], Some(0)), (3, &[("p1", 4)], Some(3))],
        ),
    ];
    for (id, syncs) in rows {
        let mut times = TriggerTimeTracker::new();
        for (owner, pods, expected) in syncs {
            assert_eq!(sync(&mut times, *owner, pods), expected.map(t), "{id}");
        }
    }
}

/// An unknown owner starts with its own time: after a restart, or when it was deleted and created again (R114, R116, T-TRG-07,
/// T-TTT-07).
#[test]
fn forgotten_owner_is_new_again() {
    let mut times = TriggerTimeTracker::new();
    assert_eq!(sync(&mut times, 0, &[("p1", 1), ("p2", 2)]), Some(t(0)));
    times.forget(&KEY);
    assert!(times.is_empty());
    assert_eq!(sync(&mut times, 3, &[]), Some(t(3)));
}

/// Upstream loses the trigger time of a failed write (G-15, W17).
#[test]
fn retry_after_a_failed_write_keeps_the_trigger_time() {
    let mut times = TriggerTimeTracker::new();
    assert_eq!(
        compute(&times, 0, &[("p1", 1)]).time(),
        Some(t(0)),
        "first sync, failed"
    );
    assert_eq!(sync(&mut times, 0, &[("p1", 1)]), Some(t(0)), "retry");

    assert_eq!(compute(&times, 0, &[("p1", 5)]).time(), Some(t(5)), "failed");
    assert_eq!(
        sync(&mut times, 0, &[("p1", 5), ("p2", 6)]),
        Some(t(5)),
        "retry with a further pod"
    );
    assert_eq!(sync(&mut times, 0, &[("p1", 5), ("p2", 6)]), None);
}

#[test]
fn commit_is_ignored_after_another_commit_or_forget() {
    let mut times = TriggerTimeTracker::new();
    let late = compute(&times, 0, &[("p1", 1), ("p2", 2)]);
    sync(&mut times, 0, &[("p1", 1)]);
    times.commit(late);
    assert_eq!(compute(&times, 0, &[("p1", 1), ("p2", 2)]).time(), Some(t(2)));

    let late = compute(&times, 0, &[("p1", 9), ("p2", 9)]);
    sync(&mut times, 0, &[("p2", 3)]);
    times.commit(late);
    assert_eq!(compute(&times, 0, &[("p2", 9)]).time(), Some(t(9)));

    let late = compute(&times, 0, &[("p1", 7)]);
    times.forget(&KEY);
    times.commit(late);
    assert!(times.is_empty());
}

#[test]
fn owners_are_independent() {
    let mut times = TriggerTimeTracker::new();
    sync(&mut times, 0, &[("p1", 1)]);
    assert_eq!(
        times.compute(&"default/other", Some(t(4)), [("p1", t(1))]).time(),
        Some(t(4))
    );
    assert_eq!(times.len(), 1);
}

#[test]
fn owner_without_a_time_uses_its_sources_only() {
    let mut times = TriggerTimeTracker::new();
    let first = times.compute(&KEY, None, [("p1", t(1))]);
    assert_eq!(first.time(), None);
    times.commit(first);
    assert_eq!(times.compute(&KEY, None, [("p1", t(2))]).time(), Some(t(2)));
    assert_eq!(times.compute(&KEY, Some(t(0)), [("p1", t(1))]).time(), Some(t(0)));
}

/// Sources in the committed order are neither copied nor hashed, however many there are.
#[test]
fn diff_of_sources_in_the_same_order_has_only_changed_times() {
    let names: Vec<_> = (0..50_000).map(|n| format!("pod-{n}")).collect();
    let pods = |changed: usize| {
        names
            .iter()
            .enumerate()
            .map(move |(n, name)| (&**name, t(i64::from(n == changed))))
    };
    let mut times = TriggerTimeTracker::new();
    times.commit(times.compute(&KEY, Some(t(0)), pods(usize::MAX)));

    let unchanged = times.compute(&KEY, Some(t(0)), pods(usize::MAX));
    assert_eq!((unchanged.time(), unchanged.diff), (None, Diff::Times(Vec::new())));
    let changed = times.compute(&KEY, Some(t(0)), pods(25_000));
    assert_eq!(
        (changed.time(), &changed.diff),
        (Some(t(1)), &Diff::Times(vec![(25_000, t(1))]))
    );
    times.commit(changed);
    assert_eq!(times.compute(&KEY, Some(t(0)), pods(25_000)).time(), None);
}

/// All changes between ordered subsets of four pods, compared with the definition (R111).
#[test]
fn order_of_sources_does_not_matter() {
    let lists = ordered_subsets(&["a", "b", "c", "d"]);
    assert_eq!(lists.len(), 65);
    for before in &lists {
        for after in &lists {
            let mut times = TriggerTimeTracker::new();
            times.commit(times.compute(&KEY, Some(t(0)), before.iter().map(|name| (*name, t(9)))));
            // "a" has a later time than before, "b" an earlier one.
            let current = || {
                after
                    .iter()
                    .map(|name| (*name, t(if *name == "a" { 20 } else { i64::from(*name != "b") + 8 })))
            };
            let expected = current()
                .filter(|(name, time)| !before.contains(name) || *time > t(9))
                .map(|(_, time)| time)
                .min();

            let pending = times.compute(&KEY, Some(t(0)), current());
            assert_eq!(pending.time(), expected, "{before:?} to {after:?}");
            times.commit(pending);
            let committed: Vec<_> = times.owners[KEY]
                .sources
                .iter()
                .map(|source| (&*source.id, source.time))
                .collect();
            assert_eq!(committed, current().collect::<Vec<_>>(), "{before:?} to {after:?}");
        }
    }
}

/// More consecutive sources are removed than the lookahead skips.
#[test]
fn source_beyond_the_lookahead_is_found() {
    let names: Vec<_> = (0..40).map(|n| format!("pod-{n}")).collect();
    let mut times = TriggerTimeTracker::new();
    times.commit(times.compute(&KEY, Some(t(0)), names.iter().map(|name| (&**name, t(1)))));
    let second_half = times.compute(&KEY, Some(t(0)), names[20..].iter().map(|name| (&**name, t(1))));
    assert_eq!(second_half.time(), None);
    let reversed = times.compute(&KEY, Some(t(0)), names.iter().rev().map(|name| (&**name, t(1))));
    assert_eq!(reversed.time(), None);
}

/// All subsets of the names in all orders.
fn ordered_subsets<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut lists = vec![Vec::new()];
    for (n, first) in names.iter().enumerate() {
        let others: Vec<_> = names
            .iter()
            .enumerate()
            .filter(|(m, _)| *m != n)
            .map(|(_, name)| *name)
            .collect();
        lists.extend(
            ordered_subsets(&others)
                .into_iter()
                .map(|rest| [vec![*first], rest].concat()),
        );
    }
    lists
}
