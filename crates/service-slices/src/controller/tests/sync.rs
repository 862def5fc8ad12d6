//! Plans, events and trigger times of a sync.

use slice_core::EventType;
use slice_reconciler::Operation;

use super::*;

fn harness(service: &Value, pods: &[Value]) -> Harness {
    let mut harness = Harness::new();
    harness.apply(&node("n1", "a"));
    harness.apply(service);
    for pod in pods {
        harness.apply(pod);
    }
    harness.before_sync();
    harness
}

/// Slices of Services without a selector and of type `ExternalName` are not touched (T-CTL-01…05).
#[test]
fn r50_services_that_are_not_managed() {
    let base = service("web");
    let external = with(&base, "/spec/type", json!("ExternalName"));
    for service in [
        with(&base, "/spec/selector", Value::Null),
        with(&base, "/spec/selector", json!({})),
        external.clone(),
        with(&external, "/spec/selector", Value::Null),
        with(&external, "/spec/ports", json!([])),
        with(
            &with(&external, "/spec/selector", Value::Null),
            "/spec/ports",
            json!([]),
        ),
    ] {
        let mut harness = harness(&service, &[pod("p", "10.0.0.1")]);
        assert_eq!(harness.sync("web").0, NONE, "{service}");
    }
    // Also if the Service was managed before (S7, trap 30).
    let mut harness = harness(&base, &[pod("p", "10.0.0.1")]);
    harness.sync("web");
    harness.apply(&with(&base, "/spec/selector", Value::Null));
    assert_eq!((harness.sync("web").0, harness.slices.len()), (vec![], 1));
}

/// A Service without pods has a placeholder slice, but a terminating one gets none (T-CTL-06, T-CTL-07).
#[test]
fn service_without_pods_has_a_placeholder_unless_terminating() {
    let terminating = with(
        &service("web"),
        "/metadata/deletionTimestamp",
        json!("2024-01-02T03:04:05Z"),
    );
    assert_eq!(harness(&terminating, &[]).sync("web").0, NONE);

    let mut harness = harness(&service("web"), &[]);
    assert_eq!(harness.sync("web").0, ["create 0"]);
    let (name, slice) = harness.slices.first_key_value().unwrap();
    assert!(name.starts_with("web-"));
    assert!(slice.ports.ports().is_empty());
    assert_eq!(
        slice.metadata.labels.as_ref().unwrap()["kubernetes.io/service-name"],
        "web"
    );
    let annotations = slice.metadata.annotations.as_ref().unwrap();
    assert_eq!(
        annotations["endpoints.kubernetes.io/last-change-trigger-time"],
        "2024-01-02T03:04:05Z"
    );
}

/// The sync of a deleted Service drops its state (T-CTL-08).
#[test]
fn deleted_service_is_forgotten() {
    let mut harness = harness(&service("web"), &[]);
    harness.apply(&service("db"));
    harness.sync("web");
    harness.sync("db");
    harness.delete(Watch::Services, "web");
    assert_eq!(harness.sync("web").0, NONE);
    assert_eq!(harness.controller.trigger_times.len(), 1);
}

/// Each selected pod is published with its own conditions, even if pods share an address (T-CTL-09, T-CTL-15…18).
#[test]
fn selected_pods_are_published_with_their_conditions() {
    let ready = |pod: &Value, status: &str| with(pod, "/status/conditions/0/status", json!(status));
    let terminating = |pod: &Value| with(pod, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z"));
    let (a, b) = (pod("a", "10.0.0.1"), pod("b", "10.0.0.2"));
    let unselected = with(&pod("c", "10.0.0.3"), "/metadata/labels", json!({"app": "boo"}));
    let shared = pod("b", "10.0.0.1");
    for (pods, expected) in [
        (vec![a.clone(), unselected], vec![("10.0.0.1", "TTF")]),
        (
            vec![a.clone(), terminating(&b)],
            vec![("10.0.0.1", "TTF"), ("10.0.0.2", "FTT")],
        ),
        (
            vec![a.clone(), terminating(&ready(&b, "False"))],
            vec![("10.0.0.1", "TTF"), ("10.0.0.2", "FFT")],
        ),
        (
            vec![a.clone(), ready(&shared, "False")],
            vec![("10.0.0.1", "FFF"), ("10.0.0.1", "TTF")],
        ),
        (
            vec![a.clone(), shared.clone()],
            vec![("10.0.0.1", "TTF"), ("10.0.0.1", "TTF")],
        ),
    ] {
        let mut harness = harness(&service("web"), &pods);
        assert_eq!(harness.sync("web").0.len(), 1);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(ip, letters)| (ip.to_owned(), letters.to_owned()))
            .collect();
        assert_eq!(harness.endpoints(), expected, "{pods:?}");
        assert_eq!(harness.sync("web").0, NONE);
    }
}

