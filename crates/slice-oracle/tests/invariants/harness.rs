//! Histories as stories: what happened, one thing after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use slice_oracle::{
    ByHand, Entry, Event, History, Limits, Manager, Mark, Object, Verb, Window, check_history, check_rest,
};

use crate::fixtures::{node, text, uid};

/// A history in the making. Everything takes a second.
#[derive(Clone)]
pub(crate) struct Harness {
    pub(crate) history: History,
    now: Timestamp,
    revision: u64,
    objects: BTreeMap<String, Value>,
}

impl Harness {
    /// Begins with the namespace `ns` and a node in each of two zones, `node-a` and `node-b`.
    pub(crate) fn begin() -> Self {
        let mut harness = Self {
            history: History::default(),
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
            revision: 100,
            objects: BTreeMap::new(),
        };
        harness.listed(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "ns"}}));
        harness.listed(node("node-a", "zone-a"));
        harness.listed(node("node-b", "zone-b"));
        harness
    }

    /// It was there when the recording began.
    pub(crate) fn listed(&mut self, object: Value) -> &mut Self {
        self.happened(Verb::Listed, object)
    }

    /// Somebody creates the object, or writes it.
    pub(crate) fn put(&mut self, object: Value) -> &mut Self {
        let verb = if self.objects.contains_key(&key(&object)) {
            Verb::Modified
        } else {
            Verb::Added
        };
        self.happened(verb, object)
    }

    /// Somebody deletes the object.
    pub(crate) fn delete(&mut self, object: &Value) -> &mut Self {
        let last = self.objects[&key(object)].clone();
        self.happened(Verb::Deleted, last)
    }

    /// The test wrote the last revision itself.
    pub(crate) fn by_hand(&mut self, object: &Value) -> &mut Self {
        let revision = Some(self.revision);
        self.history.push(Entry::ByHand(ByHand {
            by_hand: uid(object),
            revision,
        }));
        self
    }

    /// A mark at rest.
    pub(crate) fn mark(&mut self, window: Window) -> &mut Self {
        self.revision += 1;
        self.history.push(Entry::Mark(Mark {
            mark: "here".to_owned(),
            revision: self.revision,
            window,
        }));
        self
    }

    /// Time goes by.
    pub(crate) fn wait(&mut self, seconds: u64) -> &mut Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    fn happened(&mut self, verb: Verb, mut object: Value) -> &mut Self {
        self.revision += 1;
        self.wait(1);
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let typed: Object = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(typed.kind(), text(&object, "/kind"));
        self.history
            .push(Entry::Event(Box::new(Event::new(self.now, verb, typed).unwrap())));
        match verb {
            Verb::Deleted => self.objects.remove(&key(&object)),
            _ => self.objects.insert(key(&object), object),
        };
        self
    }

    /// What is wrong, everything but I1, I2 and I5.
    pub(crate) fn over_time(&self, limits: &Limits) -> Vec<String> {
        broken(&check_history(&self.history, limits))
    }

    /// What is wrong with the end: I1, I2 and I5.
    pub(crate) fn at_rest(&self, limits: &Limits) -> Vec<String> {
        broken(&check_rest(&self.history, limits))
    }

    /// Nothing is wrong.
    #[track_caller]
    pub(crate) fn accepted(&self) {
        self.rejected(&[]);
    }

    /// Just this is wrong: an id, and what the message should hold, for each violation.
    #[track_caller]
    pub(crate) fn rejected(&self, expected: &[(&str, &str)]) {
        let limits = limits();
        let mut found = self.over_time(&limits);
        found.extend(self.at_rest(&limits));
        let matches = |(line, (id, part)): (&String, &(&str, &str))| line.starts_with(id) && line.contains(part);
        let as_expected = found.len() == expected.len() && found.iter().zip(expected).all(matches);
        assert!(as_expected, "expected {expected:#?}\nfound {found:#?}");
    }
}

/// The usual ones, but slices are full with three endpoints.
pub(crate) fn limits() -> Limits {
    let small = |manager: Option<Manager>| {
        manager.map(|manager| Manager {
            max_endpoints: 3,
            ..manager
        })
    };
    let usual = Limits::default();
    Limits {
        services: small(usual.services),
        mirroring: small(usual.mirroring),
        ..Limits::default()
    }
}

fn broken(violations: &[slice_oracle::Violation]) -> Vec<String> {
    let lines: BTreeSet<_> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), violations.len(), "something is said twice");
    violations.iter().map(ToString::to_string).collect()
}

fn key(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}
