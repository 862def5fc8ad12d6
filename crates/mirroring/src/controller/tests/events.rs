//! Recorded events.

use super::*;

/// Syncs the key; returns reasons and messages of the events.
fn events(harness: &mut Harness) -> Vec<(String, String)> {
    let events = harness.sync_result().events.into_iter();
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

/// A harness with a limit of two addresses and a Service without selector.
fn harness() -> Harness {
    let mut harness = Harness::with_config(Config {
        max_endpoints_per_subset: NonZeroUsize::new(2).unwrap(),
        ..config()
    });
    harness.apply(&service(&Value::Null));
    harness
}

/// Events about skipped addresses do not depend on the result of the writes (M75, M76, T-MIR-N12).
#[test]
fn m75_m76_skipped_addresses_give_events() {
    for (subsets, expected) in [
        ("10.0.0.1 10.0.0.2 :80", vec![]),
        ("10.0.0.1 bad :80", vec![invalid(1)]),
        ("10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![too_many(1)]),
        ("10.0.0.1 10.0.0.2 bad :80", vec![too_many(1)]),
        ("0bad 10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![invalid(1), too_many(2)]),
    ] {
        let mut harness = harness();
        harness.apply(&endpoints(subsets));
        assert_eq!(events(&mut harness), expected, "{subsets}");
    }
}

/// As upstream, every sync has the events of what it skips; the runtime records those that are new or last for 15 minutes.
#[test]
fn every_sync_has_the_events_of_its_skipped_addresses() {
    let mut harness = harness();
    for (subsets, expected) in [
        ("10.0.0.1 bad :80", vec![invalid(1)]),
        ("10.0.0.2 bad :80", vec![invalid(1)]),
        ("0bad 10.0.0.2 bad :80", vec![invalid(2)]),
        ("10.0.0.2 :80", vec![]),
    ] {
        harness.apply(&endpoints(subsets));
        assert_eq!(events(&mut harness), expected);
        assert_eq!(events(&mut harness), expected, "again");
    }
}

/// Everything of one reason is one event.
#[test]
fn many_skipped_ports_are_one_event() {
    let ports: Vec<Value> = (0..50)
        .map(|n| json!({"name": format!("p{n}"), "port": 70_000 + n}))
        .collect();
    let subset = json!({"addresses": [{"ip": "10.0.0.1"}], "ports": ports});
    let mut harness = harness();
    harness.apply(&with(&endpoints(""), "/subsets", json!([subset])));
    let [(reason, message)] = &events(&mut harness)[..] else {
        panic!("one event")
    };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    assert!(
        message.starts_with("50 ports, endpoints or labels are not mirrored: port \"p0\" is skipped: 70000 ")
            && message.ends_with(", and 47 more"),
        "{message}"
    );
}

#[test]
fn an_object_that_is_not_mirrored_gets_no_events() {
    let mut harness = harness();
    harness.apply(&service_with_selector());
    harness.apply(&endpoints("10.0.0.1 bad :80"));
    assert_eq!(events(&mut harness), []);
    harness.apply(&service(&Value::Null));
    assert_eq!(events(&mut harness), [invalid(1)]);
}

/// A group with too many ports is rejected and reported; the other subsets are mirrored (F25).
#[test]
fn f25_ports_that_no_slice_can_have_give_an_event() {
    let mut object = crate::fixtures::endpoints("10.0.0.1 :; 10.0.0.2 :z/80");
    object.subsets.as_mut().unwrap()[0].ports = Some(crate::fixtures::many_ports(20_001, 0));
    let subsets = serde_json::to_value(object.subsets).unwrap();
    let mut harness = harness();
    harness.apply(&with(&endpoints(""), "/subsets", subsets));
    let [(reason, message)] = &events(&mut harness)[..] else {
        panic!("one event")
    };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    assert!(
        message.starts_with("1 IPv4 endpoints ") && message.contains("20001"),
        "{message}"
    );
    assert_eq!(harness.sync(), "create IPv4 10.0.0.2 :z/80");
}

/// Ports of one name beyond the limit are skipped with an event; the others are mirrored (F25).
#[test]
fn f25_ports_beyond_the_limit_of_one_name_are_reported() {
    let mut object = crate::fixtures::endpoints("10.0.0.1 :");
    object.subsets.as_mut().unwrap()[0].ports = Some(crate::fixtures::many_ports(0, 100));
    let subsets = serde_json::to_value(object.subsets).unwrap();
    let mut harness = harness();
    harness.apply(&with(&endpoints(""), "/subsets", subsets));
    let message = "92 ports of the name \"\" are skipped: only 8 ports of one name are mirrored";
    let expected = ("FailedToUpdateEndpointSlices".to_owned(), message.to_owned());
    assert_eq!(events(&mut harness), [expected]);
    assert_eq!(harness.sync().matches("create").count(), 8);
}

#[test]
fn f25_endpoints_that_no_slice_can_have_give_an_event() {
    let subset =
        json!({"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2", "hostname": "NO"}], "ports": [{"port": 80}]});
    let mut harness = harness();
    harness.apply(&with(&endpoints(""), "/subsets", json!([subset])));
    let [(reason, message)] = &events(&mut harness)[..] else {
        panic!("one event")
    };
    assert_eq!(reason, "FailedToUpdateEndpointSlices");
    assert!(message.contains(r#"hostname "NO""#), "{message}");
    assert_eq!(harness.sync(), "create IPv4 10.0.0.1 :80");
}

/// Repeated failures are recorded as an event (D15, M77, M103).
#[test]
fn d15_repeated_failures_give_an_event() {
    let mut harness = harness();
    let failures = [
        SyncFailure::Create(write_error("no")),
        SyncFailure::Update {
            slice: "a".into(),
            error: write_error("never"),
        },
    ];
    assert_eq!(
        harness.controller.failure_event(&key(), &failures),
        None,
        "no Endpoints object to record it on"
    );
    harness.apply(&endpoints("10.0.0.1 :80"));
    let conflict = [SyncFailure::Create(WriteError::Conflict)];
    assert_eq!(harness.controller.failure_event(&key(), &conflict), None);
    let event = harness.controller.failure_event(&key(), &failures).unwrap();
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