/// Slices have the address types of the Service and all its ports (T-CTL-13, T-CTL-14).
#[test]
fn slices_have_the_address_types_and_ports_of_the_service() {
    let ports = json!([
        {"name": "tcp-example", "port": 80, "protocol": "TCP"},
        {"name": "udp-example", "port": 161, "protocol": "UDP"},
        {"name": "sctp-example", "port": 3456, "protocol": "SCTP"},
    ]);
    let service = with(&service("web"), "/spec/ports", ports);
    let dual = json!([{"ip": "10.0.0.2"}, {"ip": "fd08::5678:0000:0000:9abc:def0"}]);
    let pods = [pod("pod0", "10.0.0.1"), with(&pod("pod1", ""), "/status/podIPs", dual)];
    for (families, expected) in [
        (json!(["IPv4"]), vec!["10.0.0.1", "10.0.0.2"]),
        (json!(["IPv6"]), vec!["fd08::5678:0:0:9abc:def0"]),
        (
            json!(["IPv6", "IPv4"]),
            vec!["10.0.0.1", "10.0.0.2", "fd08::5678:0:0:9abc:def0"],
        ),
    ] {
        let mut harness = harness(&with(&service, "/spec/ipFamilies", families.clone()), &pods);
        harness.sync("web");
        let addresses: Vec<_> = harness.endpoints().into_iter().map(|(address, _)| address).collect();
        assert_eq!(addresses, expected, "{families}");
        for slice in harness.slices.values() {
            assert_eq!(slice.ports.ports().len(), 3);
            assert!(
                slice
                    .endpoints
                    .iter()
                    .all(|endpoint| endpoint.node_name.as_deref() == Some("n1"))
            );
        }
    }
}

/// A terminating slice is ignored and does not block the sync (T-CTL-10, T-CTL-41, D8, 108267, 108779).
#[test]
fn terminating_slice_is_ignored() {
    let mut harness = harness(&service("web"), &[]);
    harness.sync("web");
    let mut terminating = harness.slices.first_key_value().unwrap().1.clone();
    terminating.metadata.name = Some("web-terminating".into());
    terminating.metadata.uid = Some("uid-terminating".into());
    terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    harness.slices.insert("web-terminating".into(), terminating);
    assert_eq!(harness.sync("web").0, NONE);
}

/// Empty slices are merged into one placeholder (T-CTL-11; the runtime passes only slices with both labels).
#[test]
fn two_empty_slices_become_one_placeholder() {
    let mut harness = harness(&service("web"), &[pod("p", "10.0.0.1")]);
    harness.sync("web");
    let mut second = harness.slices.first_key_value().unwrap().1.clone();
    second.metadata.name = Some("web-zzzzz".into());
    second.metadata.uid = Some("uid-zzzzz".into());
    harness.slices.insert("web-zzzzz".into(), second);
    harness.delete(Watch::Pods, "p");
    assert_eq!(harness.sync("web").0, ["update 0", "delete"]);
    // A slice that already is a placeholder is not written (I6).
    let mut first = harness.slices.first_key_value().unwrap().1.clone();
    first.metadata.name = Some("web-00000".into());
    first.metadata.uid = Some("uid-00000".into());
    harness.slices.insert("web-00000".into(), first);
    assert_eq!(harness.sync("web").0, ["delete"]);
}

