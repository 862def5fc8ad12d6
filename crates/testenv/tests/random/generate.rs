//! Generates the next request from random numbers and the objects on the servers.

use std::collections::BTreeMap;
use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use super::objects;
use crate::api::{ApiResponse, version, with};

const RESOURCES: [&str; 3] = ["endpointslices", "services", "endpoints"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A request, with one body for each server because versions and uids differ.
pub(super) struct Request {
    /// A verb, or the type of a patch.
    pub(super) verb: &'static str,
    pub(super) resource: &'static str,
    pub(super) name: Option<String>,
    pub(super) query: String,
    pub(super) bodies: [Value; 2],
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            verb,
            resource,
            name,
            query,
            bodies,
        } = self;
        write!(
            f,
            "{verb} {resource} {} {query} {}",
            name.as_deref().unwrap_or("-"),
            bodies[0]
        )
    }
}

/// An object as stored on each server.
type Pair = [Value; 2];

/// The objects on both servers, each with its history.
#[derive(Default)]
pub(super) struct Known(BTreeMap<(&'static str, String), Vec<Pair>>);

impl Known {
    /// Records the effect of a request to which both servers responded alike.
    pub(super) fn record(&mut self, request: &Request, responses: &[ApiResponse; 2]) {
        let Some(name) = &request.name else { return };
        let key = (request.resource, name.clone());
        if responses[0].code == 404 || (request.verb == "delete" && responses[0].code == 200) {
            self.0.remove(&key);
        } else if responses[0].code < 300 && request.verb != "delete" {
            let pair = [responses[0].body.clone(), responses[1].body.clone()];
            self.0.entry(key).or_default().push(pair);
        }
    }

    pub(super) fn forget(&mut self, resource: &'static str, name: &str) {
        self.0.remove(&(resource, name.to_owned()));
    }

    fn get(&self, resource: &'static str, name: &str) -> Option<&Vec<Pair>> {
        self.0.get(&(resource, name.to_owned()))
    }
}

/// Generates a request.
pub(super) fn next(rng: &mut Rng, known: &Known, number: u64) -> Request {
    let resource = RESOURCES[rng.usize(..RESOURCES.len())];
    let name = NAMES[rng.usize(..NAMES.len())];
    let history = known.get(resource, name);
    let (verb, query, bodies) = match (history, rng.u8(..100)) {
        (_, 0..10) => return list(rng, resource),
        (_, 10..20) => ("get", String::new(), [json!(null), json!(null)]),
        (None, 20..90) => (
            "create",
            String::new(),
            same_for_both(objects::any(rng, resource, name)),
        ),
        (None, _) | (Some(_), 90..) => return edge_case(rng, resource, name, number),
        (Some(history), 20..30) => ("delete", String::new(), deletion(rng, history)),
        (Some(history), 30..70) => ("update", String::new(), replacement(rng, resource, name, history)),
        (Some(history), _) => {
            let (kind, bodies) = patch(rng, resource, history);
            (kind, String::new(), bodies)
        }
    };
    let name = Some(name.to_owned());
    Request {
        verb,
        resource,
        name,
        query,
        bodies,
    }
}

fn same_for_both(body: Value) -> [Value; 2] {
    [body.clone(), body]
}

/// Rejected or rare requests: creating again, replacing and deleting objects that may not exist, generated names.
fn edge_case(rng: &mut Rng, resource: &'static str, name: &str, number: u64) -> Request {
    let object = objects::any(rng, resource, name);
    let request = |verb, name: Option<String>, body| Request {
        verb,
        resource,
        name,
        query: String::new(),
        bodies: same_for_both(body),
    };
    match rng.u8(..5) {
        0 => request("create", Some(name.to_owned()), object),
        1 => request("update", Some(name.to_owned()), object),
        2 => request("delete", Some(name.to_owned()), json!({})),
        3 => request(
            "merge",
            Some(name.to_owned()),
            json!({"metadata": {"labels": {"team": "x"}}}),
        ),
        _ => {
            // The object is not used again: its name differs between the servers.
            let prefix = format!("generated-{number}-{}", "x".repeat(rng.usize(..60)));
            let object = with(object, "metadata.name", json!(null));
            request("create", None, with(object, "metadata.generateName", json!(prefix)))
        }
    }
}

fn list(rng: &mut Rng, resource: &'static str) -> Request {
    let labels = [
        "",
        "team",
        "team%3Dx",
        "team%21%3Dx",
        "%21team",
        "team%20in%20%28x%2Cy%29",
        "tier%3E1",
        "a%3D%3D%3Db",
    ];
    let fields = [
        "",
        "metadata.name%3Da",
        "metadata.name%21%3Da",
        "spec.clusterIP%3DNone",
        "nonsense%3D1",
    ];
    let label = labels[rng.usize(..labels.len())];
    let field = fields[rng.usize(..fields.len())];
    Request {
        verb: "list",
        resource,
        name: None,
        query: format!("labelSelector={label}&fieldSelector={field}"),
        bodies: same_for_both(json!(null)),
    }
}

/// The options of a delete: none, or preconditions that hold, are stale or never held.
fn deletion(rng: &mut Rng, history: &[Pair]) -> [Value; 2] {
    let latest = &history[history.len() - 1];
    let some = &history[rng.usize(..history.len())];
    let (uid, versioned, foreign) = (rng.bool(), rng.bool(), rng.u8(..8) == 0);
    [0, 1].map(|side| {
        let mut options = json!({});
        if foreign {
            options["preconditions"]["uid"] = json!("4c1d0d5c-0000-0000-0000-000000000000");
        } else if uid {
            options["preconditions"]["uid"] = latest[side]["metadata"]["uid"].clone();
        }
        if versioned {
            options["preconditions"]["resourceVersion"] = json!(version(&some[side]));
        }
        options
    })
}

/// A new object without a version, or the stored one with a change and a version that may be stale.
fn replacement(rng: &mut Rng, resource: &'static str, name: &str, history: &[Pair]) -> [Value; 2] {
    let fresh = objects::any(rng, resource, name);
    if rng.u8(..3) == 0 {
        return same_for_both(fresh);
    }
    let base = match rng.u8(..6) {
        0 => &history[rng.usize(..history.len())],
        _ => &history[history.len() - 1],
    };
    // Copy some parts of the fresh object; with none of them, the write is a no-op.
    let parts: Vec<&str> = objects::parts(resource)
        .iter()
        .copied()
        .filter(|_| rng.u8(..3) == 0)
        .collect();
    [0, 1].map(|side| {
        let take = |object: Value, part: &&str| {
            let pointer = format!("/{}", part.replace('.', "/"));
            with(object, part, fresh.pointer(&pointer).cloned().unwrap_or_default())
        };
        parts.iter().fold(base[side].clone(), take)
    })
}

/// A patch of one of the three types, sometimes with a resource version.
fn patch(rng: &mut Rng, resource: &'static str, history: &[Pair]) -> (&'static str, [Value; 2]) {
    let fresh = objects::any(rng, resource, "unused");
    let parts = objects::parts(resource);
    let part = parts[rng.usize(..parts.len())];
    let pointer = format!("/{}", part.replace('.', "/"));
    let value = fresh.pointer(&pointer).cloned().unwrap_or_default();
    if rng.u8(..4) == 0 {
        let operation = json!([{"op": "add", "path": pointer, "value": value}]);
        return ("json", same_for_both(operation));
    }
    let change = with(json!({}), part, value);
    let stale = history[rng.usize(..history.len())].each_ref().map(version);
    let kind = if rng.bool() { "merge" } else { "strategic-merge" };
    if rng.u8(..4) > 0 {
        return (kind, same_for_both(change));
    }
    (
        kind,
        stale.map(|version| with(change.clone(), "metadata.resourceVersion", json!(version))),
    )
}
