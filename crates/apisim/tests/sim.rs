//! Tests of the simulator through a `kube::Client`.

use apisim::{ApiSim, Config};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Endpoints, Namespace, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{
    Api, Client, Error, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::json;

fn client(sim: &ApiSim) -> Client {
    Client::new(sim.clone(), "default")
}

fn slices(sim: &ApiSim) -> Api<EndpointSlice> {
    Api::default_namespaced(client(sim))
}

fn slice(name: &str, label: &str) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some([("app".into(), label.into())].into()),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".into(),
        ..EndpointSlice::default()
    }
}

/// The code and the reason of an API error.
fn api_error<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
    match result {
        Err(Error::Api(status)) => (status.code, status.reason),
        other => panic!("expected an API error, got {other:?}"),
    }
}

/// The next events of a watch, as event type and object name.
async fn next(
    events: &mut (impl Stream<Item = Result<WatchEvent<EndpointSlice>, Error>> + Unpin),
    count: usize,
) -> Vec<String> {
    let short = |event: WatchEvent<EndpointSlice>| match event {
        WatchEvent::Added(slice) => format!("added {}", slice.name_any()),
        WatchEvent::Modified(slice) => format!("modified {}", slice.name_any()),
        WatchEvent::Deleted(slice) => format!("deleted {}", slice.name_any()),
        WatchEvent::Bookmark(bookmark) => format!("bookmark {}", bookmark.metadata.annotations.len()),
        WatchEvent::Error(status) => format!("error {} {}", status.code, status.reason),
    };
    events
        .take(count)
        .map_ok(short)
        .try_collect()
        .await
        .expect("the watch has no error")
}

async fn relabel(slices: &Api<EndpointSlice>, name: &str, label: &str) -> EndpointSlice {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": label}}}));
    slices
        .patch(name, &PatchParams::default(), &patch)
        .await
        .expect("the patch succeeds")
}

#[tokio::test]
async fn slice_create_update_and_delete() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    let created = slices.create(&PostParams::default(), &slice("a", "x")).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    assert_eq!(created.resource_version(), Some(sim.revision().to_string()));
    let changed = relabel(&slices, "a", "y").await;
    assert_eq!(changed.metadata.generation, Some(2));
    // An update without changes keeps the resourceVersion.
    assert_eq!(relabel(&slices, "a", "y").await, changed);
    // An update with an old resourceVersion conflicts.
    assert_eq!(
        api_error(slices.replace("a", &PostParams::default(), &created).await),
        (409, "Conflict".into())
    );
    assert!(slices.delete("a", &DeleteParams::default()).await.unwrap().is_right());
    assert_eq!(api_error(slices.get("a").await), (404, "NotFound".into()));
}

#[tokio::test]
async fn watch_sends_added_and_deleted_when_the_selection_changes() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    slices.create(&PostParams::default(), &slice("a", "x")).await.unwrap();
    let selected = WatchParams::default().labels("app=x").disable_bookmarks();
    let mut events = slices.watch(&selected, "0").await.unwrap().boxed();
    for (name, label) in [("b", "y"), ("c", "x")] {
        slices
            .create(&PostParams::default(), &slice(name, label))
            .await
            .unwrap();
    }
    relabel(&slices, "b", "x").await;
    relabel(&slices, "a", "y").await;
    slices.delete("c", &DeleteParams::default()).await.unwrap();
    assert_eq!(
        next(&mut events, 5).await,
        ["added a", "added c", "added b", "deleted a", "deleted c"]
    );
}

#[tokio::test]
async fn streaming_list_ends_with_a_bookmark() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    slices.create(&PostParams::default(), &slice("a", "x")).await.unwrap();
    let streaming = WatchParams::default().initial_events();
    let mut events = slices.watch(&streaming, "0").await.unwrap().boxed();
    assert_eq!(next(&mut events, 2).await, ["added a", "bookmark 1"]);
    relabel(&slices, "a", "y").await;
    assert_eq!(next(&mut events, 1).await, ["modified a"]);
}

#[tokio::test(start_paused = true)]
async fn idle_watch_gets_bookmarks_until_it_times_out() {
    let sim = ApiSim::new();
    let watch = WatchParams::default().timeout(130);
    let events = slices(&sim).watch(&watch, &sim.revision().to_string()).await.unwrap();
    let count = events.map_ok(|_| ()).try_collect::<Vec<_>>().await.unwrap().len();
    // After one minute, after two, and two seconds before the end.
    assert_eq!(count, 3);
}

#[tokio::test]
async fn watch_from_evicted_history_gets_410() {
    let sim = ApiSim::with_config(Config {
        history_events_max: 3,
        ..Config::default()
    });
    let slices = slices(&sim);
    let start = sim.revision().to_string();
    let mut slow = slices.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    for name in ["a", "b", "c", "d"] {
        slices.create(&PostParams::default(), &slice(name, "x")).await.unwrap();
    }
    let mut late = slices.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    assert_eq!(next(&mut slow, 1).await, ["error 410 Expired"]);
    assert_eq!(next(&mut late, 1).await, ["error 410 Expired"]);
}

