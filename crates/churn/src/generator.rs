//! Generates a sequence of actions that depends on the seed only, not on responses or controllers.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    action::{Action, SliceEdit},
    model::{Node, Pod, Service},
};

const APPS: [&str; 3] = ["a", "b", "c"];
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const TRAFFIC: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const NODES: usize = 6;
const SERVICES: usize = 8;
const PODS: usize = 45;

/// Generates random actions.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
    services: BTreeMap<String, Service>,
    /// Names of the Endpoints objects, with or without a Service.
    endpoints: BTreeSet<String>,
    /// The last number used in a name.
    last_number: usize,
    /// The Services whose slices were relabelled.
    relabelled: BTreeSet<String>,
}

impl Generator {
    /// A generator for an empty namespace without nodes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            services: BTreeMap::new(),
            endpoints: BTreeSet::new(),
            last_number: 0,
            relabelled: BTreeSet::new(),
        }
    }

    /// The actions of the next step.
    pub fn next_step(&mut self) -> Vec<Action> {
        loop {
            let actions = match self.rng.u8(..100) {
                0..5 => self.node(),
                5..25 => self.create_pods(),
                25..60 => self.change_pod(),
                60..64 => self.create_service(),
                64..68 => self.delete_service(),
                68..80 => self.change_service(),
                80..90 => self.endpoints(),
                _ => self.slice(),
            };
            if !actions.is_empty() {
                return actions;
            }
        }
    }

    fn node(&mut self) -> Vec<Action> {
        let name = format!("n{}", self.rng.usize(..NODES));
        let zone = self.one_of_or_none(&ZONES, 5);
        let cpu = self.rng.u64(1..=4) * 2;
        let delete_it = self.rng.u8(..3) == 0;
        let node = Node { zone, cpu };
        match self.nodes.get(&name) {
            Some(_) if delete_it => {
                self.nodes.remove(&name);
                vec![delete("Node", &name)]
            }
            Some(known) if known.zone == zone => {
                let status = node.status();
                self.nodes.insert(name.clone(), node);
                vec![Action::Status {
                    kind: "Node",
                    name,
                    status,
                }]
            }
            Some(known) => {
                let patch = json!({"metadata": {"labels": node.labels()}});
                let cpu = known.cpu;
                self.nodes.insert(name.clone(), Node { zone, cpu });
                vec![Action::Change {
                    kind: "Node",
                    name,
                    patch,
                }]
            }
            None => {
                let object = node.object(&name);
                self.nodes.insert(name, node);
                vec![Action::Create(object)]
            }
        }
    }

    /// Creates one pod, or sometimes several.
    fn create_pods(&mut self) -> Vec<Action> {
        let count = if self.rng.u8(..4) == 0 { self.rng.usize(2..8) } else { 1 };
        let count = count.min(PODS.saturating_sub(self.pods.len()));
        (0..count).map(|_| self.new_pod()).collect()
    }

    fn new_pod(&mut self) -> Action {
        let number = self.number();
        let name = format!("p{number}");
        let pod = Pod {
            app: Some(self.one_of(&APPS)),
            ready: self.rng.u8(..4) > 0,
            phase: "Running",
            terminating: false,
        };
        // The node may not exist.
        let node = format!("n{}", self.rng.usize(..NODES));
        let (high, low) = (number / 250, number % 250 + 1);
        let mut ips = vec![format!("10.1.{high}.{low}")];
        if self.rng.bool() {
            ips.push(format!("fd00:1::{high:x}:{low:x}"));
        }
        let port = 8080 + u16::from(self.rng.u8(..3) == 0);
        let object = pod.object(&name, &node, &ips, port);
        self.pods.insert(name, pod);
        Action::Create(object)
    }

    fn change_pod(&mut self) -> Vec<Action> {
        let choice = self.rng.u8(..10);
        let app = self.one_of_or_none(&APPS, 4);
        let phase = self.one_of(&["Running", "Running", "Succeeded", "Failed"]);
        let Some((name, pod)) = self.rng.choice(self.pods.iter_mut()) else {
            return Vec::new();
        };
        let name = name.clone();
        match choice {
            0..4 => pod.ready = !pod.ready,
            4..6 => {
                pod.app = app;
                let patch = json!({"metadata": {"labels": {"app": app}}});
                return vec![Action::Change {
                    kind: "Pod",
                    name,
                    patch,
                }];
            }
            6 => pod.phase = phase,
            // Pods in a terminal phase are deleted without a grace period.
            7 if !pod.terminating && pod.phase == "Running" => {
                pod.terminating = true;
                return vec![Action::Delete {
                    kind: "Pod",
                    name,
                    graceful: true,
                }];
            }
            _ => {
                self.pods.remove(&name);
                return vec![delete("Pod", &name)];
            }
        }
        let status = pod.status();
        vec![Action::Status {
            kind: "Pod",
            name,
            status,
        }]
    }

    fn create_service(&mut self) -> Vec<Action> {
        let name = format!("s{}", self.rng.usize(..SERVICES));
        if self.services.contains_key(&name) {
            return Vec::new();
        }
        vec![self.new_service(&name)]
    }

    fn new_service(&mut self, name: &str) -> Action {
        let mut service = Service {
            headless: self.rng.u8(..4) == 0,
            selector: self.one_of_or_none(&APPS, 3),
            ports: 0,
            dual_stack: self.rng.bool(),
            publish_not_ready: self.rng.u8(..5) == 0,
            traffic_distribution: self.one_of_or_none(&TRAFFIC, 3),
            auto: self.rng.u8(..5) == 0,
            label: None,
        };
        service.ports = self.rng.usize(..service.port_variants());
        let mut object = service.object();
        object["kind"] = json!("Service");
        object["metadata"]["name"] = json!(name);
        self.services.insert(name.to_owned(), service);
        Action::Create(object)
    }

    /// Deletes a Service and possibly recreates it. The server deletes its Endpoints with it.
    fn delete_service(&mut self) -> Vec<Action> {
        let recreate = self.rng.bool();
        let Some(name) = self.rng.choice(self.services.keys()).cloned() else {
            return Vec::new();
        };
        self.services.remove(&name);
        let had_endpoints = self.endpoints.remove(&name);
        let mut actions = vec![delete("Service", &name)];
        if recreate {
            actions.push(self.new_service(&name));
            if had_endpoints {
                actions.push(self.new_endpoints(&name));
            }
        }
        actions
    }

    fn change_service(&mut self) -> Vec<Action> {
        let (choice, ports) = (self.rng.u8(..8), self.rng.usize(..6));
        let selector = self.one_of_or_none(&APPS, 4);
        let traffic_distribution = self.one_of_or_none(&TRAFFIC, 3);
        let label = Some(self.rng.u8(..3)).filter(|label| *label > 0);
        let Some((name, service)) = self.rng.choice(self.services.iter_mut()) else {
            return Vec::new();
        };
        let name = name.clone();
        match choice {
            0 | 1 => service.selector = selector,
            2 | 3 => service.ports = ports % service.port_variants(),
            4 => service.dual_stack = !service.dual_stack,
            5 => service.publish_not_ready = !service.publish_not_ready,
            6 => service.traffic_distribution = traffic_distribution,
            _ => (service.auto, service.label) = (!service.auto, label),
        }
        let patch = service.object();
        vec![Action::Change {
            kind: "Service",
            name,
            patch,
        }]
    }

    /// Creates, changes or deletes an Endpoints object.
    fn endpoints(&mut self) -> Vec<Action> {
        let (choice, name) = (self.rng.u8(..6), format!("s{}", self.rng.usize(..SERVICES)));
        if !self.endpoints.contains(&name) {
            return vec![self.new_endpoints(&name)];
        }
        match choice {
            0 => {
                self.endpoints.remove(&name);
                vec![delete("Endpoints", &name)]
            }
            1 => vec![delete("Endpoints", &name), self.new_endpoints(&name)],
            _ => {
                let patch = json!({"metadata": {"labels": self.label()}, "subsets": self.subsets()});
                vec![Action::Change {
                    kind: "Endpoints",
                    name,
                    patch,
                }]
            }
        }
    }

    fn new_endpoints(&mut self, name: &str) -> Action {
        self.endpoints.insert(name.to_owned());
        let metadata = json!({"name": name, "labels": self.label()});
        Action::Create(json!({"kind": "Endpoints", "metadata": metadata, "subsets": self.subsets()}))
    }

    /// A random label, and sometimes skip-mirror.
    fn label(&mut self) -> Value {
        let is_skipped = (self.rng.u8(..8) == 0).then_some("true");
        json!({"endpointslice.kubernetes.io/skip-mirror": is_skipped, "team": self.rng.u8(..3).to_string()})
    }

    fn subsets(&mut self) -> Value {
        let count = self.rng.usize(..3);
        (0..count).map(|number| self.subset(number)).collect()
    }

    fn subset(&mut self, number: usize) -> Value {
        let mut addresses = [Vec::new(), Vec::new()];
        for last in 1..=9 {
            let ip = if self.rng.u8(..4) == 0 {
                format!("fd00:2::{last}")
            } else {
                format!("10.2.0.{last}")
            };
            match self.rng.u8(..4) {
                0 => addresses[1].push(json!({"ip": ip})),
                1 | 2 => addresses[0].push(json!({"ip": ip})),
                _ => {}
            }
        }
        let [ready, not_ready] = addresses;
        let port = 80 + self.rng.u16(..2);
        let name = format!("port-{number}");
        json!({"addresses": ready, "notReadyAddresses": not_ready, "ports": [{"name": name, "port": port}]})
    }

    fn slice(&mut self) -> Vec<Action> {
        let (choice, nth) = (self.rng.u8(..12), self.rng.usize(..4));
        let other = format!("s{}", self.rng.usize(..SERVICES));
        let Some(service) = self.rng.choice(self.services.keys()).cloned() else {
            return Vec::new();
        };
        let labels = |labels: Value| SliceEdit::Edit(json!({"metadata": {"labels": labels}}));
        // The labels of a Service's slices are changed once: a key whose slices are relabelled again and again waits (F24).
        let choice = match choice {
            6 | 7 if !self.relabelled.insert(service.clone()) => 5,
            choice => choice,
        };
        let edit = match choice {
            0..3 => SliceEdit::Delete,
            3 => SliceEdit::Edit(json!({"endpoints": []})),
            4 => SliceEdit::Edit(json!({"ports": [{"name": "odd", "port": 1}]})),
            5 => labels(json!({"foreign": "label"})),
            6 => labels(json!({"kubernetes.io/service-name": other})),
            7 => labels(json!({"endpointslice.kubernetes.io/managed-by": "other-manager"})),
            8 => SliceEdit::Readiness(self.rng.bool()),
            9 => SliceEdit::Edit(json!({"metadata": {"finalizers": ["example.com/held"]}})),
            10 => SliceEdit::Release,
            _ => SliceEdit::Duplicate {
                name: format!("{service}-copy-{}", self.number()),
            },
        };
        vec![Action::Slice { service, nth, edit }]
    }

    fn number(&mut self) -> usize {
        self.last_number += 1;
        self.last_number
    }

    fn one_of(&mut self, values: &[&'static str]) -> &'static str {
        values[self.rng.usize(..values.len())]
    }

    /// A random value; `None` once in `times`.
    fn one_of_or_none(&mut self, values: &[&'static str], times: u8) -> Option<&'static str> {
        let value = self.one_of(values);
        (self.rng.u8(..times) > 0).then_some(value)
    }
}

fn delete(kind: &'static str, name: &str) -> Action {
    Action::Delete {
        kind,
        name: name.to_owned(),
        graceful: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_depend_on_the_seed_only() {
        let actions = |seed| {
            let mut generator = Generator::new(seed);
            (0..2000).map(|_| generator.next_step()).collect::<Vec<_>>()
        };
        assert_eq!(actions(7), actions(7));
        assert_ne!(actions(7), actions(8));
    }
}
