//! A second API server of the same etcd: one that is stale, and one whose certificates are replaced.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use apisim::{
    faults::{Match, Rule, StreamFault},
    request::Verb,
};
use http::{Method, StatusCode, Uri, uri::PathAndQuery};
use k8s_openapi::api::{core::v1::Pod, rbac::v1::ClusterRoleBinding};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use manifests::Controller;
use testenv::{ApiserverReplica, Credentials, Protocol, objects::api, pki::Pki, until};
use tokio::{
    sync::{Mutex, OnceCell},
    time::Instant,
};

use crate::{
    accounts,
    environment::shared,
    fixtures::{self, pod_name},
    harness::{Harness, SERVICE, is_list},
    watches::WATCHED,
};

/// A second API server of the shared control plane, for one test after the other.
static REPLICA: OnceCell<ApiserverReplica> = OnceCell::const_new();
static REPLICA_TURN: Mutex<()> = Mutex::const_new(());

/// The second API server, as it was started, whatever the test before did.
async fn replica() -> &'static ApiserverReplica {
    let control_plane = &shared().await.control_plane;
    let start = async || control_plane.start_replica().await.unwrap();
    let replica = REPLICA.get_or_init(start).await;
    replica.thaw_etcd();
    replica.replace_certificate(control_plane.pki()).unwrap();
    let client = control_plane.client_at(control_plane.admin(), replica.url()).unwrap();
    until("a response of the second API server", async || {
        let pods: Api<Pod> = Api::all(client.clone());
        pods.list(&ListParams::default().limit(1)).await.is_ok()
    })
    .await
    .unwrap();
    replica
}

/// The address at the second API server of lists, as pages, and watches; not of single objects, other reads and writes. If
/// `from_cache`, lists are answered from its cache: without that, they are consistent reads, which hang while etcd does.
fn redirect(replica: &str, from_cache: bool, method: &Method, path: &PathAndQuery) -> Option<Uri> {
    let query = path.query().unwrap_or_default();
    let is_page = query.contains("limit=500");
    if method != Method::GET || !is_page && !query.contains("watch=true") {
        return None;
    }
    let version = if is_page && from_cache {
        "&resourceVersion=0"
    } else {
        ""
    };
    Some(format!("{replica}{path}{version}").parse().unwrap())
}

/// The number of successful lists, as pages, or watches by resource.
fn successful(harness: &Harness, verb: Verb) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for recorded in harness.faults().requests(&Match::verb(verb)) {
        if recorded.status == Some(StatusCode::OK) && (verb != Verb::List || is_list(&recorded)) {
            *counts.entry(recorded.request.resource).or_default() += 1;
        }
    }
    counts
}

/// Waits until there were so many lists or watches of each of these resources.
async fn wait_for(harness: &Harness, verb: Verb, resources: &[&str], times: usize) {
    until(&format!("{times} {verb:?} of each of {resources:?}"), async || {
        let counts = successful(harness, verb);
        let done = |resource: &&str| counts.get(*resource).is_some_and(|count| *count >= times);
        resources.iter().all(done)
    })
    .await
    .unwrap();
}

/// The names of the pods in the cache of an API server.
async fn cached_pods(server: &Client, namespace: &str) -> Vec<String> {
    let pods: Api<Pod> = Api::namespaced(server.clone(), namespace);
    let pods = pods.list(&ListParams::default().match_any()).await.unwrap();
    pods.items.into_iter().filter_map(|pod| pod.metadata.name).collect()
}

pub(crate) async fn f15_a_stale_api_server_removes_nothing(protocol: Protocol) {
    let _turn = REPLICA_TURN.lock().await;
    let replica = replica().await;
    let harness = Harness::start("f15", protocol).await;
    let control_plane = harness.control_plane;
    let server = control_plane.client_at(control_plane.admin(), replica.url()).unwrap();
    // A consistent read: its cache has all objects so far.
    for kind in ["Pod", "EndpointSlice", "Service", "Node"] {
        let api = api(&server, &harness.namespace, kind).unwrap();
        api.list(&ListParams::default()).await.unwrap();
    }
    replica.freeze_etcd();
    harness.put(&fixtures::pod(4)).await;
    harness.delete_pod(1).await;
    harness.wait_published(SERVICE, 2..=4).await;
    harness.wait_quiescent().await;
    let seen = harness.positions().await;
    harness.faults().clear_log();

    // Watches from a version that the second server has not reached.
    let from_cache = Arc::new(AtomicBool::new(false));
    harness.proxy.redirect({
        let from_cache = Arc::clone(&from_cache);
        move |method, path| redirect(replica.url(), from_cache.load(Ordering::SeqCst), method, path)
    });
    for resource in WATCHED {
        let cut = Rule::on(Verb::Watch, resource).times(1).stream(StreamFault::Cut);
        harness.faults().add(cut);
    }
    wait_for(&harness, Verb::Watch, &WATCHED, 1).await;
    harness.wait_quiescent().await;
    assert_eq!(harness.writes(), BTreeMap::new());

    // Lists that lack a published pod and have one that was deleted.
    let stale: Vec<String> = (1..=3).map(pod_name).collect();
    assert_eq!(cached_pods(&server, &harness.namespace).await, stale);
    from_cache.store(true, Ordering::SeqCst);
    for resource in WATCHED {
        let faults = harness.faults();
        faults.add(Rule::on(Verb::Watch, resource).times(1).answer(410));
        faults.add(Rule::on(Verb::Watch, resource).times(1).stream(StreamFault::Cut));
    }
    wait_for(&harness, Verb::List, &WATCHED, 1).await;
    harness.wait_quiescent().await;
    assert_eq!(harness.writes(), BTreeMap::new());
    // Discarded, and repeated.
    wait_for(&harness, Verb::List, &["pods", "endpointslices"], 3).await;
    harness.wait_quiescent().await;
    println!(
        "F15: {:?} lists from the older view, writes {:?}",
        successful(&harness, Verb::List),
        harness.writes()
    );
    assert_eq!(harness.writes(), BTreeMap::new());
    for (resource, version) in harness.positions().await {
        assert!(version >= seen[&resource], "{resource}: {version} after {seen:?}");
    }
    harness.wait_published(SERVICE, 2..=4).await;

    replica.thaw_etcd();
    from_cache.store(false, Ordering::SeqCst);
    harness.put(&fixtures::pod(5)).await;
    harness.wait_published(SERVICE, 2..=5).await;
    harness.finish().await;
}

