//! What happens, one thing after another.

use super::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// One Service, one node, and so many ready pods, at rest.
fn at_rest(pods: u8, max: usize, batch: Duration) -> Play {
    let mut play = Play::new(max, batch);
    play.world.put("nodes", node("n1", "a"));
    play.world.put("services", service("web", "web"));
    for i in 0..pods {
        play.world.put("pods", pod(&format!("p{i}"), i, true));
    }
    play.rest();
    assert_eq!(play.published("web").len(), usize::from(pods));
    play.writes = 0;
    play
}

/// What is said twice is kept once, and compared without a look at it.
#[test]
fn slices_share_the_names_of_their_pods() {
    let play = at_rest(1, 100, ms(0));
    let slice = &play.engine.slices.of(&Key::new("ns", "web"))[0];
    let pod = slice.endpoints[0].target.as_ref().unwrap().identity();
    let holders = ["the slice", "the pod", "the known objects", "the interner"];
    assert_eq!(Arc::strong_count(pod), holders.len(), "{pod:?}");
}

/// T-CTL-19…27: what happens to three pods at these times leads to so many writes.
#[test]
fn changes_of_pods_are_batched_from_the_first_on() {
    let actions: [fn(&mut World, u8); 3] = [
        |world, i| drop(world.put("pods", pod(&format!("new{i}"), 100 + i, true))),
        |world, i| drop(world.put("pods", pod(&format!("p{i}"), 100 + i, true))),
        |world, i| assert!(world.delete("pods", &format!("p{i}"))),
    ];
    for (action, change) in actions.iter().enumerate() {
        for (batch, times, writes) in [
            (ms(0), [200, 300, 400], 3),
            (ms(1000), [200, 300, 400], 1),
            (ms(1000), [200, 300, 1300], 2),
        ] {
            let mut play = at_rest(10, 100, batch);
            let mut passed = 0;
            for (i, time) in times.into_iter().enumerate() {
                play.pass(ms(time - passed));
                passed = time;
                change(&mut play.world, u8::try_from(i).unwrap());
                play.run();
            }
            play.rest();
            assert_eq!(play.writes, writes, "action {action}, batch {batch:?}, {times:?}");
        }
    }
}

/// R12, R46, I6, I11: a restart, a new list and a look at everything write nothing.
#[test]
fn at_rest_nothing_is_written() {
    let mut play = at_rest(7, 3, ms(0));
    play.engine.resync_all(play.now);
    assert_eq!(play.writes_until_rest(), 0);
    for kind in world::KINDS {
        play.list(kind);
    }
    assert_eq!(play.writes_until_rest(), 0);
    let mut again = Play::restarted(play.world, 3, ms(0));
    assert_eq!(again.writes_until_rest(), 0);
}

/// R45, M33, I11, F10: nothing is decided before everything is listed.
#[test]
fn nothing_is_written_before_everything_is_known() {
    let mut before = at_rest(3, 100, ms(0));
    before.world.delete("pods", "p0");
    let mut play = Play::unlisted(before.world, 100, ms(0));
    for kind in ["services", SLICES, "nodes"] {
        play.list(kind);
        play.pass(ms(10_000));
        assert_eq!((play.writes, play.engine.is_synced()), (0, false), "{kind}");
    }
    play.list("pods");
    assert_eq!(play.writes_until_rest(), 1);
}

/// T-CTL-12, R23, G-05…G-09: a slice that somebody else deletes, edits, relabels or doubles is repaired.
#[test]
fn a_slice_that_somebody_else_changed_is_repaired() {
    let ours = json!({"endpointslice.kubernetes.io/managed-by": service_slices::MANAGED_BY});
    for (what, pointer, value) in [
        ("endpoints", "/endpoints", json!([])),
        ("ports", "/ports", json!([{"name": "x", "port": 1}])),
        ("a label", "/metadata/labels/a", json!("foreign label")),
        (
            "another service",
            "/metadata/labels/kubernetes.io~1service-name",
            json!("other"),
        ),
        ("nobody's", "/metadata/labels", ours),
    ] {
        let mut play = at_rest(3, 100, ms(0));
        let mut slice = play.world.slices().next().unwrap().clone();
        slice["metadata"]["labels"]["a"] = json!("label");
        *slice.pointer_mut(pointer).unwrap() = value;
        play.world.put(SLICES, slice);
        play.run();
        assert_eq!(play.writes, 0, "{what}: not at once");
        play.pass(ms(1000));
        play.rest();
        assert_eq!((play.published("web").len(), play.writes), (3, 1), "{what}");
    }
    let mut play = at_rest(3, 100, ms(0));
    let name = identity_of_first(&play);
    play.world.delete(SLICES, &name);
    assert_eq!((play.writes_until_rest(), play.published("web").len()), (1, 3));
    let mut double = play.world.slices().next().unwrap().clone();
    double["metadata"]["name"] = json!("double");
    play.world.put(SLICES, double);
    assert_eq!((play.writes_until_rest(), play.published("web").len()), (1, 3));
}

