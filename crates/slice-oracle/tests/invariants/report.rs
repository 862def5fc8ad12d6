//! What a test and a person get to see.

use std::io::BufReader;

use slice_oracle::{Event, History, Limits, Verb, assert_clean, verify};

use crate::fixtures::{pod, pod_a};
use crate::harness::limits;
use crate::services::good;

#[test]
fn a_report_counts_what_was_looked_at() {
    let report = verify(&good().history, &limits());
    assert_eq!(
        report.to_string(),
        "3 revisions of slices: 1 creates, 2 updates\n\
         at the end 1 slices with 2 endpoints\n\
         checked: I1 4, I2 3, I3 9, I6 5, I7 8; nothing is wrong"
    );
    assert_eq!(
        report,
        assert_clean(&good().history, &limits(), env!("CARGO_TARGET_TMPDIR"))
    );
}

#[test]
fn a_history_survives_being_written_and_read() {
    let mut harness = good();
    harness
        .mark(slice_oracle::Window::NoWrites)
        .delete(&pod_a())
        .by_hand(&pod_a());
    let mut file = Vec::new();
    harness.history.write(&mut file).unwrap();
    assert_eq!(History::read(BufReader::new(&file[..])).unwrap(), harness.history);

    let spoiled = String::from_utf8(file).unwrap().replacen("LISTED", "LOST", 1);
    let error = History::read(spoiled.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "line 1 of the history cannot be read");
}

/// Watches of several resources are not in step; the store's order is what counts.
#[test]
fn what_is_seen_late_is_put_where_it_belongs() {
    let harness = good();
    let mut late = History::default();
    for entry in harness.history.entries().iter().rev() {
        late.push(entry.clone());
    }
    let revisions = |history: &History| -> Vec<_> {
        let later = history.events().filter(|event| event.verb() != Verb::Listed);
        later.map(Event::revision).collect()
    };
    assert_eq!(revisions(&late), revisions(&harness.history));
    assert_eq!(verify(&late, &limits()), verify(&harness.history, &limits()));
}

#[test]
fn a_failing_test_says_what_is_wrong_and_keeps_the_history() {
    let mut harness = good();
    harness.put(pod("c", "node-a", 3));
    let directory = tempfile::tempdir().unwrap();
    let check = || assert_clean(&harness.history, &Limits::default(), directory.path());
    let panic = std::panic::catch_unwind(check).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("broken: I1\n  I1 Service ns/web (IPv4) at 110: expected pod c"),
        "{message}"
    );
    let (_, path) = message.rsplit_once("the history is in ").unwrap();
    let kept = History::read(BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    assert_eq!(kept, harness.history);
}
