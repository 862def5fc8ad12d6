use std::time::Duration;

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
    apply_at(cache, slice, Instant::now())
}

fn apply_at(cache: &mut SliceCache, slice: CompactSlice, now: Instant) -> Vec<Key> {
    cache.apply(Key::from_slice_labels(&slice.metadata), slice, now)
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

/// An update without a change keeps the version, and no event follows it: nothing waits for one (127370, 126578).
#[test]
fn a_response_with_the_cached_version_is_recorded_and_expects_no_event() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 3));
    cache.begin_sync(&key("web"));
    assert_eq!(write(&mut cache, "a", 3), WriteOutcome::Recorded);
    assert!(!cache.end_sync(&key("web")));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "3")]));
    assert_eq!(apply(&mut cache, slice("web", "a", 4)), [key("web")]);
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
    cache.left(&key("web"), "uid-a", Instant::now());
    assert!(cache.get(&key("web")).is_empty());
    assert!(
        apply(&mut cache, slice("web", "a", 1)).is_empty(),
        "an event from before the delete"
    );
    assert!(cache.get(&key("web")).is_empty());
    assert!(!cache.end_sync(&key("web")));
    assert_eq!(cache.remove("uid-a"), None);
    assert!(cache.tombstones.uids().next().is_none() && cache.tracker.is_empty() && cache.sets.is_empty());
}

#[test]
fn a_failed_delete_is_no_longer_expected() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    cache.begin_delete(&key("web"), "uid-a");
    cache.delete_failed("uid-a");
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
    cache.left(&key("web"), "uid-d", Instant::now());
    assert_eq!(cache.replace(&["uid-a".to_owned()].into(), "5"), [key("web")]);
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "1"), ("c", "9")]));
    assert!(
        cache.tombstones.uids().next().is_none(),
        "the list confirms the deletion"
    );
    assert_eq!(cache.replace(&["uid-a".to_owned(), "uid-c".to_owned()].into(), "9"), []);
}

/// A 404 that is wrong must not hide a slice for good: the first list that began after the response shows it.
#[test]
fn a_tombstone_ends_if_a_later_list_contains_the_slice() {
    let now = Instant::now();
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    cache.begin_list();
    cache.begin_delete(&key("web"), "uid-a");
    cache.left(&key("web"), "uid-a", now);
    assert!(apply_at(&mut cache, slice("web", "a", 1), now).is_empty());
    cache.replace(&["uid-a".to_owned()].into(), "1");
    assert!(cache.get(&key("web")).is_empty(), "the list began before the response");
    cache.begin_list();
    assert_eq!(apply_at(&mut cache, slice("web", "a", 1), now), [key("web")]);
    cache.replace(&["uid-a".to_owned()].into(), "2");
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "1")]));
    assert_eq!(cache.remove("uid-a"), Some(key("web")), "its deletion is not ours");
}

/// The watch may be late, but not for ever.
#[test]
fn a_tombstone_ends_with_a_newer_version_after_30_seconds() {
    let now = Instant::now();
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 3));
    cache.begin_delete(&key("web"), "uid-a");
    cache.left(&key("web"), "uid-a", now);
    for (version, seconds, is_cached) in [(4, 29, false), (3, 30, false), (4, 30, true)] {
        let enqueued = apply_at(
            &mut cache,
            slice("web", "a", version),
            now + Duration::from_secs(seconds),
        );
        assert_eq!(
            (enqueued.len(), cache.get(&key("web")).len()),
            (is_cached.into(), is_cached.into())
        );
    }
}

/// Created, deleted by another client, listed without it, and only then the response: no event would ever remove it.
#[test]
fn a_response_that_is_not_newer_than_a_list_without_the_slice_is_superseded() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "b", 2));
    cache.begin_sync(&key("web"));
    let tickets: Vec<_> = (0..3).map(|_| cache.begin_write(&key("web"))).collect();
    cache.begin_list();
    cache.replace(&["uid-b".to_owned()].into(), "12");
    let responses = [("a", 12), ("b", 11), ("c", 13)];
    let outcomes = tickets
        .into_iter()
        .zip(responses)
        .map(|(ticket, (name, version))| cache.write_succeeded(&key("web"), ticket, slice("web", name, version)));
    let superseded = outcomes.map(|outcome| outcome == WriteOutcome::Superseded);
    assert_eq!(superseded.collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(versions(&cache, "web"), pairs(&[("b", "11"), ("c", "13")]));
}

/// The stream is held: events of the earlier slice of this name arrive after the response to our create (F16).
#[test]
fn an_older_slice_of_the_same_name_does_not_replace_a_newer_one() {
    let mut cache = SliceCache::default();
    cache.begin_sync(&key("web"));
    let mut created = slice("web", "a", 13);
    created.metadata.uid = Some("uid-new".to_owned());
    let ticket = cache.begin_write(&key("web"));
    cache.write_succeeded(&key("web"), ticket, created);
    apply(&mut cache, slice("web", "a", 11));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "13")]));
    assert!(!cache.key_by_uid.contains_key("uid-a"));
    apply(&mut cache, slice("web", "a", 14));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "14")]));
    assert_eq!(cache.key_by_uid.len(), 1);
}