#[tokio::test]
async fn paged_list_is_consistent_until_compaction() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    for name in ["a", "b", "c"] {
        slices.create(&PostParams::default(), &slice(name, "x")).await.unwrap();
    }
    let first = slices.list(&ListParams::default().limit(1)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(2));
    let token = first.metadata.continue_.unwrap();
    slices.delete("b", &DeleteParams::default()).await.unwrap();
    let rest = ListParams::default().limit(5).continue_token(&token);
    let names: Vec<String> = slices
        .list(&rest)
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["b", "c"]);
    sim.compact();
    assert_eq!(api_error(slices.list(&rest).await), (410, "Expired".into()));
}

#[tokio::test]
async fn dependents_are_deleted_with_their_last_owner() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    let endpoints = Api::<Endpoints>::default_namespaced(client(&sim));
    let mut owners = Vec::new();
    for name in ["one", "two"] {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        let owner = Endpoints {
            metadata,
            subsets: None,
        };
        let owner = endpoints.create(&PostParams::default(), &owner).await.unwrap();
        owners.push(OwnerReference {
            api_version: "v1".into(),
            kind: "Endpoints".into(),
            name: name.into(),
            uid: owner.uid().unwrap(),
            ..OwnerReference::default()
        });
    }
    let mut owned = slice("owned", "x");
    owned.metadata.owner_references = Some(owners.clone());
    slices.create(&PostParams::default(), &owned).await.unwrap();
    endpoints.delete("one", &DeleteParams::default()).await.unwrap();
    let left = slices.get("owned").await.unwrap();
    assert_eq!(left.owner_references(), &owners[1..]);
    endpoints.delete("two", &DeleteParams::default()).await.unwrap();
    assert_eq!(api_error(slices.get("owned").await), (404, "NotFound".into()));
}

#[tokio::test]
async fn propagation_policy_orphans_or_deletes_dependents() {
    for (policy, left) in [
        (DeleteParams::background(), false),
        (DeleteParams::orphan(), true),
        (DeleteParams::foreground(), false),
    ] {
        let sim = ApiSim::new();
        let slices = slices(&sim);
        let owner = slices
            .create(&PostParams::default(), &slice("owner", "x"))
            .await
            .unwrap();
        let mut dependent = slice("owned", "x");
        dependent.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "discovery.k8s.io/v1".into(),
            kind: "EndpointSlice".into(),
            name: "owner".into(),
            uid: owner.uid().unwrap(),
            block_owner_deletion: Some(true),
            ..OwnerReference::default()
        }]);
        slices.create(&PostParams::default(), &dependent).await.unwrap();
        slices.delete("owner", &policy).await.unwrap();
        assert_eq!(slices.get_opt("owner").await.unwrap(), None);
        let dependent = slices.get_opt("owned").await.unwrap();
        assert_eq!(
            dependent.map(|dependent| dependent.owner_references().len()),
            left.then_some(0),
            "{policy:?}"
        );
    }
}

#[tokio::test]
async fn namespace_is_removed_after_the_last_finalizer_in_it() {
    let sim = ApiSim::new();
    let namespaces = Api::<Namespace>::all(client(&sim));
    let metadata = ObjectMeta {
        name: Some("n".into()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let slices = Api::<EndpointSlice>::namespaced(client(&sim), "n");
    let mut finalized = slice("finalized", "x");
    finalized.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    slices.create(&PostParams::default(), &finalized).await.unwrap();
    slices
        .create(&PostParams::default(), &slice("free", "x"))
        .await
        .unwrap();
    namespaces.delete("n", &DeleteParams::default()).await.unwrap();
    assert_eq!(slices.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let late = slices.create(&PostParams::default(), &slice("late", "x")).await;
    assert_eq!(api_error(late), (403, "Forbidden".into()));
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    slices
        .patch("finalized", &PatchParams::default(), &release)
        .await
        .unwrap();
    assert_eq!(namespaces.get_opt("n").await.unwrap(), None);
}

#[tokio::test]
async fn scheduled_pod_terminates_with_a_grace_period() {
    let sim = ApiSim::new();
    let pods = Api::<Pod>::default_namespaced(client(&sim));
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    pods.delete("p", &DeleteParams::default()).await.unwrap();
    let terminating = pods.get("p").await.unwrap();
    assert_eq!(terminating.metadata.deletion_grace_period_seconds, Some(30));
    pods.delete("p", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    assert_eq!(pods.get_opt("p").await.unwrap(), None);
}

#[tokio::test]
async fn unknown_resource_is_not_found() {
    let sim = ApiSim::new();
    let config_maps = Api::<ConfigMap>::default_namespaced(client(&sim));
    assert_eq!(
        api_error(config_maps.list(&ListParams::default()).await),
        (404, "NotFound".into())
    );
}

#[tokio::test]
async fn new_server_has_the_kubernetes_service() {
    let services = Api::<Service>::default_namespaced(client(&ApiSim::new()));
    let kubernetes = services.get("kubernetes").await.unwrap();
    assert_eq!(kubernetes.spec.unwrap().cluster_ip.as_deref(), Some("10.0.0.1"));
}
