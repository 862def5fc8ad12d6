//! The simulator as a plain `kube::Client` sees it.

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

/// The code and the reason of a refusal.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
    match result {
        Err(Error::Api(status)) => (status.code, status.reason),
        other => panic!("not refused: {other:?}"),
    }
}

/// The next events of a watch in short: what happened to whom.
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
        .expect("a watch that goes on")
}

async fn relabel(slices: &Api<EndpointSlice>, name: &str, label: &str) -> EndpointSlice {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": label}}}));
    slices
        .patch(name, &PatchParams::default(), &patch)
        .await
        .expect("a slice that can be patched")
}

#[tokio::test]
async fn a_slice_is_created_changed_and_deleted() {
    let sim = ApiSim::new();
    let slices = slices(&sim);
    let created = slices.create(&PostParams::default(), &slice("a", "x")).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    assert_eq!(created.resource_version(), Some(sim.revision().to_string()));
    let changed = relabel(&slices, "a", "y").await;
    assert_eq!(changed.metadata.generation, Some(2));
    // Nothing changes: no new version.
    assert_eq!(relabel(&slices, "a", "y").await, changed);
    // The old version is no longer good for an update.
    assert_eq!(
        refusal(slices.replace("a", &PostParams::default(), &created).await),
        (409, "Conflict".into())
    );
    assert!(slices.delete("a", &DeleteParams::default()).await.unwrap().is_right());
    assert_eq!(refusal(slices.get("a").await), (404, "NotFound".into()));
}

#[tokio::test]
async fn a_watch_shows_what_enters_and_leaves_the_selection() {
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
async fn a_watch_list_ends_its_beginning_with_a_bookmark() {
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
async fn a_silent_watch_gets_bookmarks_until_it_times_out() {
    let sim = ApiSim::new();
    let watch = WatchParams::default().timeout(130);
    let events = slices(&sim).watch(&watch, &sim.revision().to_string()).await.unwrap();
    let count = events.map_ok(|_| ()).try_collect::<Vec<_>>().await.unwrap().len();
    // After one minute, after two, and two seconds before the end.
    assert_eq!(count, 3);
}

#[tokio::test]
async fn history_that_is_gone_answers_410() {
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
async fn pages_show_one_version_until_it_is_compacted() {
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
    assert_eq!(refusal(slices.list(&rest).await), (410, "Expired".into()));
}

#[tokio::test]
async fn dependents_go_with_their_last_owner() {
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
    assert_eq!(refusal(slices.get("owned").await), (404, "NotFound".into()));
}

#[tokio::test]
async fn orphans_stay_without_their_owner_and_foreground_deletion_waits_for_blockers() {
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
async fn a_namespace_goes_when_the_last_finalizer_in_it_is_gone() {
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
    let mut held = slice("held", "x");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    slices.create(&PostParams::default(), &held).await.unwrap();
    slices
        .create(&PostParams::default(), &slice("free", "x"))
        .await
        .unwrap();
    namespaces.delete("n", &DeleteParams::default()).await.unwrap();
    assert_eq!(slices.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let late = slices.create(&PostParams::default(), &slice("late", "x")).await;
    assert_eq!(refusal(late), (403, "Forbidden".into()));
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    slices.patch("held", &PatchParams::default(), &release).await.unwrap();
    assert_eq!(namespaces.get_opt("n").await.unwrap(), None);
}

#[tokio::test]
async fn a_pod_on_a_node_stays_for_its_grace_period() {
    let sim = ApiSim::new();
    let pods = Api::<Pod>::default_namespaced(client(&sim));
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    pods.delete("p", &DeleteParams::default()).await.unwrap();
    let going = pods.get("p").await.unwrap();
    assert_eq!(going.metadata.deletion_grace_period_seconds, Some(30));
    pods.delete("p", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    assert_eq!(pods.get_opt("p").await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let sim = ApiSim::new();
    let config_maps = Api::<ConfigMap>::default_namespaced(client(&sim));
    assert_eq!(
        refusal(config_maps.list(&ListParams::default()).await),
        (404, "NotFound".into())
    );
}

#[tokio::test]
async fn a_new_server_has_the_service_of_its_own() {
    let services = Api::<Service>::default_namespaced(client(&ApiSim::new()));
    let kubernetes = services.get("kubernetes").await.unwrap();
    assert_eq!(kubernetes.spec.unwrap().cluster_ip.as_deref(), Some("10.0.0.1"));
}