/// After a failed write, the retry has the same trigger time (W17, G-15).
#[test]
fn the_trigger_time_survives_a_failed_write() {
    let trigger_time = |sync: &SyncResult| -> Option<String> {
        let Some(Operation::Update(slice)) = sync.plan.writes.first().map(|write| &write.operation) else {
            panic!("not an update")
        };
        slice
            .metadata
            .annotations
            .as_ref()?
            .get("endpoints.kubernetes.io/last-change-trigger-time")
            .cloned()
    };
    let mut harness = harness(&service("web"), &[pod("a", "10.0.0.1")]);
    harness.sync("web");
    harness.apply(&with(
        &pod("b", "10.0.0.2"),
        "/status/conditions/0/lastTransitionTime",
        json!("2024-01-02T05:00:00Z"),
    ));
    for _ in 0..2 {
        let sync = harness.plan("web");
        assert_eq!(trigger_time(&sync).as_deref(), Some("2024-01-02T05:00:00Z"));
        let failure = SyncFailure::Update {
            slice: "web-a".into(),
            error: write_error("denied"),
        };
        let outcome = SyncOutcome {
            failures: vec![failure],
            ..SyncOutcome::default()
        };
        harness.controller.on_sync_result(&Key::new("ns", "web"), &outcome);
    }
    assert_eq!(harness.sync("web").0, ["update 2"]);
    harness.apply(&with(&service("web"), "/metadata/labels", json!({"new": "label"})));
    assert_eq!(
        trigger_time(&harness.plan("web")),
        None,
        "a label change has no trigger time (R113)"
    );
}

/// Invalid ports are reported as an event; the API server would not accept such a Service (F25).
#[test]
fn invalid_ports_are_reported_as_an_event() {
    let port = |number: u16| json!({"name": "http", "port": number, "targetPort": number});
    let twice = with(&service("web"), "/spec/ports", json!([port(80), port(81)]));
    let SyncResult { plan, events, .. } = harness(&twice, &[pod("a", "10.0.0.1")]).plan("web");
    assert_eq!(plan.writes.len(), 1, "the placeholder only");
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!(
        (event.event_type, &*event.reason, &*event.message),
        (
            EventType::Warning,
            "FailedToUpdateEndpointSlices",
            &*plan.rejected[0].to_string()
        )
    );
}

/// Invalid pod addresses are reported by one event, the other addresses are published (W23, F25).
#[test]
fn invalid_addresses_are_reported_by_one_event() {
    let one = [pod("a", "10.0.0.1"), pod("c", "invalid")];
    let (writes, events) = harness(&service("web"), &one).sync("web");
    assert_eq!(writes, ["create 1"]);
    let [event] = &events[..] else { panic!("{events:?}") };
    assert!(event.starts_with(r#"pod ns/c: address "invalid" skipped"#), "{event}");

    let many: Vec<_> = (0..2000)
        .map(|n| pod(&format!("p{n:04}"), &format!("169.254.{}.{}", n / 250, n % 250)))
        .collect();
    let (_, events) = harness(&service("web"), &many).sync("web");
    let [event] = &events[..] else {
        panic!("{}", events.len())
    };
    assert!(
        event.starts_with(r#"2000 addresses of pods are skipped: pod ns/p0000: address "169.254.0.0" skipped: "#),
        "{event}"
    );
    assert!(
        event.contains("pod ns/p0002: ") && event.ends_with(", and 1997 more"),
        "{event}"
    );
    assert!(event.len() <= 1024);
}

/// The failure event has upstream's reason and message (R107, R132).
#[test]
fn failure_event_has_upstreams_message() {
    let harness = harness(&service("web"), &[]);
    let update = || SyncFailure::Update {
        slice: "web-a".into(),
        error: write_error("denied"),
    };
    let failure_event = |failures: &[SyncFailure]| {
        harness
            .controller
            .failure_event(&Key::new("ns", "web"), failures)
            .unwrap()
    };
    let one = failure_event(&[update()]);
    assert_eq!(
        (&*one.reason, one.event_type.as_str()),
        ("FailedToUpdateEndpointSlices", "Warning")
    );
    assert_eq!(
        (one.regarding.name.as_deref(), one.regarding.uid.as_deref()),
        (Some("web"), Some("uid-web"))
    );
    assert_eq!(
        one.message,
        "Error updating Endpoint Slices for Service ns/web: failed to update web-a EndpointSlice for Service ns/web: denied"
    );
    let several = failure_event(&[
        SyncFailure::Create(write_error("full")),
        update(),
        update(),
        SyncFailure::Delete {
            slice: "b".into(),
            error: write_error("x"),
        },
    ]);
    assert_eq!(
        several.message,
        "Error updating Endpoint Slices for Service ns/web: [failed to create EndpointSlice for Service ns/web: full, \
         failed to update web-a EndpointSlice for Service ns/web: denied, failed to delete b EndpointSlice for Service ns/web: x]"
    );
    for (name, error) in [
        ("deleted", write_error("denied")),
        // A retry resolves it.
        ("web", slice_controller::WriteError::Conflict),
    ] {
        let failures = [SyncFailure::Create(error)];
        assert_eq!(harness.controller.failure_event(&Key::new("ns", name), &failures), None);
    }
}
