//! The next request, made from chance and from what the servers hold by now.

use std::collections::BTreeMap;
use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

use super::objects;
use crate::api::{Answer, version, with};

const RESOURCES: [&str; 3] = ["endpointslices", "services", "endpoints"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A request, with one body for each server because versions and uids differ.
pub(super) struct Request {
    /// A verb, or the kind of a patch.
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

/// An object as each server holds it.
type Pair = [Value; 2];

/// The objects that both servers hold, each with its history.
#[derive(Default)]
pub(super) struct Known(BTreeMap<(&'static str, String), Vec<Pair>>);

impl Known {
    /// Notes what a request did that both servers answered alike.
    pub(super) fn learn(&mut self, request: &Request, answers: &[Answer; 2]) {
        let Some(name) = &request.name else { return };
        let key = (request.resource, name.clone());
        if answers[0].code == 404 || (request.verb == "delete" && answers[0].code == 200) {
            self.0.remove(&key);
        } else if answers[0].code < 300 && request.verb != "delete" {
            let pair = [answers[0].body.clone(), answers[1].body.clone()];
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

/// Draws a request.
pub(super) fn next(rng: &mut Rng, known: &Known, number: u64) -> Request {
    let resource = RESOURCES[rng.usize(..RESOURCES.len())];
    let name = NAMES[rng.usize(..NAMES.len())];
    let history = known.get(resource, name);
    let (verb, query, bodies) = match (history, rng.u8(..100)) {
        (_, 0..10) => return list(rng, resource),
        (_, 10..20) => ("get", String::new(), [json!(null), json!(null)]),
        (None, 20..90) => ("create", String::new(), twice(objects::any(rng, resource, name))),
        (None, _) | (Some(_), 90..) => return unusual(rng, resource, name, number),
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

fn twice(body: Value) -> [Value; 2] {
    [body.clone(), body]
}

/// What is refused or rarely done: creating again, replacing and deleting what may not be there, generated names.
fn unusual(rng: &mut Rng, resource: &'static str, name: &str, number: u64) -> Request {
    let object = objects::any(rng, resource, name);
    let request = |verb, name: Option<String>, body| Request {
        verb,
        resource,
        name,
        query: String::new(),
        bodies: twice(body),
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
            // Nobody asks for it again: its name is different at each server.
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
        bodies: twice(json!(null)),
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
        return twice(fresh);
    }
    let base = match rng.u8(..6) {
        0 => &history[rng.usize(..history.len())],
        _ => &history[history.len() - 1],
    };
    // Take over some parts of the fresh object; none makes a write that changes nothing.
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

/// A patch of one of the three kinds, now and then with a version.
fn patch(rng: &mut Rng, resource: &'static str, history: &[Pair]) -> (&'static str, [Value; 2]) {
    let fresh = objects::any(rng, resource, "unused");
    let parts = objects::parts(resource);
    let part = parts[rng.usize(..parts.len())];
    let pointer = format!("/{}", part.replace('.', "/"));
    let value = fresh.pointer(&pointer).cloned().unwrap_or_default();
    if rng.u8(..4) == 0 {
        let operation = json!([{"op": "add", "path": pointer, "value": value}]);
        return ("json", twice(operation));
    }
    let change = with(json!({}), part, value);
    let stale = history[rng.usize(..history.len())].each_ref().map(version);
    let kind = if rng.bool() { "merge" } else { "strategic-merge" };
    if rng.u8(..4) > 0 {
        return (kind, twice(change));
    }
    (
        kind,
        stale.map(|version| with(change.clone(), "metadata.resourceVersion", json!(version))),
    )
}
