use serde_json::{Value, json};

use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

const EXACT: Scope = Scope {
    exact_hints: true,
    zones: None,
    all_are_published: true,
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

fn creates(slices: Vec<EndpointSlice>) -> Answer {
    Answer {
        creates: slices,
        ..Answer::default()
    }
}

fn aspects(existing: &[EndpointSlice], upstream: &Answer, ours: &Answer) -> Vec<Aspect> {
    let found = differences(existing, upstream, ours, &EXACT);
    found.iter().map(|difference| difference.aspect).collect()
}

/// What is seen when we create one slice and upstream another.
fn seen(upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    aspects(&[], &creates(vec![upstream.clone()]), &creates(vec![ours.clone()]))
}

fn generated_from(prefix: &str) -> EndpointSlice {
    with(&slice("", &["10.0.0.1"]), |slice| {
        slice.metadata.name = None;
        slice.metadata.generate_name = Some(prefix.to_owned());
    })
}

#[test]
fn equal_answers_have_no_differences() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    assert_eq!(seen(&generated_from("web-"), &ours), []);
    assert_eq!(aspects(&[ours], &Answer::default(), &Answer::default()), []);
}

#[test]
fn names_are_compared_up_to_what_is_generated() {
    for (asked_for, name) in [
        ("web-", "wab-bcd24"),
        ("web-", "web-bcd2"),
        ("web-", "web-bcd2e"),
        ("web-", "web"),
        ("web", "web-bcd24"),
    ] {
        let ours = slice(name, &["10.0.0.1"]);
        assert_eq!(
            seen(&generated_from(asked_for), &ours),
            [Aspect::Names],
            "{asked_for}, {name}"
        );
    }
}

#[test]
fn names_are_cut_as_the_api_server_cuts_them() {
    let long = format!("{}-", "a".repeat(63));
    for (kept, expected) in [(58, vec![]), (57, vec![Aspect::Names]), (59, vec![Aspect::Names])] {
        let ours = slice(&format!("{}bcd24", "a".repeat(kept)), &["10.0.0.1"]);
        assert_eq!(seen(&generated_from(&long), &ours), expected, "{kept}");
    }
}

#[test]
fn how_many_writes_there_are_is_compared() {
    let old = slice("web-old22", &[]);
    let rewritten = Answer {
        updates: vec![old.clone()],
        ..Answer::default()
    };
    assert_eq!(aspects(&[old], &Answer::default(), &rewritten), [Aspect::Writes]);
    let deletes = |names: &[&str]| Answer {
        deletes: names.iter().map(ToString::to_string).collect(),
        ..Answer::default()
    };
    assert_eq!(
        aspects(&[], &Answer::default(), &deletes(&["nobody"])),
        [Aspect::Writes]
    );
}

#[test]
fn how_endpoints_are_shared_out_is_compared() {
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
    assert_eq!(seen(&unready, &ours), [Aspect::Content]);
    assert_eq!(seen(&slice("web-bcd24", &["10.0.0.9"]), &ours), [Aspect::Content]);
}

#[test]
fn metadata_are_compared_with_all_that_owners_say() {
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
        assert_eq!(seen(&upstream, &ours), [Aspect::Metadata], "{upstream:?}");
    }
}

fn owner(slice: &mut EndpointSlice) -> &mut OwnerReference {
    &mut slice.metadata.owner_references.as_mut().unwrap()[0]
}

#[test]
fn ports_and_types_are_groups_of_their_own() {
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let changes: [fn(&mut EndpointSlice); 2] = [
        |slice| slice.ports.as_mut().unwrap()[0].port = Some(81),
        |slice| slice.address_type = "IPv6".to_owned(),
    ];
    for change in changes {
        let found = seen(&with(&ours, change), &ours);
        assert!(found.contains(&Aspect::Content), "{found:?}");
    }
}

