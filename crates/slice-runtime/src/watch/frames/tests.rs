use serde_json::json;

use super::*;

/// Decodes the name, which must begin with a letter.
fn decode(object: &[u8]) -> Result<Decoded<String>, serde_json::Error> {
    let object_ref = ObjectRef::decode(object)?;
    if !object_ref.name.starts_with(char::is_alphabetic) {
        return Err(serde::de::Error::custom("no letter"));
    }
    Ok(Decoded {
        object: object_ref.name.to_string(),
        object_ref,
    })
}

fn frame(line: &str) -> Frame<String> {
    decode_frame(line.as_bytes(), decode).unwrap()
}

#[test]
fn watch_events_are_decoded_by_type() {
    let object = r#"{"metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7"}}"#;
    for (kind, applied) in [("ADDED", true), ("MODIFIED", true), ("DELETED", false)] {
        let object_ref = match frame(&format!(r#"{{"type": "{kind}", "object": {object}}}"#)) {
            Frame::Apply(decoded) if applied => decoded.object_ref,
            Frame::Delete(object_ref) if !applied => object_ref,
            _ => panic!("{kind}"),
        };
        assert_eq!((&*object_ref.namespace, &*object_ref.name), ("ns", "a"));
        assert_eq!((&*object_ref.uid, &*object_ref.resource_version), ("u", "7"));
    }
}

#[test]
fn bookmarks_carry_a_version_and_may_end_the_initial_events() {
    for (annotations, expected) in [
        ("", false),
        (r#", "annotations": {"k8s.io/initial-events-end": "true"}"#, true),
    ] {
        let line =
            format!(r#"{{"type": "BOOKMARK", "object": {{"metadata": {{"resourceVersion": "9"{annotations}}}}}}}"#);
        assert!(
            matches!(frame(&line), Frame::Bookmark { version, initial_events_end } if &*version == "9" && initial_events_end == expected)
        );
    }
}

#[test]
fn error_events_carry_a_status() {
    let decoded = frame(r#"{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}"#);
    assert!(matches!(decoded, Frame::Error(error) if error.code == 410 && error.is("Expired")));
}

/// The other objects are decoded, and the deletion of this one is still seen (F25).
#[test]
fn an_undecodable_object_is_reported_by_name() {
    let bad = r#"{"metadata": {"namespace": "ns", "name": "7"}}"#;
    let decoded = frame(&format!(r#"{{"type": "ADDED", "object": {bad}}}"#));
    assert!(
        matches!(decoded, Frame::Undecodable(undecodable) if undecodable.to_string().starts_with("cannot decode ns/7: no letter"))
    );
    assert!(matches!(
        frame(&format!(r#"{{"type": "DELETED", "object": {bad}}}"#)),
        Frame::Delete(_)
    ));
    let list =
        format!(r#"{{"metadata": {{"resourceVersion": "3"}}, "items": [{bad}, {{"metadata": {{"name": "a"}}}}]}}"#);
    let page = decode_page(list.as_bytes(), decode).unwrap();
    assert_eq!((&*page.version, &*page.continue_token), ("3", ""));
    assert_eq!(
        page.objects.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, true]
    );
    assert!(
        decode_page(br#"{"metadata": {"resourceVersion": "3"}, "items": null}"#, decode)
            .unwrap()
            .objects
            .is_empty()
    );
    let decoded = frame(r#"{"type": "ADDED", "object": {"metadata": 7}}"#);
    assert!(
        matches!(decoded, Frame::Undecodable(undecodable) if undecodable.object_ref.is_none()
            && undecodable.to_string().starts_with("cannot decode an object without valid metadata: invalid type"))
    );
}

/// Objects of a watch have a kind, those of a list do not.
#[test]
fn kind_of_an_undecodable_object_is_its_own_or_that_of_the_list() {
    let kind_of = |kind: &str, list_kind: &str| {
        let list = format!(
            r#"{{{list_kind} "metadata": {{"resourceVersion": "3"}}, "items": [{{{kind} "metadata": {{"name": "7"}}}}]}}"#
        );
        let mut page = decode_page(list.as_bytes(), decode).unwrap();
        page.objects.remove(0).unwrap_err().kind
    };
    let (pod, pods) = (r#""kind": "Pod","#, r#""kind": "PodList","#);
    for (kind, list_kind, expected) in [
        (pod, "", Some("Pod")),
        ("", pods, Some("Pod")),
        ("", "", None),
        (r#""kind": 7,"#, pods, None),
    ] {
        assert_eq!(kind_of(kind, list_kind).as_deref(), expected, "{kind} {list_kind}");
    }
}

/// A watch from an empty resourceVersion starts with the current state and misses deletions before it.
#[test]
fn lists_and_bookmarks_without_a_version_are_errors() {
    for metadata in ["{}", r#"{"resourceVersion": ""}"#] {
        let list = format!(r#"{{"metadata": {metadata}, "items": []}}"#);
        assert!(decode_page(list.as_bytes(), decode).is_err(), "{list}");
        let bookmark = format!(r#"{{"type": "BOOKMARK", "object": {{"metadata": {metadata}}}}}"#);
        assert!(decode_frame(bookmark.as_bytes(), decode).is_err(), "{bookmark}");
    }
}

#[test]
fn a_truncated_line_is_an_error() {
    assert!(decode_frame(br#"{"type": "ADDED", "obj"#, decode).is_err());
}

/// Mutated input as in the fuzz target, which cannot reach this private module: it is decoded or rejected.
#[test]
fn arbitrary_lines_and_pages_never_panic() {
    let metadata = json!({
        "namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7",
        "annotations": {INITIAL_EVENTS_END: "true"},
    });
    let status = json!({"code": 410, "reason": "Expired", "message": "too old", "details": {"retryAfterSeconds": 1}});
    let page = json!({"metadata": {"resourceVersion": "7", "continue": "here"}, "items": [{"metadata": metadata}, {}]});
    let object = json!({"metadata": metadata});
    let events = [
        ("ADDED", &object),
        ("DELETED", &object),
        ("BOOKMARK", &object),
        ("ERROR", &status),
    ];
    let lines = events.map(|(kind, object)| json!({"type": kind, "object": object}));
    let [mut decoded, mut rejected] = [0, 0];
    for text in lines.iter().chain([&page]).map(|value| value.to_string().into_bytes()) {
        for seed in 0..2000 {
            let text = fuzzing::mutate(&text, seed);
            for is_valid in [decode_frame(&text, decode).is_ok(), decode_page(&text, decode).is_ok()] {
                *(if is_valid { &mut decoded } else { &mut rejected }) += 1;
            }
        }
    }
    assert!(
        decoded > 1000 && rejected > 1000,
        "{decoded} decoded, {rejected} rejected"
    );
}
