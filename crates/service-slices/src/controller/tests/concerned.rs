//! Upstream's own cases of which Services a pod concerns. Where its answer depends on a pod without an address, the pod here
//! has one: without it, it is nobody's endpoint, and nobody is looked at.

use super::*;

/// Labels `a`, `b` … as the letters say; the Service of a letter selects its label.
fn labelled(letters: &str) -> Value {
    let labels: BTreeMap<String, &str> = letters.chars().map(|letter| (letter.into(), "yes")).collect();
    with(&pod("p", "10.0.0.1"), "/metadata/labels", json!(labels))
}

#[test]
fn t_cut_01_to_06_t_dnu_01_to_06_a_pod_concerns_whom_it_leaves_and_joins_or_all_if_it_says_something_else() {
    for (old, new, moved, moved_and_changed) in [
        ("abc", "abc", "", "abc"),
        ("abc", "def", "abcdef", "abcdef"),
        ("abc", "", "abc", "abc"),
        ("", "abc", "abc", "abc"),
        ("abc", "bcd", "ad", "abcd"),
        ("", "", "", ""),
    ] {
        let new_address = with(&labelled(new), "/status/podIPs", json!([{"ip": "10.0.0.2"}]));
        for (now, expected) in [(labelled(new), moved), (new_address, moved_and_changed)] {
            let mut stage = Stage::new();
            for letter in "abcdef".chars() {
                let selector = json!({letter.to_string(): "yes"});
                stage.apply(&with(&service(&letter.to_string()), "/spec/selector", selector));
            }
            stage.apply(&labelled(old));
            let woken = stage.apply(&now).concat().replace("ns/", "");
            assert_eq!(woken, expected, "{old} to {now}");
        }
    }
}

#[test]
fn t_cut_22_to_26_t_psu_01_to_05_a_deleted_pod_concerns_the_services_that_selected_it() {
    let mut stage = Stage::new();
    for i in 0..3 {
        let selector = json!({"app": format!("test-{i}")});
        stage.apply(&with(&service(&format!("service-{i}")), "/spec/selector", selector));
    }
    for i in 0..5 {
        let labels = json!({"app": format!("test-{i}")});
        stage.apply(&with(&pod(&format!("pod-{i}"), "10.0.0.1"), "/metadata/labels", labels));
    }
    for (i, expected) in [
        (0, vec!["ns/service-0"]),
        (1, vec!["ns/service-1"]),
        (2, vec!["ns/service-2"]),
        (3, vec![]),
        (4, vec![]),
    ] {
        assert_eq!(stage.delete(Watch::Pods, &format!("pod-{i}")), expected);
    }
}

/// The Service `stays` selects the pod whatever else its labels are, `moves` by one that comes and goes: the first tells whether
/// the pod says something else, the second whether its labels do.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn t_cut_27_to_41_t_pch_01_to_15_what_of_a_pod_matters() {
    let nothing = with(
        &with(
            &pod("p", "10.0.0.1"),
            "/metadata/labels",
            json!({"foo": "bar", "all": "same"}),
        ),
        "/status",
        json!({"phase": "Running"}),
    );
    let ips = |ips: &[&str]| {
        let ips: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        with(&nothing, "/status/podIPs", json!(ips))
    };
    let (v4, v6) = ("1.2.3.4", "fd00:10:96::1");
    let labels = |labels: Value| with(&ips(&[v4]), "/metadata/labels", labels);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let ended = json!("2024-01-02T03:04:05Z");
    for (id, before, after, (says_else, moves)) in [
        ("27", nothing.clone(), nothing.clone(), (false, false)),
        (
            "28",
            nothing.clone(),
            with(&nothing, "/spec/nodeName", json!("other")),
            (false, false),
        ),
        (
            "29",
            nothing.clone(),
            with(&nothing, "/metadata/resourceVersion", json!("2")),
            (false, false),
        ),
        ("30", nothing.clone(), ips(&[v4]), (true, false)),
        ("31", ips(&[v4]), ips(&["2.3.4.5"]), (true, false)),
        ("32", nothing.clone(), ips(&[v6]), (true, false)),
        ("33", ips(&[v6]), ips(&["fd00:10:96::2"]), (true, false)),
        ("34", ips(&[v4]), ips(&[v4, v6]), (true, false)),
        ("35", ips(&[v4, v6]), ips(&[v4, "fd00:10:96::2"]), (true, false)),
        ("36", ips(&[v4, v6]), ips(&[v4]), (true, false)),
        (
            "37",
            ips(&[v4]),
            with(&ips(&[v4]), "/status/conditions", ready),
            (true, false),
        ),
        (
            "38",
            ips(&[v4]),
            with(&ips(&[v4]), "/metadata/deletionTimestamp", ended),
            (true, false),
        ),
        (
            "39",
            labels(json!({"all": "same", "foo": "bar"})),
            labels(json!({"all": "same", "foo": "bar", "new": "1"})),
            (false, true),
        ),
        (
            "40",
            labels(json!({"all": "same", "new": "0"})),
            labels(json!({"all": "same", "new": "1"})),
            (false, true),
        ),
        (
            "41",
            labels(json!({"all": "same", "new": "1"})),
            labels(json!({"all": "same"})),
            (false, true),
        ),
    ] {
        let mut stage = Stage::new();
        for (name, selector) in [("stays", json!({"all": "same"})), ("moves", json!({"new": "1"}))] {
            stage.apply(&with(&service(name), "/spec/selector", selector));
        }
        stage.apply(&before);
        let woken = stage.apply(&after);
        let has = |key: &str| woken.iter().any(|woken| woken == key);
        assert_eq!((has("ns/stays"), has("ns/moves")), (says_else, moves), "T-CUT-{id}");
    }
}

/// G-20, G-21, W9: that a pod has ended counts, whatever else it says; that one which is going away is told again does not.
#[test]
fn g_20_g_21_the_end_of_a_pod_counts_once() {
    for publish_not_ready in [false, true] {
        let mut stage = Stage::new();
        stage.apply(&node("n1", "a"));
        stage.apply(&with(
            &service("web"),
            "/spec/publishNotReadyAddresses",
            json!(publish_not_ready),
        ));
        let unready = with(&pod("p", "10.0.0.1"), "/status/conditions/0/status", json!("False"));
        stage.apply(&unready);
        stage.sync("web");
        let going = with(&unready, "/metadata/deletionTimestamp", json!("2024-01-02T03:04:05Z"));
        assert_eq!(stage.apply(&going), ["ns/web"]);
        let irrelevant = with(&going, "/status/containerStatuses", json!([{"name": "c"}]));
        assert_eq!(stage.apply(&irrelevant), [""; 0]);
        assert_eq!(stage.apply(&with(&going, "/status/phase", json!("Failed"))), ["ns/web"]);
        stage.sync("web");
        assert_eq!(stage.endpoints(), []);
    }
}

#[test]
fn g_22_a_node_that_appears_publishes_the_pods_that_waited_for_it() {
    let mut stage = Stage::new();
    stage.apply(&service("web"));
    stage.apply(&pod("p", "10.0.0.1"));
    assert_eq!(stage.sync("web").0, ["create 0"]);
    assert_eq!(stage.apply(&node("n1", "a")), ["ns/web"]);
    assert_eq!(stage.sync("web").0, ["update 1"]);
}