#[test]
fn events_are_compared_in_any_order() {
    let event = |reason: &str| Event {
        kind: "Warning".to_owned(),
        reason: reason.to_owned(),
        message: "it is so".to_owned(),
    };
    let tells = |reasons: &[&str]| Answer {
        events: reasons.iter().copied().map(event).collect(),
        ..Answer::default()
    };
    assert_eq!(aspects(&[], &tells(&["A", "B"]), &tells(&["B", "A"])), []);
    assert_eq!(aspects(&[], &tells(&["A"]), &tells(&["A", "A"])), [Aspect::Events]);
    assert_eq!(aspects(&[], &tells(&["A"]), &tells(&["B"])), [Aspect::Events]);
}

/// Upstream leaves nothing out, so a deviation may excuse these without excusing other events.
#[test]
fn events_about_what_is_left_out_are_apart() {
    let tells = |message: &str| Answer {
        events: vec![Event {
            kind: "Warning".to_owned(),
            reason: "FailedToUpdateEndpointSlices".to_owned(),
            message: message.to_owned(),
        }],
        ..Answer::default()
    };
    let (left_out, failed) = (tells("3 IPv4 endpoints are left out: it is so"), tells("it failed"));
    assert_eq!(aspects(&[], &Answer::default(), &left_out), [Aspect::LeftOut]);
    assert_eq!(aspects(&[], &Answer::default(), &failed), [Aspect::Events]);
    assert_eq!(aspects(&[], &failed, &left_out), [Aspect::Events, Aspect::LeftOut]);
}

#[test]
fn whether_there_is_an_error_is_compared() {
    let failed = Answer {
        error: true,
        ..Answer::default()
    };
    assert_eq!(aspects(&[], &failed, &Answer::default()), [Aspect::Error]);
}

/// Two slices that change places: nothing but the moves tells.
#[test]
fn an_endpoint_that_stays_must_not_change_its_slice() {
    let existing = [slice("a", &["10.0.0.1"]), slice("b", &["10.0.0.2"])];
    let same = Answer {
        updates: existing.to_vec(),
        ..Answer::default()
    };
    let swapped = Answer {
        updates: vec![slice("a", &["10.0.0.2"]), slice("b", &["10.0.0.1"])],
        ..Answer::default()
    };
    assert_eq!(aspects(&existing, &same, &swapped), [Aspect::Moves, Aspect::Moves]);
    // Upstream is not held to it.
    assert_eq!(aspects(&existing, &swapped, &same), []);
    let merging = Scope {
        merges_slices: true,
        ..EXACT
    };
    assert!(differences(&existing, &same, &swapped, &merging).is_empty());
}

#[test]
fn with_its_addresses_in_another_order_it_is_the_same() {
    let with_both = |name: &str, addresses: [&str; 2]| {
        with(&slice(name, &["10.0.0.1"]), |slice| {
            slice.endpoints.as_mut().unwrap()[0].addresses = addresses.map(str::to_owned).to_vec();
        })
    };
    let existing = [with_both("a", ["10.0.0.1", "10.0.0.2"])];
    let moved = Answer {
        creates: vec![with_both("b", ["10.0.0.2", "10.0.0.1"])],
        deletes: vec!["a".to_owned()],
        ..Answer::default()
    };
    assert_eq!(aspects(&existing, &moved, &moved), [Aspect::Moves]);
}

#[test]
fn nor_when_its_slice_is_deleted() {
    let existing = [slice("a", &["10.0.0.1"]), slice("b", &["10.0.0.2"])];
    let merged = Answer {
        updates: vec![slice("a", &["10.0.0.1", "10.0.0.2"])],
        deletes: vec!["b".to_owned()],
        ..Answer::default()
    };
    assert_eq!(aspects(&existing, &merged, &merged), [Aspect::Moves]);
    // Of what was there twice one may go, and what another owner had is made anew.
    let twice = [slice("a", &["10.0.0.1", "10.0.0.2"]), slice("b", &["10.0.0.2"])];
    assert_eq!(aspects(&twice, &merged, &merged), []);
    let foreign = with(&existing[1], |slice| owner(slice).uid = "2".to_owned());
    let existing = [existing[0].clone(), foreign];
    assert_eq!(aspects(&existing, &merged, &merged), []);
}