/// A conflict has shown the slice in its new set; the held event shows it in the old one.
#[test]
fn an_older_event_does_not_move_a_slice_back() {
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 1));
    apply(&mut cache, slice("db", "a", 3));
    assert_eq!(apply(&mut cache, slice("web", "a", 2)), []);
    assert_eq!(
        (versions(&cache, "web"), versions(&cache, "db")),
        (vec![], pairs(&[("a", "3")]))
    );
}

/// Its endpoints are published in another slice, which must not get its name (F25).
#[test]
fn an_undecodable_slice_leaves_the_cache_and_its_name_is_reserved() {
    let now = Instant::now();
    let object = |name: &str, version: &str| ObjectRef {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        resource_version: version.into(),
        ..ObjectRef::default()
    };
    let mut cache = SliceCache::default();
    apply(&mut cache, slice("web", "a", 5));
    assert_eq!(
        cache.apply_undecodable(None, &object("a", "4"), now),
        None,
        "an older version"
    );
    assert_eq!(cache.apply_undecodable(None, &object("a", "6"), now), Some(key("web")));
    assert!(cache.get(&key("web")).is_empty());
    assert_eq!(cache.apply_undecodable(None, &object("unknown", "6"), now), None);
    assert_eq!(
        cache.apply_undecodable(Some(key("web")), &object("b", "7"), now),
        Some(key("web"))
    );
    assert_eq!(cache.reserved.names(&key("web"), now), ["a", "b"]);
    apply(&mut cache, slice("web", "a", 8));
    assert_eq!(versions(&cache, "web"), pairs(&[("a", "8")]), "decodable again");
}

/// After a restore, versions and generations go back: what was cached counts as older than all that follows (F14).
#[test]
fn f14_an_epoch_replaces_the_slices_of_the_one_before() {
    let now = Instant::now();
    let mut cache = SliceCache::default();
    cache.replace(&HashSet::new(), "900");
    for name in ["a", "b", "c", "d", "e"] {
        apply(&mut cache, slice("web", name, 1000));
    }
    cache.begin_sync(&key("web"));
    write(&mut cache, "a", 1001);
    cache.begin_delete(&key("web"), "uid-d");
    cache.left(&key("web"), "uid-d", now);
    cache.reserved.reserve(&key("web"), "foreign", now);
    cache.end_sync(&key("web"));

    cache.start_epoch();
    assert_eq!(
        cache.get(&key("web")).len(),
        4,
        "published until the list shows otherwise"
    );
    assert!(cache.reserved.names(&key("web"), now).is_empty());
    // An event before the list; the generation went back as well.
    assert_eq!(apply(&mut cache, slice("web", "a", 7)), [key("web")]);
    cache.begin_list();
    apply(&mut cache, slice("web", "b", 5));
    apply(&mut cache, slice("web", "d", 6));
    let mut recreated = slice("web", "e", 4);
    recreated.metadata.uid = Some("uid-before".to_owned());
    apply(&mut cache, recreated);
    let listed = ["uid-a", "uid-b", "uid-d", "uid-before"].map(ToOwned::to_owned);
    assert_eq!(cache.replace(&listed.into(), "8"), [key("web")], "c is missing");
    let expected = pairs(&[("a", "7"), ("b", "5"), ("d", "6"), ("e", "4")]);
    assert_eq!(versions(&cache, "web"), expected);
    assert!(cache.outdated.is_empty());
    // Versions compare again.
    apply(&mut cache, slice("web", "a", 6));
    assert_eq!(versions(&cache, "web"), expected);
    assert_eq!(write(&mut cache, "f", 9), WriteOutcome::Recorded);
}

/// They end, and a key without slices keeps none for ever (I12). While labels are rewritten, they last.
#[test]
fn reserved_names_end_after_10_minutes() {
    let now = Instant::now();
    let minutes = |count: u64| now + Duration::from_secs(60 * count);
    let mut reserved = ReservedNames::default();
    reserved.reserve(&key("web"), "a", now);
    reserved.reserve(&key("web"), "a", minutes(1));
    reserved.reserve(&key("web"), "b", minutes(5));
    assert_eq!(reserved.names(&key("web"), minutes(10)), ["a", "b"]);
    assert_eq!(reserved.names(&key("web"), minutes(11)), ["b"]);
    assert!(reserved.names(&key("db"), now).is_empty());

    assert!(!reserved.relabelled(&key("db"), "d", now));
    assert!(
        reserved.relabelled(&key("db"), "e", minutes(9)),
        "two within 10 minutes"
    );
    reserved.probe_failed(&key("db"), minutes(15));
    reserved.sweep(minutes(24));
    assert!(reserved.is_probed(&key("db"), minutes(24)));
    assert_eq!(reserved.names(&key("db"), minutes(24)), ["d", "e"]);
    assert!(reserved.names(&key("web"), minutes(24)).is_empty());
    reserved.sweep(minutes(25));
    assert!(!reserved.is_probed(&key("db"), minutes(25)));
    assert_eq!(format!("{reserved:?}"), "ReservedNames { by_key: {} }");
}

/// They are large, and the server maintains them.
#[test]
fn managed_fields_are_dropped() {
    let mut with = slice("web", "a", 1).to_k8s();
    with.metadata.managed_fields = Some(vec![]);
    assert_eq!(decode(&with, &mut Interner::default()), slice("web", "a", 1));
}
