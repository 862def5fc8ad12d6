use serde_json::json;

use super::*;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

/// A slice of a Service, with the same number as resourceVersion and generation.
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
    decode(&slice.unwrap(), &mut Interner::default())
}

/// Applies a watch event of a slice; its label names the key.
fn apply(cache: &mut SliceCache, slice: CompactSlice) -> Vec<Key> {
    cache.apply(Key::from_slice_labels(&slice.metadata), slice)
}

fn versions(cache: &SliceCache, service: &str) -> Vec<(String, String)> {
    let slices = cache.get(&key(service)).iter();
    slices
        .map(|slice| {
            let metadata = &slice.metadata;
            (
                metadata.name.clone().unwrap(),
                metadata.resource_version.clone().unwrap(),
            )
        })
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()))
        .collect()
}

/// A write of a slice of the key `web` whose response has this version.
fn write(cache: &mut SliceCache, name: &str, version: u32) -> WriteOutcome {
    let ticket = cache.begin_write(&key("web"));
    cache.write_succeeded(&key("web"), ticket, slice("web", name, version))
}

#[test]
fn slices_of_a_key_are_in_the_order_of_their_names() {
    let mut cache = SliceCache::default();
    for name in ["b", "a", "c"] {
        assert_eq!(apply(&mut cache, slice("web", name, 1)), [key("web")]);
    }
    apply(&mut cache, slice("db", "d", 1));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "1"), ("b", "1"), ("c", "1")]));
    assert_eq!((cache.key_by_uid.len(), cache.get(&key("none")).len()), (4, 0));
}

/// The overlay: a response is in the cache at once, whatever the watch has shown (R43, M37, M45, T-CTL-28…30, 93374, 100033).
#[test]
fn a_write_is_cached_at_once_and_an_older_event_does_not_undo_it() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    cache.begin_sync(&key("web"));
    assert_eq!(write(&mut cache, "a", 3), WriteOutcome::Recorded);
    apply(&mut cache, slice("web", "a", 2));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "3")]));
    assert!(
        !cache.end_sync(&key("web")),
        "generation 2 is ours as well, otherwise our write would have been a conflict"
    );
}

/// Whether the event arrives before or after the response (R24, G-04).
#[test]
fn the_echo_of_our_own_write_enqueues_nothing() {
    let mut cache = SliceCache::default();
    cache.begin_sync(&key("web"));
    assert!(
        apply(&mut cache, slice("web", "a", 1)).is_empty(),
        "deferred, it may be an echo"
    );
    write(&mut cache, "a", 1);
    write(&mut cache, "b", 2);
    assert!(!cache.end_sync(&key("web")), "it was an echo");
    assert!(apply(&mut cache, slice("web", "b", 2)).is_empty());
}

#[test]
fn a_foreign_change_during_our_write_enqueues_the_key() {
    let mut cache = SliceCache::default();
    cache.begin_sync(&key("web"));
    write(&mut cache, "a", 1);
    assert!(apply(&mut cache, slice("web", "a", 2)).is_empty());
    assert!(cache.end_sync(&key("web")));
    assert_eq!(apply(&mut cache, slice("web", "a", 3)), [key("web")]);
}

/// The old Service may lack the slice now (W1, D2). Slices without our managed-by label are not watched (unlike T-MIR-N19).
#[test]
fn a_relabelled_slice_enqueues_old_and_new_service() {
    let mut cache = SliceCache::default();
    cache.begin_sync(&key("web"));
    write(&mut cache, "a", 1);
    cache.end_sync(&key("web"));
    assert_eq!(apply(&mut cache, slice("db", "a", 2)), [key("web"), key("db")]);
    assert_eq!(
        (versions(&cache, "web"), versions(&cache, "db")),
        (vec![], pairs(&[("a", "2")]))
    );
    let mut unlabelled = slice("db", "a", 3);
    unlabelled.metadata.labels = None;
    assert_eq!(apply(&mut cache, unlabelled), [key("db")]);
    assert_eq!(cache.key_by_uid.len(), 0);
}

/// Also if we have not written the slice since the start, unlike M21 (M86, W2, 112143, 125354, T-MIR-N18).
#[test]
fn a_foreign_deletion_enqueues_the_service() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    assert_eq!(cache.remove("uid-a"), Some(key("web")));
    assert_eq!(cache.remove("uid-a"), None);
    assert!(cache.get(&key("web")).is_empty());
}

/// A tombstone keeps older watch events out of the cache (T-MIR-N18).
#[test]
fn a_slice_that_we_deleted_leaves_the_cache_at_once_and_stays_out() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    cache.begin_sync(&key("web"));
    cache.begin_delete(&key("web"), "uid-a");
    cache.delete_succeeded("uid-a");
    assert!(cache.get(&key("web")).is_empty());
    assert!(
        apply(&mut cache, slice("web", "a", 1)).is_empty(),
        "an event from before the delete"
    );
    assert!(cache.get(&key("web")).is_empty());
    assert!(!cache.end_sync(&key("web")));
    assert_eq!(cache.remove("uid-a"), None);
    assert!(cache.tombstones.is_empty() && cache.tracker.is_empty() && cache.sets.is_empty());
}

#[test]
fn a_failed_delete_is_no_longer_expected() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    cache.begin_delete(&key("web"), "uid-a");
    cache.delete_failed(&key("web"), "uid-a");
    assert_eq!(cache.remove("uid-a"), Some(key("web")));
}

/// A response that arrives after the DELETED event must not restore the slice (141592, D2b).
#[test]
fn a_response_superseded_by_a_deletion_is_dropped() {
    let mut cache = SliceCache::default();
    cache.begin_sync(&key("web"));
    let ticket = cache.begin_write(&key("web"));
    apply(&mut cache, slice("web", "a", 1));
    cache.remove("uid-a");
    let outcome = cache.write_succeeded(&key("web"), ticket, slice("web", "a", 1));
    assert_eq!((outcome, cache.get(&key("web")).len()), (WriteOutcome::Superseded, 0));
    assert!(cache.end_sync(&key("web")));
}

/// A relist implies deletions, but not of slices that are newer than the list (R10, F11).
#[test]
fn a_relist_removes_missing_slices_unless_they_are_newer() {
    let mut cache = SliceCache::default();
    for (name, version) in [("a", 1), ("b", 2), ("c", 9)] {
        apply(&mut cache, slice("web", name, version));
    }
    apply(&mut cache, slice("web", "d", 3));
    cache.begin_delete(&key("web"), "uid-d");
    cache.delete_succeeded("uid-d");
    assert_eq!(cache.replace(&["uid-a".to_owned()].into(), "5"), [key("web")]);
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "1"), ("c", "9")]));
    assert!(cache.tombstones.is_empty(), "the list confirms the deletion");
    assert_eq!(cache.replace(&["uid-a".to_owned(), "uid-c".to_owned()].into(), "9"), []);
}

#[test]
fn names_of_foreign_slices_are_reserved() {
    let mut cache = SliceCache::default();
    cache.reserve_name(&key("web"), "web-abcde".to_owned());
    assert_eq!(cache.reserved_names(&key("web")), ["web-abcde"]);
    assert!(cache.reserved_names(&key("db")).is_empty());
}

/// They are large, and the server maintains them.
#[test]
fn managed_fields_are_dropped() {
    let mut with = slice("web", "a", 1).to_k8s();
    with.metadata.managed_fields = Some(vec![]);
    assert_eq!(decode(&with, &mut Interner::default()), slice("web", "a", 1));
}