/// A slice of ready endpoints, so many for each zone.
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

/// What is seen under topology mode Auto, with two zones of as many CPUs each.
fn seen_of_hints(upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    seen_of_hints_if(true, upstream, ours)
}

fn seen_of_hints_if(all_are_published: bool, upstream: &EndpointSlice, ours: &EndpointSlice) -> Vec<Aspect> {
    let node = |zone: &str| {
        serde_json::from_value(json!({
            "metadata": {"name": zone, "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap()
    };
    let scope = Scope {
        exact_hints: false,
        zones: Zones::of_nodes(&["a", "b"].map(node)),
        all_are_published,
        merges_slices: false,
    };
    let (upstream, ours) = (creates(vec![upstream.clone()]), creates(vec![ours.clone()]));
    let found = differences(&[], &upstream, &ours, &scope);
    found.iter().map(|difference| difference.aspect).collect()
}

#[test]
fn hints_are_compared_by_zone_under_auto() {
    let upstream = hinted(&[("a", 6), ("b", 8)]);
    assert_eq!(seen_of_hints(&upstream, &hinted(&[("b", 6), ("a", 8)])), []);
    assert_eq!(
        seen_of_hints(&upstream, &hinted(&[("a", 7), ("b", 7)])),
        [Aspect::Hints]
    );
    assert_eq!(
        seen_of_hints(&upstream, &hinted(&[("a", 5), ("b", 9)])),
        [Aspect::HintBounds, Aspect::Hints]
    );
    assert_eq!(seen(&upstream, &hinted(&[("b", 6), ("a", 8)])), [Aspect::Content]);
}

#[test]
fn hints_keep_the_rules_whatever_upstream_does() {
    let unready = with(&hinted(&[("a", 7), ("b", 8)]), |slice| {
        let endpoint = slice.endpoints.as_mut().unwrap().last_mut().unwrap();
        endpoint.conditions.get_or_insert_default().ready = Some(false);
    });
    assert_eq!(seen_of_hints(&unready, &unready), [Aspect::HintRules]);
}

/// Three endpoints cannot be shared out among two zones, but six can of which three are in slices that are not made.
#[test]
fn what_is_not_published_has_hints_too() {
    let half = hinted(&[("a", 1), ("b", 2)]);
    assert_eq!(seen_of_hints(&half, &half), [Aspect::HintRules]);
    assert_eq!(seen_of_hints_if(false, &half, &half), []);
    let all_for_one = hinted(&[("a", 3)]);
    assert_eq!(seen_of_hints_if(false, &half, &all_for_one), [Aspect::Hints]);
}

/// 93374: what is made twice is compared as if it was made once, and told.
#[test]
fn a_create_that_is_repeated_is_told_and_the_rest_compared() {
    let made = |creates: &[&EndpointSlice]| {
        let creates: Vec<&EndpointSlice> = creates.to_vec();
        let expected = json!({"creates": creates, "updates": [], "deletes": [], "events": []});
        Answer::from(&serde_json::from_value::<Expected>(expected).unwrap())
    };
    let one = generated_from("web-");
    let ours = slice("web-bcd24", &["10.0.0.1"]);
    let seen = |upstream: &Answer| aspects(&[], upstream, &creates(vec![ours.clone()]));
    assert_eq!(seen(&made(&[&one])), []);
    assert_eq!(seen(&made(&[&one, &one])), [Aspect::Repeats]);
    let other = with(&one, |slice| {
        slice.endpoints.iter_mut().flatten().next().unwrap().zone = Some("z".to_owned());
    });
    assert_eq!(
        seen(&made(&[&other, &other])),
        [Aspect::Content, Aspect::Repeats],
        "what it holds is compared"
    );
    assert!(!seen(&made(&[&one, &other])).contains(&Aspect::Repeats));
}