/// Reads a list of pods with these credentials, and returns whether it succeeds.
async fn accepts(kubeconfig: &Kubeconfig) -> bool {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options)
        .await
        .unwrap();
    let pods: Api<Pod> = Api::all(Client::try_from(config).unwrap());
    pods.list(&ListParams::default().limit(1)).await.is_ok()
}

pub(crate) async fn f21_replaced_certificates_are_reloaded(protocol: Protocol) {
    let _turn = REPLICA_TURN.lock().await;
    let replica = replica().await;
    let mut harness = Harness::start("f21", protocol).await;
    harness.stop_controller().await;
    let control_plane = harness.control_plane;
    // The account has no certificate, so users have its rules. Without leader election, none of a namespace are needed.
    let rules = || {
        let rules = accounts::access::rules(Controller::EndpointSlice).into_iter();
        let of_cluster = rules.filter(|(namespace, _)| namespace.is_empty());
        of_cluster.map(|(_, rule)| rule).collect()
    };
    let names = ["first", "second"].map(|user| format!("{}-{user}", harness.namespace));
    let first = control_plane.user(&names[0], rules()).await.unwrap();
    let second = control_plane.user(&names[1], rules()).await.unwrap();

    // The files belong to this test.
    let directory = control_plane.directory().join(&harness.namespace);
    fs::create_dir(&directory).unwrap();
    let [ca, cert, key, path] = ["ca.crt", "tls.crt", "tls.key", "kubeconfig"].map(|name| directory.join(name));
    let write = |ca_pem: String, credentials: &Credentials| {
        let Credentials::ClientCertificate { cert_pem, key_pem } = credentials else {
            panic!("the user has a token");
        };
        fs::write(&key, key_pem).unwrap();
        fs::write(&cert, cert_pem).unwrap();
        fs::write(&ca, ca_pem).unwrap();
    };
    write(control_plane.ca_pem(), first.credentials());
    let mut kubeconfig = control_plane.kubeconfig_at(&first, replica.url()).unwrap().content;
    let text = |path: &std::path::Path| Some(path.to_str().unwrap().to_owned());
    kubeconfig.clusters[0].cluster.as_mut().unwrap().certificate_authority = text(&ca);
    let with_first = kubeconfig.clone();
    let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    (user.client_certificate, user.client_key) = (text(&cert), text(&key));
    fs::write(&path, serde_json::to_string(&kubeconfig).unwrap()).unwrap();
    harness.start_controller_with(&path).await;
    harness.controller().wait_ready().await.unwrap();
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;

    let authority = Pki::new().unwrap();
    replica.replace_certificate(&authority).unwrap();
    write(authority.ca_pem(), second.credentials());
    let start = Instant::now();
    until("the new certificate of the server", async || accepts(&kubeconfig).await)
        .await
        .unwrap();
    // The first user has no rights any more.
    let bindings: Api<ClusterRoleBinding> = Api::all(harness.client.clone());
    let binding = format!("testenv:{}", names[0]);
    bindings.delete(&binding, &DeleteParams::default()).await.unwrap();
    until("the rejection of the first user", async || !accepts(&with_first).await)
        .await
        .unwrap();
    let reloaded = "files of certificates or keys have changed";
    harness.controller().process.wait_for_output(reloaded).await.unwrap();
    println!("F21: reloaded after {:?}", start.elapsed());
    harness.put(&fixtures::pod(5)).await;
    harness.wait_published(SERVICE, 1..=5).await;
    println!("F21: published after {:?}", start.elapsed());
    harness.finish().await;
}
