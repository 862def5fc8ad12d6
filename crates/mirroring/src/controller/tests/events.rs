//! What people are told.

use super::*;

/// The reasons and messages of what is told with a look.
fn told(stage: &mut Stage) -> Vec<(String, String)> {
    let events = stage.decide().events.into_iter();
    events
        .map(|event| {
            let regarding = event.regarding;
            assert_eq!(event.event_type.as_str(), "Warning");
            assert_eq!(regarding.kind.as_deref(), Some("Endpoints"));
            assert_eq!(regarding.api_version.as_deref(), Some("v1"));
            assert_eq!(regarding.namespace.as_deref(), Some("test"));
            assert_eq!(regarding.name.as_deref(), Some("test-ep"));
            assert!(regarding.uid.is_some());
            (event.reason.to_string(), event.message)
        })
        .collect()
}

fn invalid(count: usize) -> (String, String) {
    let message = format!("Skipped {count} invalid IP addresses when mirroring to EndpointSlices");
    ("InvalidIPAddress".to_owned(), message)
}

fn too_many(skipped: usize) -> (String, String) {
    let message = format!(
        "A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
    );
    ("TooManyAddressesToMirror".to_owned(), message)
}

fn stage() -> Stage {
    let mut stage = Stage::with(Config {
        max_endpoints_per_subset: NonZeroUsize::new(2).unwrap(),
        ..config()
    });
    stage.apply(&service(&Value::Null));
    stage
}

/// M75, M76, T-MIR-N12: before any write, and whatever becomes of the writes.
#[test]
fn m75_m76_what_is_not_mirrored_is_told() {
    for (subsets, expected) in [
        ("10.0.0.1 10.0.0.2 :80", vec![]),
        ("10.0.0.1 bad :80", vec![invalid(1)]),
        ("10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![too_many(1)]),
        ("10.0.0.1 10.0.0.2 bad :80", vec![too_many(1)]),
        ("0bad 10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![invalid(1), too_many(2)]),
    ] {
        let mut stage = stage();
        stage.apply(&endpoints(subsets));
        assert_eq!(told(&mut stage), expected, "{subsets}");
    }
}

/// The same conditions as upstream's, but not with every look, be it a retry or a change of a slice.
#[test]
fn what_stays_wrong_is_told_once() {
    let mut stage = stage();
    let mut after = |object: Value| {
        stage.apply(&object);
        let first = told(&mut stage);
        assert_eq!(told(&mut stage), [], "not twice");
        first
    };
    assert_eq!(after(endpoints("10.0.0.1 bad :80")), [invalid(1)]);
    assert_eq!(after(endpoints("10.0.0.2 bad :80")), [], "nothing new");
    assert_eq!(after(endpoints("0bad 10.0.0.2 bad :80")), [invalid(2)]);
    let only_one = [too_many(3)];
    assert_eq!(after(endpoints("0bad 00bad 10.0.0.2 10.0.0.3 10.0.0.4 :80")), only_one);
    assert_eq!(after(endpoints("10.0.0.2 :80")), [], "put right");
    assert_eq!(after(endpoints("10.0.0.1 bad :80")), [invalid(1)], "wrong again");
    let another = with(&endpoints("10.0.0.1 bad :80"), "/metadata/uid", json!("3"));
    assert_eq!(after(another), [invalid(1)], "another object");
}

#[test]
fn what_is_not_mirrored_at_all_is_not_talked_about() {
    let mut stage = stage();
    stage.apply(&selecting());
    stage.apply(&endpoints("10.0.0.1 bad :80"));
    assert_eq!(told(&mut stage), []);
    stage.apply(&service(&Value::Null));
    assert_eq!(told(&mut stage), [invalid(1)]);
}

/// F25: what no slice can hold is left out, the rest goes on, and its author hears of it.
#[test]
fn f25_ports_that_no_slice_can_hold_are_told() {
    let mut object = testing::endpoints("10.0.0.1 :; 10.0.0.2 :z/80");
    object.subsets.as_mut().unwrap()[0].ports = Some(testing::many_ports(20_001, 0));
    let subsets = serde_json::to_value(object.subsets).unwrap();
    let mut stage = stage();
    stage.apply(&with(&endpoints(""), "/subsets", subsets));
    let message = "1 IPv4 endpoints are left out: there are 20001 ports, and 20000 is the most";
    let expected = ("FailedToUpdateEndpointSlices".to_owned(), message.to_owned());
    assert_eq!(told(&mut stage), [expected]);
    assert_eq!(stage.sync(), "create IPv4 10.0.0.2 :z/80");
}

#[test]
fn f25_endpoints_that_no_slice_can_hold_are_told() {
    let subset =
        json!({"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2", "hostname": "NO"}], "ports": [{"port": 80}]});
    let mut stage = stage();
    stage.apply(&with(&endpoints(""), "/subsets", json!([subset])));
    let [(reason, message)] = &told(&mut stage)[..] else {
        panic!("one event")
    };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    assert!(message.contains(r#"hostname "NO" is not a DNS label"#), "{message}");
    assert_eq!(told(&mut stage), []);
    assert_eq!(stage.sync(), "create IPv4 10.0.0.1 :80");
}

/// D15, M77, M103.
#[test]
fn d15_a_failure_that_lasts_is_told() {
    let mut stage = stage();
    let failures = [
        SyncFailure::Create(write_error("no")),
        SyncFailure::Update {
            slice: "a".into(),
            error: write_error("never"),
        },
    ];
    assert_eq!(
        stage.controller.failure_event(&key(), &failures),
        None,
        "nobody to tell"
    );
    stage.apply(&endpoints("10.0.0.1 :80"));
    let event = stage.controller.failure_event(&key(), &failures).unwrap();
    assert_eq!(
        (event.event_type.as_str(), &*event.reason),
        ("Warning", "FailedToUpdateEndpointSlices")
    );
    assert_eq!(event.regarding.uid.as_deref(), Some("1"));
    assert_eq!(
        event.message,
        "Error updating Endpoint Slices for Endpoints test/test-ep: \
         [failed to create EndpointSlice for Endpoints test/test-ep: no, \
         failed to update a EndpointSlice for Endpoints test/test-ep: never]"
    );
}
