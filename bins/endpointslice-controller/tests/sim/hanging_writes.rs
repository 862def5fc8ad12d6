//! Writes that hang, as in an admission webhook that does not respond.

use apisim::{
    faults::{Match, Rule},
    request::Verb,
};
use serde_json::json;
use testenv::until;

use crate::{
    scenarios::{cluster::Cluster, start},
    start_server,
};

/// 60 Services whose writes hang do not stop a Service of another namespace (I10, F4).
#[tokio::test]
async fn hanging_writes_of_many_services_do_not_stop_others() {
    let (server, cluster) = start_server().await;
    let hanging = Cluster::new(server.client(), "hanging").await;
    let creates = Match::verb(Verb::Create)
        .resource("endpointslices")
        .namespace("hanging");
    server.faults.add(Rule::when(creates).hold_request());
    let _program = start(&[&server.flag()]).await;
    for service in 0..60 {
        hanging.service(&format!("s{service}"), "web", json!({})).await;
    }
    // More than there are slots.
    until("writes hang", async || server.slice_writes() >= 16)
        .await
        .unwrap();
    cluster.service("web", "web", json!({})).await;
    cluster.pod("p", "web", "10.0.0.1").await;
    cluster.wait_published("web", &["10.0.0.1"]).await;
}
