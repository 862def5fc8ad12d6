//! Memory of the indexes: it follows the objects that exist, not their highest number so far (I12).

use super::*;

/// A pod of the Service `web` with a label of its own, as a `StatefulSet` gives them.
fn stateful_pod(n: usize) -> Value {
    let name = format!("web-{n}");
    let labels = json!({"app": "web", "pod-name": &name});
    let pod = with(
        &pod(&name, &format!("10.0.{}.{}", n / 256, n % 256)),
        "/metadata/labels",
        labels,
    );
    with(&pod, "/spec/nodeName", json!(format!("n{}", n % 500)))
}

#[test]
fn the_index_shrinks_with_the_pods() {
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    harness.apply(&service("db"));
    for n in 0..5000 {
        assert_eq!(harness.apply(&stateful_pod(n)), ["ns/web"]);
    }
    for n in 0..500 {
        harness.apply(&node(&format!("n{n}"), "a"));
    }
    for n in 0..4995 {
        assert_eq!(harness.delete(Watch::Pods, &format!("web-{n}")), ["ns/web"]);
    }
    for n in 0..490 {
        harness.delete(Watch::Nodes, &format!("n{n}"));
    }
    let controller = &harness.controller;
    let capacities = [
        controller.namespaces["ns"].capacity(),
        controller.pods_by_node.capacity(),
        controller.nodes.capacity(),
    ];
    assert!(capacities.iter().all(|capacity| *capacity <= 64), "{capacities:?}");

    // The rest is still indexed.
    assert_eq!(harness.sync("web"), (vec!["create 5".to_owned()], vec![]));
    assert_eq!(harness.apply(&stateful_pod(4999)), NONE);
    assert_eq!(harness.apply(&node("n499", "b")), ["ns/web"]);
    let moved = with(&stateful_pod(4999), "/metadata/labels/app", json!("db"));
    assert_eq!(harness.apply(&moved), ["ns/db", "ns/web"]);
    assert_eq!(harness.delete(Watch::Pods, "web-4998"), ["ns/web"]);
    assert_eq!(harness.sync("web").0, ["update 3"]);
}

#[test]
fn the_index_shrinks_with_the_services() {
    let mut harness = Harness::new();
    harness.apply(&pod("p", "10.0.0.1"));
    for n in 0..1000 {
        let selecting = with(&service(&format!("web-{n}")), "/spec/selector", json!({"app": "web"}));
        harness.apply(&selecting);
    }
    for n in 1..1000 {
        assert_eq!(
            harness.delete(Watch::Services, &format!("web-{n}")),
            [format!("ns/web-{n}")]
        );
    }
    let capacity = harness.controller.namespaces["ns"].capacity();
    assert!(capacity <= 64, "{capacity}");
    assert_eq!(harness.delete(Watch::Pods, "p"), ["ns/web-0"]);
}

#[test]
fn namespaces_without_objects_are_removed() {
    let mut harness = Harness::new();
    let in_namespace = |n: usize| with(&pod("p", "10.0.0.1"), "/metadata/namespace", json!(format!("ns-{n}")));
    for n in 0..1000 {
        harness.apply(&in_namespace(n));
    }
    for n in 0..1000 {
        let object = ObjectRef {
            namespace: format!("ns-{n}").into(),
            name: "p".into(),
            ..ObjectRef::default()
        };
        harness.controller.delete(Watch::Pods, &object, &mut harness.context);
    }
    let controller = &harness.controller;
    assert_eq!(controller.namespaces.len(), 0);
    let capacities = [controller.namespaces.capacity(), controller.pods_by_node.capacity()];
    assert!(capacities.iter().all(|capacity| *capacity <= 64), "{capacities:?}");
}

/// A node event visits the pods on the node, not all namespaces.
#[test]
fn a_node_event_visits_only_pods_on_the_node() {
    let mut harness = Harness::new();
    for n in 0..1000 {
        let namespace = json!(format!("ns-{n}"));
        harness.apply(&with(&service("web"), "/metadata/namespace", namespace.clone()));
        let pod = with(&pod("p", "10.0.0.1"), "/metadata/namespace", namespace);
        let pod = with(&pod, "/metadata/uid", json!(format!("uid-{n}")));
        harness.apply(&with(&pod, "/spec/nodeName", json!(format!("n{}", n / 2))));
    }
    assert_eq!(harness.controller.pods_by_node.pods_on("n7").count(), 2);
    assert_eq!(harness.apply(&node("n7", "a")), ["ns-14/web", "ns-15/web"]);
    assert_eq!(harness.apply(&node("n500", "a")), NONE);
}

/// A recreated pod has another uid, and may run on another node.
#[test]
fn a_recreated_pod_moves_to_its_new_node() {
    let mut harness = Harness::new();
    harness.apply(&service("web"));
    harness.apply(&pod("p", "10.0.0.1"));
    let recreated = with(&pod("p", "10.0.0.2"), "/metadata/uid", json!("another"));
    harness.apply(&recreated);
    assert_eq!(harness.controller.pods_by_node.pods_on("n1").count(), 1);
    harness.apply(&with(&recreated, "/spec/nodeName", json!("n2")));
    assert_eq!(harness.apply(&node("n1", "a")), NONE);
    assert_eq!(harness.apply(&node("n2", "a")), ["ns/web"]);
    harness.delete(Watch::Pods, "p");
    assert_eq!(harness.controller.pods_by_node.pods_on("n2").count(), 0);
}
