//! Builds histories event by event and checks them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use slice_oracle::{
    CheckConfig, Entry, Event, History, Manager, ManualWrite, Mark, Object, Verb, Window, check_final_state,
    check_history,
};

use crate::fixtures::{node, text, uid};

/// A history that is being built. Each event takes a second.
#[derive(Clone)]
pub(crate) struct Harness {
    pub(crate) history: History,
    now: Timestamp,
    revision: u64,
    objects: BTreeMap<String, Value>,
}

impl Harness {
    /// Starts with the namespace `ns` and a node in each of two zones, `node-a` and `node-b`.
    pub(crate) fn new() -> Self {
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

    /// Adds an object of the initial list.
    pub(crate) fn listed(&mut self, object: Value) -> &mut Self {
        self.push(Verb::Listed, object)
    }

    /// Creates or updates the object.
    pub(crate) fn put(&mut self, object: Value) -> &mut Self {
        let verb = if self.objects.contains_key(&key(&object)) {
            Verb::Modified
        } else {
            Verb::Added
        };
        self.push(verb, object)
    }

    /// Deletes the object.
    pub(crate) fn delete(&mut self, object: &Value) -> &mut Self {
        let last = self.objects[&key(object)].clone();
        self.push(Verb::Deleted, last)
    }

    /// Records the last revision as a manual write.
    pub(crate) fn record_manual_write(&mut self, object: &Value) -> &mut Self {
        let revision = Some(self.revision);
        self.history.push(Entry::ManualWrite(ManualWrite {
            manual_write: uid(object),
            revision,
        }));
        self
    }

    /// Adds a mark.
    pub(crate) fn mark(&mut self, window: Window) -> &mut Self {
        self.revision += 1;
        self.history.push(Entry::Mark(Mark {
            mark: "here".to_owned(),
            revision: self.revision,
            window,
        }));
        self
    }

    /// Advances the clock.
    pub(crate) fn wait(&mut self, seconds: u64) -> &mut Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    fn push(&mut self, verb: Verb, mut object: Value) -> &mut Self {
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

    /// Violations of I3, I4, I6 and I7.
    pub(crate) fn history_violations(&self, config: &CheckConfig) -> Vec<String> {
        format_violations(&check_history(&self.history, config))
    }

    /// Violations of I1, I2 and I5 in the final state.
    pub(crate) fn final_state_violations(&self, config: &CheckConfig) -> Vec<String> {
        format_violations(&check_final_state(&self.history, config))
    }

    /// Asserts that there are no violations.
    #[track_caller]
    pub(crate) fn assert_no_violations(&self) {
        self.assert_violations(&[]);
    }

    /// Asserts these violations and no others, each by its id and a part of its message.
    #[track_caller]
    pub(crate) fn assert_violations(&self, expected: &[(&str, &str)]) {
        let config = self::config();
        let mut found = self.history_violations(&config);
        found.extend(self.final_state_violations(&config));
        let matches = |(line, (id, part)): (&String, &(&str, &str))| line.starts_with(id) && line.contains(part);
        let as_expected = found.len() == expected.len() && found.iter().zip(expected).all(matches);
        assert!(as_expected, "expected {expected:#?}\nfound {found:#?}");
    }
}

/// The default configuration with at most three endpoints per slice.
pub(crate) fn config() -> CheckConfig {
    let small = |manager: Option<Manager>| {
        manager.map(|manager| Manager {
            max_endpoints: 3,
            ..manager
        })
    };
    let usual = CheckConfig::default();
    CheckConfig {
        services: small(usual.services),
        mirroring: small(usual.mirroring),
        ..CheckConfig::default()
    }
}

fn format_violations(violations: &[slice_oracle::Violation]) -> Vec<String> {
    let lines: BTreeSet<_> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), violations.len(), "a violation is reported twice");
    violations.iter().map(ToString::to_string).collect()
}

fn key(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}
