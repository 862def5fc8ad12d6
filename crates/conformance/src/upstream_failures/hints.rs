//! Topology hints. These scenarios depend on all nodes of the cluster.

use anyhow::Result;
use k8s_openapi::api::{
    core::v1::Event,
    discovery::v1::{Endpoint, EndpointHints},
};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use super::{Failure, harness::Harness};
use crate::scenario::{edit_slices, pod, service, with};

/// Number of syncs without a change.
const SYNCS: usize = 2;

pub(super) fn all() -> Vec<Failure> {
    vec![
        Failure::of_topology(
            "upstream_123401_hints_return_with_the_zone_label",
            "hints that were removed because a Node had no zone come back with its zone",
            |harness| Box::pin(late_zone(harness)),
        ),
        Failure::of_topology(
            "upstream_h35_auto_removes_node_hints",
            "hints for nodes are removed when trafficDistribution gives way to the annotation Auto",
            |harness| Box::pin(node_hints(harness)),
        ),
        Failure::of_topology(
            "upstream_h36_endpoint_that_is_not_ready_keeps_no_hint",
            "a hint of an endpoint that is not ready is removed when its slice is written",
            |harness| Box::pin(stale_hint(harness)),
        ),
        Failure::of_topology(
            "upstream_h37_missing_zone_causes_no_write",
            "an endpoint without zone does not cause writes on every sync",
            |harness| Box::pin(missing_zone(harness)),
        ),
        Failure::of_topology(
            "upstream_h44_zone_without_nodes_causes_no_write",
            "endpoints in a zone without nodes do not cause writes on every sync",
            |harness| Box::pin(zone_without_nodes(harness)),
        ),
        Failure::of_topology(
            "upstream_h53b_unreachable_share_causes_no_write",
            "a zone with more endpoints than its share does not cause writes on every sync",
            |harness| Box::pin(unreachable_share(harness)),
        ),
        Failure::of_topology(
            "upstream_h54_family_with_hints_is_reported_once",
            "a dual-stack Service with hints for one family only has one event for them",
            |harness| Box::pin(one_family(harness)),
        ),
    ]
}

/// The Service `web` with the annotation for topology hints.
fn auto() -> Value {
    let annotation = json!({"service.kubernetes.io/topology-mode": "Auto"});
    with(&service("web"), "/metadata/annotations", annotation)
}

/// Creates the pods of a node, with consecutive addresses in the network of the node's number.
async fn pods(harness: &Harness<'_>, node: &str, network: usize, count: usize) -> Result<()> {
    for number in 1..=count {
        let name = format!("web-{network}-{number}");
        let address = format!("10.3.{network}.{number}");
        harness.apply(&pod(&name, "web", node, &[&address])).await?;
    }
    Ok(())
}

/// All endpoints of `web`.
async fn endpoints(harness: &Harness<'_>) -> Result<Vec<Endpoint>> {
    let slices = harness.slices("web").await?;
    Ok(slices
        .into_iter()
        .flat_map(|slice| slice.endpoints.unwrap_or_default())
        .collect())
}

/// Whether `web` has this number of endpoints, whose hints all match.
async fn all_have(harness: &Harness<'_>, count: usize, matches: impl Fn(&EndpointHints) -> bool) -> Result<bool> {
    let endpoints = endpoints(harness).await?;
    let hints = endpoints
        .iter()
        .map(|endpoint| endpoint.hints.clone().unwrap_or_default());
    Ok(endpoints.len() == count && hints.into_iter().all(|hints| matches(&hints)))
}

fn has_zone(hints: &EndpointHints) -> bool {
    hints.for_zones.as_ref().is_some_and(|zones| !zones.is_empty())
}

fn has_node(hints: &EndpointHints) -> bool {
    hints.for_nodes.as_ref().is_some_and(|nodes| !nodes.is_empty())
}

async fn late_zone(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, zone) in ["a", "b"].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", true).await?;
        pods(harness, &node, network, 3).await?;
    }
    enable_hints(harness, &auto(), 6).await?;
    harness
        .wait("hints", async || all_have(harness, 6, has_zone).await)
        .await?;
    harness.node("late", "", "2", true).await?;
    harness
        .wait("removal of all hints", async || {
            all_have(harness, 6, |hints| !has_zone(hints)).await
        })
        .await?;
    // Syncs because of the written slices have ended then.
    harness.pass_slice_events().await?;
    harness.node("late", "zone-a", "2", true).await?;
    harness
        .expect("return of hints", async || all_have(harness, 6, has_zone).await)
        .await
}

async fn node_hints(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, zone) in ["a", "b"].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", true).await?;
        pods(harness, &node, network, 2).await?;
    }
    let same_node = with(&service("web"), "/spec/trafficDistribution", json!("PreferSameNode"));
    enable_hints(harness, &same_node, 4).await?;
    harness
        .wait("hints for nodes", async || all_have(harness, 4, has_node).await)
        .await?;
    harness.apply(&auto()).await?;
    harness
        .expect("hints for zones only", async || {
            all_have(harness, 4, |hints| has_zone(hints) && !has_node(hints)).await
        })
        .await
}