fn identity_of_first(play: &Play) -> String {
    world::object_ref(play.world.slices().next().unwrap()).name.to_string()
}

/// W2: also when it happened while we were down, or to a slice that we have not written since (G-17).
#[test]
fn what_happened_to_slices_while_nobody_looked_is_repaired() {
    let mut before = at_rest(3, 100, ms(0));
    let name = identity_of_first(&before);
    before.world.delete(SLICES, &name);
    let mut play = Play::restarted(before.world, 100, ms(0));
    assert_eq!((play.writes_until_rest(), play.published("web").len()), (1, 3));
    let mut play = Play::restarted(play.world, 100, ms(0));
    assert_eq!(play.writes_until_rest(), 0);
    let name = identity_of_first(&play);
    play.world.delete(SLICES, &name);
    assert_eq!((play.writes_until_rest(), play.published("web").len()), (1, 3));
}

#[test]
fn g_37_a_slice_that_is_nobodys_is_left_alone() {
    let mut play = at_rest(3, 100, ms(0));
    let mut nobodys = play.world.slices().next().unwrap().clone();
    nobodys["metadata"]["name"] = json!("nobodys");
    nobodys["metadata"]["labels"] = json!({"endpointslice.kubernetes.io/managed-by": service_slices::MANAGED_BY});
    play.world.put(SLICES, nobodys);
    assert_eq!((play.writes_until_rest(), play.world.slices().count()), (0, 2));
}

/// Unlike R36, the pod's own time then finds nothing to look at: it has been answered.
#[test]
fn g_03_a_change_of_the_service_takes_pods_along_that_wait() {
    let mut play = at_rest(1, 100, ms(10_000));
    play.world.put("pods", pod("p1", 1, true));
    play.run();
    assert_eq!((play.writes, play.published("web").len()), (0, 1));
    let mut changed = service("web", "web");
    changed["metadata"]["labels"] = json!({"a": "label"});
    play.world.put("services", changed);
    play.run();
    assert_eq!((play.writes, play.published("web").len()), (1, 2));
    assert_eq!(play.writes_until_rest(), 0);
}

/// A Service whose slice of one family is to be replaced by one of the other, where the first one's end waits for the other.
fn changing_its_family() -> Play {
    let mut play = at_rest(0, 100, ms(0));
    let mut dual = pod("p0", 0, true);
    dual["status"]["podIPs"] = json!([{"ip": "10.0.0.0"}, {"ip": "fd00::1"}]);
    play.world.put("pods", dual);
    play.rest();
    play.writes = 0;
    let mut changed = service("web", "web");
    changed["spec"]["ipFamilies"] = json!(["IPv6"]);
    play.world.put("services", changed);
    while play.tell("services") {}
    play
}

/// M102: it is a success, what waits for the create is not tried, and nobody tries again.
#[test]
fn t_gx_06_t_mir_n17_a_namespace_that_is_going_away_is_no_failure() {
    let mut play = changing_its_family();
    play.run_with(Fault::NamespaceTerminating);
    assert_eq!((play.writes, play.world.slices().count()), (0, 1));
    assert_eq!(play.engine.queue.failing().count(), 0);
    assert_eq!(play.engine.next_deadline(), None);
}

/// M109, W11, D5.
#[test]
fn g_24_t_gx_07_t_mir_n07_a_slice_that_is_gone_already_is_deleted() {
    let mut play = changing_its_family();
    play.work();
    let name = identity_of_first(&play);
    play.world.delete(SLICES, &name);
    play.run();
    assert_eq!(play.engine.queue.failing().count(), 0);
    assert_eq!(play.published("web"), [("fd00::1".to_owned(), true)]);
    assert_eq!(play.writes_until_rest(), 0);
}

