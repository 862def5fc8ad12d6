//! Report and history file.

use std::io::BufReader;

use slice_oracle::{CheckConfig, Event, History, Verb, assert_clean, verify};

use crate::fixtures::{pod, pod_a};
use crate::harness::config;
use crate::services::valid;

#[test]
fn a_report_counts_revisions_writes_and_checks() {
    let report = verify(&valid().history, &config());
    assert_eq!(
        report.to_string(),
        "3 revisions of slices: 1 creates, 2 updates\n\
         at the end 1 slices with 2 endpoints\n\
         checked: I1 4, I2 3, I3 9, I6 5, I7 8; no violations"
    );
    assert_eq!(
        report,
        assert_clean(&valid().history, &config(), env!("CARGO_TARGET_TMPDIR"))
    );
}

#[test]
fn a_history_is_equal_after_write_and_read() {
    let mut harness = valid();
    harness
        .mark(slice_oracle::Window::NoWrites)
        .delete(&pod_a())
        .record_manual_write(&pod_a());
    let mut file = Vec::new();
    harness.history.write(&mut file).unwrap();
    assert_eq!(History::read(BufReader::new(&file[..])).unwrap(), harness.history);

    let invalid = String::from_utf8(file).unwrap().replacen("LISTED", "LOST", 1);
    let error = History::read(invalid.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "cannot parse line 1 of the history");
}

/// Watches of different resources are not synchronized; the history has the order of the store.
#[test]
fn a_late_event_is_inserted_by_its_revision() {
    let harness = valid();
    let mut late = History::default();
    for entry in harness.history.entries().iter().rev() {
        late.push(entry.clone());
    }
    let revisions = |history: &History| -> Vec<_> {
        let later = history.events().filter(|event| event.verb() != Verb::Listed);
        later.map(Event::revision).collect()
    };
    assert_eq!(revisions(&late), revisions(&harness.history));
    assert_eq!(verify(&late, &config()), verify(&harness.history, &config()));
}

#[test]
fn assert_clean_lists_violations_and_writes_the_history_to_a_file() {
    let mut harness = valid();
    harness.put(pod("c", "node-a", 3));
    let directory = tempfile::tempdir().unwrap();
    let check = || assert_clean(&harness.history, &CheckConfig::default(), directory.path());
    let panic = std::panic::catch_unwind(check).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("violated: I1\n  I1 Service ns/web (IPv4) at 110: expected pod c"),
        "{message}"
    );
    let (_, path) = message.rsplit_once("the history is in ").unwrap();
    let kept = History::read(BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    assert_eq!(kept, harness.history);
}