async fn stale_hint(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, zone) in ["a", "b"].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", true).await?;
        pods(harness, &node, network, 1).await?;
        if zone == "b" {
            let not_ready = pod("web-not-ready", "web", &node, &["10.3.9.1"]);
            let not_ready = with(&not_ready, "/status/conditions/0/status", json!("False"));
            harness.apply(&not_ready).await?;
        }
    }
    enable_hints(harness, &auto(), 3).await?;
    // Of the ready endpoints only.
    let is_hinted = async || {
        let endpoints = endpoints(harness).await?;
        let is_ready = |endpoint: &Endpoint| endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
        let matches = |endpoint: &Endpoint| Some(endpoint.hints.as_ref().is_some_and(has_zone)) == is_ready(endpoint);
        Ok(endpoints.len() == 3 && endpoints.iter().all(matches))
    };
    harness.wait("hints", is_hinted).await?;
    // Another client exchanges the hints, so the slice must be written.
    let mut exchanged = endpoints(harness).await?;
    for endpoint in &mut exchanged {
        let zone = json!({"forZones": [{"name": "zone-a"}]});
        endpoint.hints = match endpoint.hints {
            None => Some(serde_json::from_value(zone)?),
            Some(_) => None,
        };
    }
    harness
        .change(&edit_slices("web", json!({"endpoints": exchanged})))
        .await?;
    harness.expect("hints of ready endpoints only", is_hinted).await
}

async fn missing_zone(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, (zone, count)) in [("a", 3), ("b", 2)].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", true).await?;
        pods(harness, &node, network, count).await?;
    }
    let node = harness.node("none", "", "2", false).await?;
    pods(harness, &node, 2, 1).await?;
    expect_no_writes(harness, 6).await
}

async fn zone_without_nodes(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, (zone, counts, count)) in [("a", true, 1), ("b", true, 1), ("c", false, 2)]
        .into_iter()
        .enumerate()
    {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", counts).await?;
        pods(harness, &node, network, count).await?;
    }
    expect_no_writes(harness, 4).await
}

/// Shares of 3.6 and 1.4 endpoints, of which at least 3 and 2 are required; 4 and 1 is what moves nothing for half an endpoint.
async fn unreachable_share(harness: &mut Harness<'_>) -> Result<()> {
    harness.apply(&service("web")).await?;
    for (network, (zone, cpu, count)) in [("a", "18", 4), ("b", "7", 1)].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), cpu, true).await?;
        pods(harness, &node, network, count).await?;
    }
    expect_no_writes(harness, 5).await
}

/// Waits until all pods are published without hints, then changes the Service and waits for its sync.
async fn enable_hints(harness: &Harness<'_>, service: &Value, count: usize) -> Result<()> {
    harness
        .wait("publication of all endpoints", async || {
            Ok(endpoints(harness).await?.len() == count)
        })
        .await?;
    harness.wait_quiescent().await?;
    let before = harness.syncs().await?;
    harness.apply(service).await?;
    harness.wait("sync", async || Ok(harness.syncs().await? > before)).await
}

/// Enables hints and fails if syncs without a change write slices.
async fn expect_no_writes(harness: &Harness<'_>, count: usize) -> Result<()> {
    enable_hints(harness, &auto(), count).await?;
    harness.wait_quiescent().await?;
    harness.faults().clear_log();
    for number in 1..=SYNCS {
        harness.sync_again(&auto(), number).await?;
    }
    match harness.writes().len() {
        0 => Ok(()),
        writes => harness.failed(format!("{writes} writes in {SYNCS} syncs without a change")),
    }
}

async fn one_family(harness: &mut Harness<'_>) -> Result<()> {
    let dual_stack = |service: Value| {
        let service = with(&service, "/spec/ipFamilies", json!(["IPv4", "IPv6"]));
        with(&service, "/spec/ipFamilyPolicy", json!("RequireDualStack"))
    };
    harness.apply(&dual_stack(service("web"))).await?;
    for (network, zone) in ["a", "b"].into_iter().enumerate() {
        let node = harness.node(zone, &format!("zone-{zone}"), "2", true).await?;
        pods(harness, &node, network, 2).await?;
        if network == 0 {
            let both = pod("web-both", "web", &node, &["10.3.9.1", "fd00:3::1"]);
            harness.apply(&both).await?;
        } else {
            harness.apply(&pod("web-ipv4", "web", &node, &["10.3.9.2"])).await?;
        }
    }
    let service = dual_stack(auto());
    enable_hints(harness, &service, 7).await?;
    harness
        .wait("hints", async || {
            let endpoints = endpoints(harness).await?;
            let hinted = endpoints
                .iter()
                .filter(|endpoint| endpoint.hints.as_ref().is_some_and(has_zone));
            Ok(endpoints.len() == 7 && hinted.count() == 6)
        })
        .await?;
    for number in 1..=SYNCS {
        harness.sync_again(&service, number).await?;
    }
    let events: Api<Event> = Api::namespaced(harness.client(), &harness.namespace);
    let events = events.list(&ListParams::default()).await?;
    let enabled = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("TopologyAwareHintsEnabled"));
    match enabled.map(|event| event.count.unwrap_or(1)).sum::<i32>() {
        ..=1 => Ok(()),
        count => harness.failed(format!("{count} events TopologyAwareHintsEnabled")),
    }
}
