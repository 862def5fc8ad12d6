//! Random requests to the real server and to the in-memory one, whose answers must be alike.
//!
//! `SUITE_SEED` repeats or varies a run, `SUITE_REQUESTS` lengthens it.

mod compare;
mod generate;
mod objects;

use serde_json::json;

use crate::Server;
use crate::api::Api;
use compare::{Side, differing};
use generate::{Known, Request, next};

/// What a run begins with unless told otherwise: the same every time, so that a failure is nobody's bad luck.
const SEED: u64 = 36;
const REQUESTS: u64 = 500;
/// After so many differences the rest adds nothing.
const ENOUGH: usize = 20;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[tokio::test]
async fn both_servers_answer_alike() {
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
        let answers = [sides[0].send(&request, 0).await, sides[1].send(&request, 1).await];
        let alike = [0, 1].map(|side: usize| sides[side].comparable(&request, &answers[side]));
        if alike[0] == alike[1] {
            known.learn(&request, &answers);
            continue;
        }
        let mut places = Vec::new();
        differing("", &alike[0], &alike[1], &mut places);
        let [real, sim] = alike;
        differences.push(format!(
            "request {number}: {request}\nreal: {real}\nsim: {sim}\nreal and sim differ at {places:#?}\n"
        ));
        start_over(&sides, &request, &mut known).await;
        if differences.len() == ENOUGH {
            break;
        }
    }
    let (count, all) = (differences.len(), differences.join("\n"));
    assert!(
        differences.is_empty(),
        "{count} differences with SUITE_SEED={seed}\n{all}"
    );
}

/// Removes the object of a request from both servers, so that one difference does not bring the next.
async fn start_over(sides: &[Side; 2], request: &Request, known: &mut Known) {
    let Some(name) = &request.name else { return };
    for side in sides {
        let free = json!({"metadata": {"finalizers": null}});
        side.api.patch("merge", request.resource, name, &free).await;
        side.api.delete(request.resource, name, &json!({})).await;
    }
    known.forget(request.resource, name);
}
