use serde_json::json;

use super::*;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

/// A slice of a Service, at a version; its generation is the same number.
fn slice(service: &str, name: &str, version: u32) -> CompactSlice {
    let slice = serde_json::from_value(json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "generation": version,
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [],
    }));
    read(&slice.unwrap(), &mut Interner::default())
}

/// The watch shows a slice, whose key is the Service that it names.
fn show(slices: &mut SliceCache, slice: CompactSlice) -> Vec<Key> {
    slices.show(Key::from_slice_labels(&slice.metadata), slice)
}

fn versions(slices: &SliceCache, service: &str) -> Vec<(String, String)> {
    let of = slices.of(&key(service)).iter();
    of.map(|slice| {
        let metadata = &slice.metadata;
        (
            metadata.name.clone().unwrap(),
            metadata.resource_version.clone().unwrap(),
        )
    })
    .collect()
}

fn seen(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()))
        .collect()
}

/// Writes a slice of the key `web` and has it answered so.
fn write(slices: &mut SliceCache, name: &str, version: u32) -> WriteOutcome {
    let ticket = slices.begin_write(&key("web"));
    slices.written(&key("web"), ticket, slice("web", name, version))
}

#[test]
fn slices_are_found_by_key_in_the_order_of_their_names() {
    let mut slices = SliceCache::default();
    for name in ["b", "a", "c"] {
        assert_eq!(show(&mut slices, slice("web", name, 1)), [key("web")]);
    }
    show(&mut slices, slice("db", "d", 1));
    assert_eq!(versions(&slices, "web"), seen(&[("a", "1"), ("b", "1"), ("c", "1")]));
    assert_eq!((slices.homes.len(), slices.of(&key("none")).len()), (4, 0));
}

/// R43, M37, M45, T-CTL-28…30, 93374, 100033: what was written is there at once, whatever the watch has shown.
#[test]
fn a_write_is_seen_at_once_and_an_older_event_does_not_undo_it() {
    let mut slices = SliceCache::default();
    show(&mut slices, slice("web", "a", 1));
    slices.begin(&key("web"));
    assert_eq!(write(&mut slices, "a", 3), WriteOutcome::Recorded);
    show(&mut slices, slice("web", "a", 2));
    assert_eq!(versions(&slices, "web"), seen(&[("a", "3")]));
    assert!(
        !slices.finish(&key("web")),
        "our write would have been refused if generation 2 were not ours as well"
    );
}

/// R24, G-04: our own writes wake nobody, whether the watch shows them before or after their answer.
#[test]
fn the_echo_of_our_own_write_wakes_nobody() {
    let mut slices = SliceCache::default();
    slices.begin(&key("web"));
    assert!(show(&mut slices, slice("web", "a", 1)).is_empty(), "it may be an echo");
    write(&mut slices, "a", 1);
    write(&mut slices, "b", 2);
    assert!(!slices.finish(&key("web")), "it was one");
    assert!(show(&mut slices, slice("web", "b", 2)).is_empty());
}

#[test]
fn a_foreign_change_during_our_write_is_not_taken_for_its_echo() {
    let mut slices = SliceCache::default();
    slices.begin(&key("web"));
    write(&mut slices, "a", 1);
    assert!(show(&mut slices, slice("web", "a", 2)).is_empty());
    assert!(slices.finish(&key("web")));
    assert_eq!(show(&mut slices, slice("web", "a", 3)), [key("web")]);
}

/// W1, D2: a slice that moves to another Service is missed by the first. T-MIR-N19, but for slices of others: they are not watched.
#[test]
fn a_relabelled_slice_wakes_both_its_services() {
    let mut slices = SliceCache::default();
    slices.begin(&key("web"));
    write(&mut slices, "a", 1);
    slices.finish(&key("web"));
    assert_eq!(show(&mut slices, slice("db", "a", 2)), [key("web"), key("db")]);
    assert_eq!(
        (versions(&slices, "web"), versions(&slices, "db")),
        (vec![], seen(&[("a", "2")]))
    );
    let mut nobodys = slice("db", "a", 3);
    nobodys.metadata.labels = None;
    assert_eq!(show(&mut slices, nobodys), [key("db")]);
    assert_eq!(slices.homes.len(), 0);
}

