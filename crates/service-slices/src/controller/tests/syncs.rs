//! What is written for a Service.

use slice_core::EventType;

use super::*;

fn stage(service: &Value, pods: &[Value]) -> Stage {
    let mut stage = Stage::new();
    stage.apply(&node("n1", "a"));
    stage.apply(service);
    for pod in pods {
        stage.apply(pod);
    }
    stage.before_sync();
    stage
}

const NOTHING: [&str; 0] = [];

/// T-CTL-01…05: slices of such Services are left alone, if there are any.
#[test]
fn r50_services_that_are_none_of_our_business() {
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
        let mut stage = stage(&service, &[pod("p", "10.0.0.1")]);
        assert_eq!(stage.sync("web").0, NOTHING, "{service}");
    }
    // S7, trap 30: also when it was our business before.
    let mut stage = stage(&base, &[pod("p", "10.0.0.1")]);
    stage.sync("web");
    stage.apply(&with(&base, "/spec/selector", Value::Null));
    assert_eq!((stage.sync("web").0, stage.slices.len()), (vec![], 1));
}

/// T-CTL-06, T-CTL-07.
#[test]
fn a_service_without_pods_has_a_placeholder_unless_it_is_going_away() {
    let going = with(
        &service("web"),
        "/metadata/deletionTimestamp",
        json!("2024-01-02T03:04:05Z"),
    );
    assert_eq!(stage(&going, &[]).sync("web").0, NOTHING);

    let mut stage = stage(&service("web"), &[]);
    assert_eq!(stage.sync("web").0, ["create 0"]);
    let (name, slice) = stage.slices.first_key_value().unwrap();
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

/// T-CTL-08.
#[test]
fn a_service_that_is_gone_is_forgotten() {
    let mut stage = stage(&service("web"), &[]);
    stage.apply(&service("db"));
    stage.sync("web");
    stage.sync("db");
    stage.delete(Watch::Services, "web");
    assert_eq!(stage.sync("web").0, NOTHING);
    assert_eq!(stage.controller.trigger_times.len(), 1);
}

/// T-CTL-09, T-CTL-15…18.
#[test]
fn selected_pods_are_published_each_with_its_own_conditions() {
    let ready = |pod: &Value, status: &str| with(pod, "/status/conditions/0/status", json!(status));
    let terminating = |pod: &Value| with(pod, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z"));
    let (a, b) = (pod("a", "10.0.0.1"), pod("b", "10.0.0.2"));
    let stranger = with(&pod("c", "10.0.0.3"), "/metadata/labels", json!({"app": "boo"}));
    let shared = pod("b", "10.0.0.1");
    for (pods, expected) in [
        (vec![a.clone(), stranger], vec![("10.0.0.1", "TTF")]),
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
        let mut stage = stage(&service("web"), &pods);
        assert_eq!(stage.sync("web").0.len(), 1);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(ip, letters)| (ip.to_owned(), letters.to_owned()))
            .collect();
        assert_eq!(stage.endpoints(), expected, "{pods:?}");
        assert_eq!(stage.sync("web").0, NOTHING);
    }
}

/// T-CTL-13, T-CTL-14.
#[test]
fn a_service_has_slices_of_its_families_with_all_its_ports() {
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
        let mut stage = stage(&with(&service, "/spec/ipFamilies", families.clone()), &pods);
        stage.sync("web");
        let addresses: Vec<_> = stage.endpoints().into_iter().map(|(address, _)| address).collect();
        assert_eq!(addresses, expected, "{families}");
        for slice in stage.slices.values() {
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

/// T-CTL-10, T-CTL-41, D8, 108267: a slice that is being deleted blocks nobody.
#[test]
fn a_slice_that_is_being_deleted_is_left_alone() {
    let mut stage = stage(&service("web"), &[]);
    stage.sync("web");
    let mut terminating = stage.slices.first_key_value().unwrap().1.clone();
    terminating.metadata.name = Some("web-going".into());
    terminating.metadata.uid = Some("uid-going".into());
    terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    stage.slices.insert("web-going".into(), terminating);
    assert_eq!(stage.sync("web").0, NOTHING);
}

/// T-CTL-11, as far as slices are selected here: the runtime only shows those with both labels.
#[test]
fn two_empty_slices_become_one_placeholder() {
    let mut stage = stage(&service("web"), &[pod("p", "10.0.0.1")]);
    stage.sync("web");
    let mut second = stage.slices.first_key_value().unwrap().1.clone();
    second.metadata.name = Some("web-zzzzz".into());
    second.metadata.uid = Some("uid-zzzzz".into());
    stage.slices.insert("web-zzzzz".into(), second);
    stage.delete(Watch::Pods, "p");
    assert_eq!(stage.sync("web").0, ["update 0", "delete"]);
    // I6: one that is a placeholder already is not written.
    let mut first = stage.slices.first_key_value().unwrap().1.clone();
    first.metadata.name = Some("web-00000".into());
    first.metadata.uid = Some("uid-00000".into());
    stage.slices.insert("web-00000".into(), first);
    assert_eq!(stage.sync("web").0, ["delete"]);
}

/// W17, G-15: a write that failed is followed by one that still tells when the change began.
#[test]
fn the_trigger_time_survives_a_failed_write() {
    let trigger = |sync: &SyncResult| -> Option<String> {
        let Some(Operation::Update(slice)) = sync.plan.writes.first().map(|write| &write.operation) else {
            panic!("an update")
        };
        slice
            .metadata
            .annotations
            .as_ref()?
            .get("endpoints.kubernetes.io/last-change-trigger-time")
            .cloned()
    };
    let mut stage = stage(&service("web"), &[pod("a", "10.0.0.1")]);
    stage.sync("web");
    stage.apply(&with(
        &pod("b", "10.0.0.2"),
        "/status/conditions/0/lastTransitionTime",
        json!("2024-01-02T05:00:00Z"),
    ));
    for _ in 0..2 {
        let sync = stage.plan("web");
        assert_eq!(trigger(&sync).as_deref(), Some("2024-01-02T05:00:00Z"));
        let failure = SyncFailure::Update {
            slice: "web-a".into(),
            error: write_error("no"),
        };
        let outcome = SyncOutcome {
            failures: vec![failure],
            ..SyncOutcome::default()
        };
        stage.controller.on_sync_result(&Key::new("ns", "web"), &outcome);
    }
    assert_eq!(stage.sync("web").0, ["update 2"]);
    stage.apply(&with(&service("web"), "/metadata/labels", json!({"new": "label"})));
    assert_eq!(trigger(&stage.plan("web")), None, "R113: it has no time of its own");
}

/// F25: no API server takes such a Service, but who knows what a cache holds.
#[test]
fn ports_that_cannot_be_published_are_told() {
    let port = |number: u16| json!({"name": "http", "port": number, "targetPort": number});
    let twice = with(&service("web"), "/spec/ports", json!([port(80), port(81)]));
    let SyncResult { plan, events, .. } = stage(&twice, &[pod("a", "10.0.0.1")]).plan("web");
    assert_eq!(plan.writes.len(), 1, "the placeholder");
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!(
        (event.event_type, &*event.reason, &*event.message),
        (
            EventType::Warning,
            "FailedToUpdateEndpointSlices",
            r#"1 IPv4 endpoints are left out: two ports have the name "http""#
        )
    );
}

/// W23, F25.
#[test]
fn an_address_that_cannot_be_published_is_told() {
    let mut stage = stage(
        &service("web"),
        &[pod("a", "10.0.0.1"), pod("b", "169.254.1.1"), pod("c", "elsewhere")],
    );
    let (writes, events) = stage.sync("web");
    assert_eq!(writes, ["create 1"]);
    assert_eq!(events.len(), 2);
    assert!(
        events[1].starts_with(r#"pod ns/c: address "elsewhere" left out"#),
        "{}",
        events[1]
    );
}

/// R107, R132.
#[test]
fn a_failure_is_told_in_upstreams_words() {
    let stage = stage(&service("web"), &[]);
    let update = || SyncFailure::Update {
        slice: "web-a".into(),
        error: write_error("no"),
    };
    let describe = |failures: &[SyncFailure]| {
        stage
            .controller
            .failure_event(&Key::new("ns", "web"), failures)
            .unwrap()
    };
    let one = describe(&[update()]);
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
        "Error updating Endpoint Slices for Service ns/web: failed to update web-a EndpointSlice for Service ns/web: no"
    );
    let several = describe(&[
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
         failed to update web-a EndpointSlice for Service ns/web: no, failed to delete b EndpointSlice for Service ns/web: x]"
    );
    assert_eq!(stage.controller.failure_event(&Key::new("ns", "gone"), &[]), None);
}
