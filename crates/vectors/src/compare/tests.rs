use serde_json::{Value, json};

use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

const EXACT: Scope = Scope {
    exact_hints: true,
    zones: None,
    all_published: true,
    merges_slices: false,
};

fn slice(name: &str, endpoints: &[&str]) -> EndpointSlice {
    let endpoints: Vec<Value> = endpoints.iter().map(|ip| json!({"addresses": [ip]})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "1",
            "controller": true, "blockOwnerDeletion": true,
        }]},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    }))
    .unwrap()
}

fn with(slice: &EndpointSlice, change: impl FnOnce(&mut EndpointSlice)) -> EndpointSlice {
    let mut changed = slice.clone();
    change(&mut changed);
    changed
}

fn creates(slices: Vec<EndpointSlice>) -> ReconcileResult {
    ReconcileResult {
        creates: slices,
        ..ReconcileResult::default()
    }
}

/// Differing aspects of two results.
fn aspects(existing: &[EndpointSlice], upstream: &ReconcileResult, ours: &ReconcileResult) -> Vec<Aspect> {
    let found = differences(existing, upstream, ours, &EXACT);
    found.iter().map(|difference| difference.aspect).collect()
}

/// Differences if we create one slice and upstream another.
fn differing(upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    aspects(&[], &creates(vec![upstream.clone()]), &creates(vec![ours.clone()]))
}

fn generated_from(prefix: &str) -> EndpointSlice {
    with(&slice("", &["10.0.0.1"]), |slice| {
        slice.metadata.name = None;
        slice.metadata.generate_name = Some(prefix.to_owned());
    })
}

#[test]
fn equal_results_have_no_differences() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    assert_eq!(differing(&generated_from("web-"), &ours), []);
    assert_eq!(
        aspects(&[ours], &ReconcileResult::default(), &ReconcileResult::default()),
        []
    );
}

#[test]
fn names_are_compared_without_the_generated_suffix() {
    for (prefix, name) in [
        ("web-", "wab-bcd24"),
        ("web-", "web-bcd2"),
        ("web-", "web-bcd2e"),
        ("web-", "web"),
        ("web", "web-bcd24"),
    ] {
        let ours = slice(name, &["10.0.0.1"]);
        assert_eq!(
            differing(&generated_from(prefix), &ours),
            [Aspect::Names],
            "{prefix}, {name}"
        );
    }
}

#[test]
fn names_are_truncated_like_the_api_server_does() {
    let long = format!("{}-", "a".repeat(63));
    for (length, expected) in [(58, vec![]), (57, vec![Aspect::Names]), (59, vec![Aspect::Names])] {
        let ours = slice(&format!("{}bcd24", "a".repeat(length)), &["10.0.0.1"]);
        assert_eq!(differing(&generated_from(&long), &ours), expected, "{length}");
    }
}

#[test]
fn numbers_of_writes_are_compared() {
    let old = slice("web-old22", &[]);
    let rewritten = ReconcileResult {
        updates: vec![old.clone()],
        ..ReconcileResult::default()
    };
    assert_eq!(
        aspects(&[old], &ReconcileResult::default(), &rewritten),
        [Aspect::Writes]
    );
    let deletes = |names: &[&str]| ReconcileResult {
        deletes: names.iter().map(ToString::to_string).collect(),
        ..ReconcileResult::default()
    };
    assert_eq!(
        aspects(&[], &ReconcileResult::default(), &deletes(&["unknown"])),
        [Aspect::Writes]
    );
}

#[test]
fn sizes_of_slices_are_compared() {
    let (full, half, empty) = (
        slice("web-bcd24", &["10.0.0.1", "10.0.0.2"]),
        slice("web-bcd25", &["10.0.0.1"]),
        slice("web-bcd26", &[]),
    );
    let other_half = slice("web-bcd27", &["10.0.0.2"]);
    let (upstream, ours) = (creates(vec![full, empty]), creates(vec![half, other_half]));
    assert_eq!(aspects(&[], &upstream, &ours), [Aspect::Sizes]);
}

#[test]
fn endpoints_are_compared() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let unready = with(&ours, |slice| {
        let endpoint = &mut slice.endpoints.as_mut().unwrap()[0];
        endpoint.conditions.get_or_insert_default().ready = Some(false);
    });
    assert_eq!(differing(&unready, &ours), [Aspect::Content]);
    assert_eq!(differing(&slice("web-bcd24", &["10.0.0.9"]), &ours), [Aspect::Content]);
}

#[test]
fn metadata_is_compared_with_all_fields_of_owners() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let changes: [fn(&mut EndpointSlice); 10] = [
        |slice| slice.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into()),
        |slice| slice.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into()),
        |slice| slice.metadata.owner_references = None,
        |slice| owner(slice).api_version = "v2".to_owned(),
        |slice| owner(slice).kind = "Pod".to_owned(),
        |slice| owner(slice).name = "other".to_owned(),
        |slice| owner(slice).uid = "2".to_owned(),
        |slice| owner(slice).controller = None,
        |slice| owner(slice).controller = Some(false),
        |slice| owner(slice).block_owner_deletion = None,
    ];
    for change in changes {
        let upstream = with(&ours, change);
        assert_eq!(differing(&upstream, &ours), [Aspect::Metadata], "{upstream:?}");
    }
}

