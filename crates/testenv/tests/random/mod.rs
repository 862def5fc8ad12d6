//! Random requests to the real and the in-memory server, whose responses must be equal.
//!
//! `SUITE_SEED` sets the seed, `SUITE_REQUESTS` the number of requests.

mod compare;
mod generate;
mod objects;

use serde_json::json;

use crate::Server;
use crate::api::Api;
use compare::{Side, collect_differences};
use generate::{Known, Request, next};

/// The default seed: fixed, so that a new failure is caused by a change of the code.
const SEED: u64 = 36;
const REQUESTS: u64 = 500;
/// The run stops after this many differences.
const MAX_DIFFERENCES: usize = 20;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[tokio::test]
async fn both_servers_respond_alike() {
    let seed = setting("SUITE_SEED", SEED);
    println!("SUITE_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let sim = Server {
        client: kube::Client::new(apisim::ApiSim::new(), "default"),
    };
    let sides = [Side::new(Api::new().await), Side::new(Api::of(sim).await)];
    let mut known = Known::default();
    let mut differences = Vec::new();
    for number in 0..setting("SUITE_REQUESTS", REQUESTS) {
        let request = next(&mut rng, &known, number);
        let responses = [sides[0].send(&request, 0).await, sides[1].send(&request, 1).await];
        let comparable = [0, 1].map(|side: usize| sides[side].comparable(&request, &responses[side]));
        if comparable[0] == comparable[1] {
            known.record(&request, &responses);
            continue;
        }
        let mut differences_at = Vec::new();
        collect_differences("", &comparable[0], &comparable[1], &mut differences_at);
        let [real, sim] = comparable;
        differences.push(format!(
            "request {number}: {request}\nreal: {real}\nsim: {sim}\nreal and sim differ at {differences_at:#?}\n"
        ));
        delete_from_both(&sides, &request, &mut known).await;
        if differences.len() == MAX_DIFFERENCES {
            break;
        }
    }
    let (count, all) = (differences.len(), differences.join("\n"));
    assert!(
        differences.is_empty(),
        "{count} differences with SUITE_SEED={seed}\n{all}"
    );
}

/// Deletes the object of a request from both servers, so that one difference does not cause the next.
async fn delete_from_both(sides: &[Side; 2], request: &Request, known: &mut Known) {
    let Some(name) = &request.name else { return };
    for side in sides {
        let free = json!({"metadata": {"finalizers": null}});
        side.api.patch("merge", request.resource, name, &free).await;
        side.api.delete(request.resource, name, &json!({})).await;
    }
    known.forget(request.resource, name);
}
