//! What slices carry besides endpoints.

use slice_core::{validation::is_label_value, well_known::TRIGGER_TIME_ANNOTATION};
use slice_reconciler::{Annotations, TriggerTime, label_value};

use crate::support::{Ask, map, order, pod, pods, policy, port, stored};

/// T-GX-09, G36, W24: what others put there survives an update, and a slice that is reused for other ports.
#[test]
fn t_gx_09_what_others_put_there_survives() {
    for ports in [port(80), port(81)] {
        let mut existing = stored(&[&pods(0..2)], &port(80));
        let metadata = &mut existing[0].metadata;
        metadata.annotations = Some(map(&[("example.com/theirs", "yes")]));
        metadata.finalizers = Some(vec!["example.com/hold".into()]);
        metadata.resource_version = Some("7".into());
        let mut ask = Ask::of(&ports, [pod(0, true), pod(1, false)]).with(existing);
        assert_eq!(order(&ask.sync()), "u");
        let metadata = &ask.existing[0].metadata;
        assert_eq!(metadata.annotations, Some(map(&[("example.com/theirs", "yes")])));
        assert_eq!(metadata.finalizers, Some(vec!["example.com/hold".into()]));
        assert_eq!(
            metadata.resource_version.as_deref(),
            Some("7"),
            "every update is conditional (I8)"
        );
    }
}

/// T-GX-10, G38: the slices of an owner with a long name are found by a label that is short enough; an annotation has the name
/// in full, and is put back when somebody takes it away.
#[test]
fn t_gx_10_an_owner_with_a_long_name() {
    let name = "a".repeat(200);
    for annotations in [Annotations::Preserve, Annotations::Replace(map(&[("b", "c")]))] {
        let mut ask = Ask::of(&port(80), pods(0..1));
        ask.owner.name = &name;
        ask.policy.annotations = annotations;
        ask.policy.set_owner_label("example.com/pool", &name);
        assert_eq!((order(&ask.sync()).as_str(), order(&ask.sync()).as_str()), ("c", ""));
        let metadata = &mut ask.existing[0].metadata;
        let label = &metadata.labels.as_ref().unwrap()["example.com/pool"];
        assert!(is_label_value(label) && *label == label_value(&name), "{label}");
        let annotation = metadata.annotations.as_mut().unwrap().remove("example.com/pool");
        assert_eq!(annotation.as_deref(), Some(name.as_str()));
        assert_eq!((order(&ask.sync()).as_str(), order(&ask.sync()).as_str()), ("u", ""));
    }
    let mut short = policy(&[]);
    short.set_owner_label("example.com/pool", "db");
    assert_eq!(short.reserved["example.com/pool"].as_deref(), Some("db"));
    assert_eq!(
        short.annotations,
        Annotations::Preserve,
        "nothing is lost that an annotation would have to keep"
    );
}

/// G36: labels that others made go, or stay where they are welcome; on a placeholder too.
#[test]
fn g36_labels_that_others_made() {
    for (keep, wanted, expected) in [
        (false, pods(0..1), "u"),
        (true, pods(0..1), ""),
        (false, vec![], "u"),
        (true, vec![], ""),
    ] {
        let mut ask = Ask::default();
        if !wanted.is_empty() {
            ask = Ask::of(&port(80), wanted);
        }
        ask.policy = policy(&[("copied", "a")]);
        ask.policy.keep_other_labels = keep;
        ask.sync();
        let labels = ask.existing[0].metadata.labels.as_mut().unwrap();
        labels.insert("theirs".into(), "b".into());
        assert_eq!(order(&ask.sync()), expected);
        assert_eq!(
            ask.existing[0].metadata.labels.as_ref().unwrap().contains_key("theirs"),
            keep
        );
        assert_eq!(order(&ask.sync()), "");
        // Ours are put right in any case.
        ask.policy.labels = map(&[("copied", "c")]);
        assert_eq!((order(&ask.sync()).as_str(), order(&ask.sync()).as_str()), ("u", ""));
        let labels = ask.existing[0].metadata.labels.as_ref().unwrap();
        assert_eq!((labels["copied"].as_str(), labels.contains_key("theirs")), ("c", keep));
    }
}

/// G30, R115: the time is written with what is written anyway and never for itself, also where annotations are replaced.
#[test]
fn g30_the_trigger_time_never_causes_a_write() {
    let time = |ask: &Ask<'_>| {
        let annotations = ask.existing[0].metadata.annotations.clone().unwrap_or_default();
        annotations.get(TRIGGER_TIME_ANNOTATION).cloned()
    };
    for annotations in [
        Annotations::Preserve,
        Annotations::Set(map(&[("a", "b")])),
        Annotations::Replace(map(&[("a", "b")])),
    ] {
        let mut ask = Ask::of(&port(80), pods(0..1));
        ask.policy.annotations = annotations.clone();
        ask.trigger_time = TriggerTime::Set("1".into());
        assert_eq!((order(&ask.sync()).as_str(), time(&ask).as_deref()), ("c", Some("1")));
        for unread in [TriggerTime::Set("2".into()), TriggerTime::Clear] {
            ask.trigger_time = unread;
            assert_eq!(
                (order(&ask.sync()).as_str(), time(&ask).as_deref()),
                ("", Some("1")),
                "{annotations:?}"
            );
        }
        ask.trigger_time = TriggerTime::Set("2".into());
        ask.groups[0].2 = vec![pod(0, false)];
        assert_eq!((order(&ask.sync()).as_str(), time(&ask).as_deref()), ("u", Some("2")));
        ask.trigger_time = TriggerTime::Clear;
        ask.groups[0].2 = vec![pod(0, true)];
        assert_eq!((order(&ask.sync()).as_str(), time(&ask)), ("u", None));
    }
    // Whose time it is not leaves it alone.
    let mut ask = Ask::of(&port(80), [pod(0, false)]).with(stored(&[&pods(0..1)], &port(80)));
    ask.trigger_time = TriggerTime::Unmanaged;
    ask.existing[0].metadata.annotations = Some(map(&[(TRIGGER_TIME_ANNOTATION, "theirs")]));
    assert_eq!(
        (order(&ask.sync()).as_str(), time(&ask).as_deref()),
        ("u", Some("theirs"))
    );
}