fn owner(slice: &mut EndpointSlice) -> &mut OwnerReference {
    &mut slice.metadata.owner_references.as_mut().unwrap()[0]
}

#[test]
fn slices_are_grouped_by_ports_and_address_type() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let changes: [fn(&mut EndpointSlice); 2] = [
        |slice| slice.ports.as_mut().unwrap()[0].port = Some(81),
        |slice| slice.address_type = "IPv6".to_owned(),
    ];
    for change in changes {
        let found = differing(&with(&ours, change), &ours);
        assert!(found.contains(&Aspect::Content), "{found:?}");
    }
}

#[test]
fn events_are_compared_in_any_order() {
    let event = |reason: &str| Event {
        kind: "Warning".to_owned(),
        reason: reason.to_owned(),
        message: "message".to_owned(),
    };
    let with_events = |reasons: &[&str]| ReconcileResult {
        events: reasons.iter().copied().map(event).collect(),
        ..ReconcileResult::default()
    };
    assert_eq!(aspects(&[], &with_events(&["A", "B"]), &with_events(&["B", "A"])), []);
    assert_eq!(
        aspects(&[], &with_events(&["A"]), &with_events(&["A", "A"])),
        [Aspect::Events]
    );
    assert_eq!(
        aspects(&[], &with_events(&["A"]), &with_events(&["B"])),
        [Aspect::Events]
    );
}

/// Upstream rejects nothing, so that a deviation can allow rejections without allowing other events.
#[test]
fn rejections_are_compared_apart_from_other_events() {
    let with_event = |message: &str| ReconcileResult {
        events: vec![Event {
            kind: "Warning".to_owned(),
            reason: "FailedToUpdateEndpointSlices".to_owned(),
            message: message.to_owned(),
        }],
        ..ReconcileResult::default()
    };
    let rejected = with_event("3 IPv4 endpoints are rejected: two ports have the name \"http\"");
    let failed = with_event("Error updating Endpoint Slices for Service ns/web: denied");
    assert_eq!(
        aspects(&[], &ReconcileResult::default(), &rejected),
        [Aspect::Rejections]
    );
    assert_eq!(aspects(&[], &ReconcileResult::default(), &failed), [Aspect::Events]);
    assert_eq!(aspects(&[], &failed, &rejected), [Aspect::Events, Aspect::Rejections]);
}

#[test]
fn errors_are_compared() {
    let failed = ReconcileResult {
        error: true,
        ..ReconcileResult::default()
    };
    assert_eq!(aspects(&[], &failed, &ReconcileResult::default()), [Aspect::Error]);
}

/// Two slices that swap their endpoints differ in moves only.
#[test]
fn unchanged_endpoints_must_not_move() {
    let existing = [slice("a", &["10.0.0.1"]), slice("b", &["10.0.0.2"])];
    let same = ReconcileResult {
        updates: existing.to_vec(),
        ..ReconcileResult::default()
    };
    let swapped = ReconcileResult {
        updates: vec![slice("a", &["10.0.0.2"]), slice("b", &["10.0.0.1"])],
        ..ReconcileResult::default()
    };
    assert_eq!(aspects(&existing, &same, &swapped), [Aspect::Moves, Aspect::Moves]);
    // Moves of upstream are ignored.
    assert_eq!(aspects(&existing, &swapped, &same), []);
    let merging = Scope {
        merges_slices: true,
        ..EXACT
    };
    assert!(differences(&existing, &same, &swapped, &merging).is_empty());
}

#[test]
fn identity_ignores_the_order_of_addresses() {
    let with_both = |name: &str, addresses: [&str; 2]| {
        with(&slice(name, &["10.0.0.1"]), |slice| {
            slice.endpoints.as_mut().unwrap()[0].addresses = addresses.map(str::to_owned).to_vec();
        })
    };
    let existing = [with_both("a", ["10.0.0.1", "10.0.0.2"])];
    let moved = ReconcileResult {
        creates: vec![with_both("b", ["10.0.0.2", "10.0.0.1"])],
        deletes: vec!["a".to_owned()],
        ..ReconcileResult::default()
    };
    assert_eq!(aspects(&existing, &moved, &moved), [Aspect::Moves]);
}