/// F1: a conflict is answered by a look at what is there in fact.
#[test]
fn a_conflict_costs_one_more_write() {
    let mut play = at_rest(3, 100, ms(0));
    play.world.put("pods", pod("p9", 9, true));
    play.tell("pods");
    play.work();
    let mut slice = play.world.slices().next().unwrap().clone();
    slice["metadata"]["annotations"]["foreign"] = json!("kept");
    play.world.put(SLICES, slice);
    play.run();
    assert_eq!((play.published("web").len(), play.writes), (4, 1));
    let slice = play.world.slices().next().unwrap();
    assert_eq!(slice["metadata"]["annotations"]["foreign"], "kept");
}

/// F2: a slice that was deleted under our hands is made anew at once.
#[test]
fn a_slice_that_is_gone_is_made_anew() {
    let mut play = at_rest(3, 100, ms(0));
    play.world.put("pods", pod("p9", 9, true));
    play.tell("pods");
    play.work();
    let name = identity_of_first(&play);
    play.world.delete(SLICES, &name);
    play.run();
    assert_eq!(play.published("web").len(), 4);
}

/// F7: a create whose answer is lost meets itself.
#[test]
fn a_lost_answer_leads_to_no_duplicate() {
    let mut play = Play::new(100, ms(0));
    play.world.put("nodes", node("n1", "a"));
    play.world.put("services", service("web", "web"));
    play.world.put("pods", pod("p0", 0, true));
    play.run_with(Fault::AnswerLost);
    play.rest();
    assert_eq!((play.world.slices().count(), play.published("web").len()), (1, 1));
}

/// F4, F5, I12: a key that fails is tried for ever, with waits that grow up to a minute, and heals within one.
#[test]
fn a_failing_key_is_tried_for_ever_and_people_are_told() {
    let mut play = at_rest(1, 100, ms(0));
    play.world.put("pods", pod("p1", 1, true));
    for _ in 0..100 {
        play.run_with(Fault::Refused);
        let wait = play.engine.next_deadline().unwrap() - play.now;
        assert!(wait <= Duration::from_secs(60));
        play.now += wait;
    }
    assert_eq!(play.engine.queue.failing().count(), 1);
    let told = play
        .events
        .iter()
        .filter(|event| event.reason == "FailedToUpdateEndpointSlices")
        .count();
    assert_eq!(told, 99, "all but the first, which may be a hiccup");
    play.run();
    assert_eq!(
        (play.published("web").len(), play.engine.queue.failing().count()),
        (2, 0)
    );
}

/// F23, 141592: a Service that is deleted and made anew at once gets slices of its own, and nobody waits for the old ones.
#[test]
fn a_service_that_is_made_anew_gets_slices_of_its_own() {
    for tell_first in [true, false] {
        let mut play = at_rest(2, 100, ms(0));
        play.world.delete("services", "web");
        if tell_first {
            play.run();
        }
        let uid = play.world.put("services", service("web", "web"))["metadata"]["uid"].clone();
        play.run();
        while play.world.collect_garbage() {}
        play.rest();
        let owners: Vec<_> = play
            .world
            .slices()
            .map(|slice| slice["metadata"]["ownerReferences"][0]["uid"].clone())
            .collect();
        assert_eq!((owners, play.published("web").len()), (vec![uid], 2), "{tell_first}");
    }
}

/// A name that somebody else has is left to them.
#[test]
fn a_name_that_is_taken_is_left_alone() {
    let mut first = at_rest(2, 100, ms(0));
    let mut foreign = first.world.slices().next().unwrap().clone();
    foreign["metadata"]["labels"] = json!({"somebody": "else"});
    let name = identity_of_first(&first);
    first.world.put(SLICES, foreign.clone());
    first.rest();
    let slices: Vec<_> = first
        .world
        .slices()
        .map(|slice| world::object_ref(slice).name.to_string())
        .collect();
    assert_eq!(slices.len(), 2);
    assert!(slices.contains(&name));
    assert_eq!(
        first.world.get(SLICES, &name).unwrap()["metadata"]["labels"],
        foreign["metadata"]["labels"]
    );
}

/// `--dry-run`.
#[test]
fn a_dry_run_writes_nothing() {
    let mut play = Play::new(100, ms(0));
    play.engine.config.dry_run = true;
    play.world.put("nodes", node("n1", "a"));
    play.world.put("services", service("web", "web"));
    assert_eq!(play.writes_until_rest(), 0);
    assert_eq!(play.world.slices().count(), 0);
}
