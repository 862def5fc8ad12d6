//! Labels, annotations and other metadata of slices.

use slice_core::{validation::is_label_value, well_known::TRIGGER_TIME_ANNOTATION};
use slice_reconciler::{Annotations, TriggerTime, label_value};

use crate::{
    fixtures::{existing_slices, map, pod, pods, policy, port},
    harness::{Harness, order},
};

/// Metadata of other clients is preserved by an update and by reuse for other ports (T-GX-09, G36, W24).
#[test]
fn t_gx_09_metadata_of_other_clients_is_preserved() {
    for ports in [port(80), port(81)] {
        let mut existing = existing_slices(&[&pods(0..2)], &port(80));
        let metadata = &mut existing[0].metadata;
        metadata.annotations = Some(map(&[("example.com/theirs", "yes")]));
        metadata.finalizers = Some(vec!["example.com/finalizer".into()]);
        metadata.resource_version = Some("7".into());
        let mut harness = Harness::of(&ports, [pod(0, true), pod(1, false)]).with(existing);
        assert_eq!(order(&harness.sync()), "u");
        let metadata = &harness.existing[0].metadata;
        assert_eq!(metadata.annotations, Some(map(&[("example.com/theirs", "yes")])));
        assert_eq!(metadata.finalizers, Some(vec!["example.com/finalizer".into()]));
        assert_eq!(
            metadata.resource_version.as_deref(),
            Some("7"),
            "every update has a precondition (I8)"
        );
    }
}

/// A long owner name is shortened in the label and complete in an annotation, which is restored when it is removed
/// (T-GX-10, G38).
#[test]
fn t_gx_10_an_owner_with_a_long_name() {
    let name = "a".repeat(200);
    for annotations in [Annotations::Preserve, Annotations::Replace(map(&[("b", "c")]))] {
        let mut harness = Harness::of(&port(80), pods(0..1));
        harness.owner.name = &name;
        harness.policy.annotations = annotations;
        harness.policy.set_owner_label("example.com/pool", &name);
        assert_eq!(
            (order(&harness.sync()).as_str(), order(&harness.sync()).as_str()),
            ("c", "")
        );
        let metadata = &mut harness.existing[0].metadata;
        let label = &metadata.labels.as_ref().unwrap()["example.com/pool"];
        assert!(is_label_value(label) && *label == label_value(&name), "{label}");
        let annotation = metadata.annotations.as_mut().unwrap().remove("example.com/pool");
        assert_eq!(annotation.as_deref(), Some(name.as_str()));
        assert_eq!(
            (order(&harness.sync()).as_str(), order(&harness.sync()).as_str()),
            ("u", "")
        );
    }
    let mut short = policy(&[]);
    short.set_owner_label("example.com/pool", "db");
    assert_eq!(short.managed_labels["example.com/pool"].as_deref(), Some("db"));
    assert_eq!(
        short.annotations,
        Annotations::Preserve,
        "a short name needs no annotation"
    );
}

/// Labels of other clients are removed or preserved, also on a placeholder (G36).
#[test]
fn g36_labels_of_other_clients() {
    for (keep, desired, expected) in [
        (false, pods(0..1), "u"),
        (true, pods(0..1), ""),
        (false, vec![], "u"),
        (true, vec![], ""),
    ] {
        let mut harness = Harness::default();
        if !desired.is_empty() {
            harness = Harness::of(&port(80), desired);
        }
        harness.policy = policy(&[("copied", "a")]);
        harness.policy.keep_other_labels = keep;
        harness.sync();
        let labels = harness.existing[0].metadata.labels.as_mut().unwrap();
        labels.insert("theirs".into(), "b".into());
        assert_eq!(order(&harness.sync()), expected);
        assert_eq!(
            harness.existing[0]
                .metadata
                .labels
                .as_ref()
                .unwrap()
                .contains_key("theirs"),
            keep
        );
        assert_eq!(order(&harness.sync()), "");
        // Copied labels are updated in any case.
        harness.policy.copied_labels = map(&[("copied", "c")]);
        assert_eq!(
            (order(&harness.sync()).as_str(), order(&harness.sync()).as_str()),
            ("u", "")
        );
        let labels = harness.existing[0].metadata.labels.as_ref().unwrap();
        assert_eq!((labels["copied"].as_str(), labels.contains_key("theirs")), ("c", keep));
    }
}

/// The trigger time is written with other changes and never causes a write, also if annotations are replaced (G30, R115).
#[test]
fn g30_the_trigger_time_never_causes_a_write() {
    let time = |harness: &Harness<'_>| {
        let annotations = harness.existing[0].metadata.annotations.clone().unwrap_or_default();
        annotations.get(TRIGGER_TIME_ANNOTATION).cloned()
    };
    for annotations in [
        Annotations::Preserve,
        Annotations::Set(map(&[("a", "b")])),
        Annotations::Replace(map(&[("a", "b")])),
    ] {
        let mut harness = Harness::of(&port(80), pods(0..1));
        harness.policy.annotations = annotations.clone();
        harness.trigger_time = TriggerTime::Set("1".into());
        assert_eq!(
            (order(&harness.sync()).as_str(), time(&harness).as_deref()),
            ("c", Some("1"))
        );
        for unwritten in [TriggerTime::Set("2".into()), TriggerTime::Clear] {
            harness.trigger_time = unwritten;
            assert_eq!(
                (order(&harness.sync()).as_str(), time(&harness).as_deref()),
                ("", Some("1")),
                "{annotations:?}"
            );
        }
        harness.trigger_time = TriggerTime::Set("2".into());
        harness.desired[0].2 = vec![pod(0, false)];
        assert_eq!(
            (order(&harness.sync()).as_str(), time(&harness).as_deref()),
            ("u", Some("2"))
        );
        harness.trigger_time = TriggerTime::Clear;
        harness.desired[0].2 = vec![pod(0, true)];
        assert_eq!((order(&harness.sync()).as_str(), time(&harness)), ("u", None));
    }
    // An unmanaged trigger time does not change.
    let mut harness = Harness::of(&port(80), [pod(0, false)]).with(existing_slices(&[&pods(0..1)], &port(80)));
    harness.trigger_time = TriggerTime::Unmanaged;
    harness.existing[0].metadata.annotations = Some(map(&[(TRIGGER_TIME_ANNOTATION, "theirs")]));
    assert_eq!(
        (order(&harness.sync()).as_str(), time(&harness).as_deref()),
        ("u", Some("theirs"))
    );
}