#[test]
fn endpoints_must_not_move_out_of_a_deleted_slice() {
    let existing = [slice("a", &["10.0.0.1"]), slice("b", &["10.0.0.2"])];
    let merged = ReconcileResult {
        updates: vec![slice("a", &["10.0.0.1", "10.0.0.2"])],
        deletes: vec!["b".to_owned()],
        ..ReconcileResult::default()
    };
    assert_eq!(aspects(&existing, &merged, &merged), [Aspect::Moves]);
    // Allowed: removing a duplicate, and replacing the slice of another owner.
    let twice = [slice("a", &["10.0.0.1", "10.0.0.2"]), slice("b", &["10.0.0.2"])];
    assert_eq!(aspects(&twice, &merged, &merged), []);
    let foreign = with(&existing[1], |slice| owner(slice).uid = "2".to_owned());
    let existing = [existing[0].clone(), foreign];
    assert_eq!(aspects(&existing, &merged, &merged), []);
}

/// A slice of ready endpoints with hints, from the number of endpoints per zone.
fn hinted(zones: &[(&str, usize)]) -> EndpointSlice {
    let zones = zones.iter().flat_map(|(zone, count)| std::iter::repeat_n(zone, *count));
    let endpoints = zones.enumerate().map(|(number, zone)| {
        serde_json::from_value(json!({
            "addresses": [format!("10.0.0.{number}")], "conditions": {"ready": true}, "hints": {"forZones": [{"name": zone}]},
        }))
        .unwrap()
    });
    let endpoints = endpoints.collect();
    with(&slice("web-bcd24", &[]), |slice| slice.endpoints = Some(endpoints))
}

/// Differences under topology mode Auto, with two zones of equal size.
fn differing_hints(upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    differing_hints_with(true, upstream, ours)
}

fn differing_hints_with(all_published: bool, upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    let node = |zone: &str| {
        serde_json::from_value(json!({
            "metadata": {"name": zone, "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap()
    };
    let scope = Scope {
        exact_hints: false,
        zones: ZoneRatios::from_nodes(&["a", "b"].map(node)),
        all_published,
        merges_slices: false,
    };
    let (upstream, ours) = (creates(vec![upstream.clone()]), creates(vec![ours.clone()]));
    let found = differences(&[], &upstream, &ours, &scope);
    found.iter().map(|difference| difference.aspect).collect()
}

#[test]
fn hints_are_compared_by_zone_under_auto() {
    let upstream = hinted(&[("a", 6), ("b", 8)]);
    assert_eq!(differing_hints(&upstream, &hinted(&[("b", 6), ("a", 8)])), []);
    assert_eq!(
        differing_hints(&upstream, &hinted(&[("a", 7), ("b", 7)])),
        [Aspect::Hints]
    );
    assert_eq!(
        differing_hints(&upstream, &hinted(&[("a", 5), ("b", 9)])),
        [Aspect::HintBounds, Aspect::Hints]
    );
    assert_eq!(differing(&upstream, &hinted(&[("b", 6), ("a", 8)])), [Aspect::Content]);
}

#[test]
fn hint_rules_are_checked_even_if_upstream_violates_them() {
    let unready = with(&hinted(&[("a", 7), ("b", 8)]), |slice| {
        let endpoint = slice.endpoints.as_mut().unwrap().last_mut().unwrap();
        endpoint.conditions.get_or_insert_default().ready = Some(false);
    });
    assert_eq!(differing_hints(&unready, &unready), [Aspect::HintRules]);
}

/// Three endpoints cannot be distributed over two zones. Six can, of which three are in slices that are not created.
#[test]
fn hints_count_endpoints_that_are_not_published() {
    let half = hinted(&[("a", 1), ("b", 2)]);
    assert_eq!(differing_hints(&half, &half), [Aspect::HintRules]);
    assert_eq!(differing_hints_with(false, &half, &half), []);
    let all_for_one = hinted(&[("a", 3)]);
    assert_eq!(differing_hints_with(false, &half, &all_for_one), [Aspect::Hints]);
}

/// Repeated creates are a difference of their own; the content is compared once (93374).
#[test]
fn repeated_creates_are_compared_apart_from_the_content() {
    let upstream_creates = |creates: &[&EndpointSlice]| {
        let creates: Vec<&EndpointSlice> = creates.to_vec();
        let expected = json!({"creates": creates, "updates": [], "deletes": [], "events": []});
        ReconcileResult::from(&serde_json::from_value::<Expected>(expected).unwrap())
    };
    let one = generated_from("web-");
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let differing = |upstream: &ReconcileResult| aspects(&[], upstream, &creates(vec![ours.clone()]));
    assert_eq!(differing(&upstream_creates(&[&one])), []);
    assert_eq!(differing(&upstream_creates(&[&one, &one])), [Aspect::RepeatedCreates]);
    let other = with(&one, |slice| {
        slice.endpoints.iter_mut().flatten().next().unwrap().zone = Some("z".to_owned());
    });
    assert_eq!(
        differing(&upstream_creates(&[&other, &other])),
        [Aspect::Content, Aspect::RepeatedCreates],
        "the content is compared"
    );
    assert!(!differing(&upstream_creates(&[&one, &other])).contains(&Aspect::RepeatedCreates));
}