/// M86, W2, 112143, 125354, T-MIR-N18: also a slice that we have not written since the start, unlike M21.
#[test]
fn a_slice_deleted_by_somebody_else_wakes_its_service() {
    let mut slices = SliceCache::default();
    show(&mut slices, slice("web", "a", 1));
    assert_eq!(slices.gone("uid-a"), Some(key("web")));
    assert_eq!(slices.gone("uid-a"), None);
    assert!(slices.of(&key("web")).is_empty());
}

/// T-MIR-N18.
#[test]
fn a_slice_that_we_deleted_is_gone_at_once_and_does_not_come_back() {
    let mut slices = SliceCache::default();
    show(&mut slices, slice("web", "a", 1));
    slices.begin(&key("web"));
    slices.begin_delete(&key("web"), "uid-a");
    slices.deleted("uid-a");
    assert!(slices.of(&key("web")).is_empty());
    assert!(
        show(&mut slices, slice("web", "a", 1)).is_empty(),
        "an event from before its end"
    );
    assert!(slices.of(&key("web")).is_empty());
    assert!(!slices.finish(&key("web")));
    assert_eq!(slices.gone("uid-a"), None);
    assert!(slices.deleted.is_empty() && slices.tracker.is_empty() && slices.sets.is_empty());
}

#[test]
fn a_deletion_that_failed_is_expected_no_longer() {
    let mut slices = SliceCache::default();
    show(&mut slices, slice("web", "a", 1));
    slices.begin_delete(&key("web"), "uid-a");
    slices.not_deleted(&key("web"), "uid-a");
    assert_eq!(slices.gone("uid-a"), Some(key("web")));
}

/// 141592, D2b: an answer that comes after the slice's end must not bring it back.
#[test]
fn an_answer_that_was_overtaken_by_a_deletion_brings_nothing_back() {
    let mut slices = SliceCache::default();
    slices.begin(&key("web"));
    let ticket = slices.begin_write(&key("web"));
    show(&mut slices, slice("web", "a", 1));
    slices.gone("uid-a");
    let answer = slices.written(&key("web"), ticket, slice("web", "a", 1));
    assert_eq!((answer, slices.of(&key("web")).len()), (WriteOutcome::Superseded, 0));
    assert!(slices.finish(&key("web")));
}

/// R10, F11: a new list tells what is gone, but nothing about what is newer than itself.
#[test]
fn what_a_new_list_does_not_contain_is_gone_unless_it_is_newer() {
    let mut slices = SliceCache::default();
    for (name, version) in [("a", 1), ("b", 2), ("c", 9)] {
        show(&mut slices, slice("web", name, version));
    }
    show(&mut slices, slice("web", "d", 3));
    slices.begin_delete(&key("web"), "uid-d");
    slices.deleted("uid-d");
    assert_eq!(slices.relisted(&["uid-a".to_owned()].into(), "5"), [key("web")]);
    assert_eq!(versions(&slices, "web"), seen(&[("a", "1"), ("c", "9")]));
    assert!(slices.deleted.is_empty(), "the list shows that it is gone");
    assert_eq!(
        slices.relisted(&["uid-a".to_owned(), "uid-c".to_owned()].into(), "9"),
        []
    );
}

#[test]
fn a_name_that_somebody_else_has_is_remembered() {
    let mut slices = SliceCache::default();
    slices.note_taken(&key("web"), "web-abcde".to_owned());
    assert_eq!(slices.taken(&key("web")), ["web-abcde"]);
    assert!(slices.taken(&key("db")).is_empty());
}

/// The server's account of who set what is large, and ours neither to keep nor to send back.
#[test]
fn managed_fields_are_not_kept() {
    let mut with = slice("web", "a", 1).to_k8s();
    with.metadata.managed_fields = Some(vec![]);
    assert_eq!(read(&with, &mut Interner::default()), slice("web", "a", 1));
}
