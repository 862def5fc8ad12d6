//! Random interleavings of changes, watch events, syncs, writes, faults and foreign edits.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use super::{
    fake_api::{self, FakeApi, RESOURCES, SLICES},
    fixtures::{node, pod, service},
    harness::{Fault, Harness},
};

/// Checks that no ready endpoint disappears from the slices while it is desired (I4).
#[derive(Default)]
struct NoGapCheck {
    /// Addresses that were published in a state without pending events and writes, and desired ever since.
    protected: BTreeSet<String>,
}

impl NoGapCheck {
    /// Checks the slices after a step.
    fn check(&mut self, harness: &Harness, foreign_edit: bool, seed: u64) {
        let desired = desired(&harness.api, "web");
        let published: BTreeSet<String> = harness
            .published("web")
            .into_iter()
            .map(|(address, _)| address)
            .collect();
        self.protected
            .retain(|address| desired.contains(&(address.clone(), true)));
        if foreign_edit {
            self.protected.retain(|address| published.contains(address));
        }
        let missing: Vec<_> = self.protected.difference(&published).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?} are missing");
        // A plan that is based on an older state may still remove endpoints.
        if harness.has_undelivered() || !harness.jobs.is_empty() {
            return;
        }
        let ready = desired.iter().filter(|(_, ready)| *ready).map(|(address, _)| address);
        self.protected
            .extend(ready.filter(|address| published.contains(*address)).cloned());
    }
}

/// The desired endpoints of a Service, derived from the objects.
fn desired(api: &FakeApi, service: &str) -> BTreeSet<(String, bool)> {
    let Some(service) = api.get("services", service) else {
        return BTreeSet::new();
    };
    let selected = &service["spec"]["selector"]["app"];
    let pods = api.list("pods").0;
    let pods = pods.iter().filter(|pod| &pod["metadata"]["labels"]["app"] == selected);
    let with_node = pods.filter(|pod| api.get("nodes", pod["spec"]["nodeName"].as_str().unwrap()).is_some());
    with_node
        .map(|pod| {
            let address = pod["status"]["podIPs"][0]["ip"].as_str().unwrap().to_owned();
            (address, pod["status"]["conditions"][0]["status"] == "True")
        })
        .collect()
}

/// The source of random steps.
struct RandomSteps {
    random: fastrand::Rng,
    /// Whether to inject faults and foreign edits.
    faults: bool,
}

impl RandomSteps {
    fn fault(&mut self) -> Fault {
        if !self.faults || self.random.u8(..4) > 0 {
            return Fault::None;
        }
        [Fault::Rejected, Fault::RequestLost, Fault::ResponseLost][self.random.usize(..3)]
    }

    /// Changes a Service, pod or node. Every pod has an address of its own, which never changes.
    fn change_inputs(&mut self, api: &mut FakeApi) {
        let i = self.random.u8(..12);
        let name = format!("p{i}");
        match self.random.u8(..12) {
            0..=4 => {
                let mut pod = pod(&name, i, self.random.u8(..4) > 0);
                if self.random.u8(..6) == 0 {
                    pod["metadata"]["labels"]["app"] = json!("other");
                }
                if self.random.u8(..6) == 0 {
                    pod["metadata"]["labels"]["more"] = json!("labels");
                }
                api.put("pods", pod);
            }
            5 | 6 => drop(api.delete("pods", &name)),
            7 => {
                let mut service = service("web", if self.random.u8(..4) == 0 { "other" } else { "web" });
                service["spec"]["ports"][0]["port"] = json!(80 + self.random.u8(..2));
                service["metadata"]["labels"] = json!({"version": self.random.u8(..3).to_string()});
                api.put("services", service);
            }
            8 if self.random.u8(..4) == 0 => drop(api.delete("services", "web")),
            9 => drop(api.put("nodes", node("n1", ["a", "b"][self.random.usize(..2)]))),
            10 if self.random.u8(..6) == 0 => drop(api.delete("nodes", "n1")),
            _ => {}
        }
    }

    /// Edits a slice as another client. Returns whether there is one.
    fn edit_slice(&mut self, api: &mut FakeApi) -> bool {
        let slices: Vec<Value> = api.slices().cloned().collect();
        if slices.is_empty() {
            return false;
        }
        let mut slice = slices[self.random.usize(..slices.len())].clone();
        let name = fake_api::object_ref(&slice).name.to_string();
        match self.random.u8(..6) {
            0 => drop(api.delete(SLICES, &name)),
            1 => {
                slice["endpoints"].as_array_mut().unwrap().pop();
                api.put(SLICES, slice);
            }
            2 => {
                slice["metadata"]["name"] = json!(format!("manual-{}", self.random.u8(..3)));
                api.put(SLICES, slice);
            }
            3 => {
                slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("other");
                api.put(SLICES, slice);
            }
            4 => {
                slice["metadata"]["labels"]["foreign"] = json!("label");
                api.put(SLICES, slice);
            }
            _ => {
                slice["metadata"]["annotations"]["foreign"] = json!("annotation");
                api.put(SLICES, slice);
            }
        }
        true
    }

    /// Runs one random step. Returns whether it was a foreign edit of a slice.
    fn step(&mut self, harness: &mut Harness) -> bool {
        match self.random.u8(..20) {
            0..=3 => self.change_inputs(&mut harness.api),
            4 if self.faults && self.random.bool() => return self.edit_slice(&mut harness.api),
            5..=9 => drop(harness.deliver(RESOURCES[self.random.usize(..4)])),
            10..=12 => harness.process_due(),
            13..=17 if !harness.jobs.is_empty() => {
                let job = self.random.usize(..harness.jobs.len());
                let write = self.random.usize(..harness.jobs[job].writes.len());
                let fault = self.fault();
                if !harness.send(job, write, fault) {
                    harness.report(job, write);
                }
            }
            18 => {
                harness.now += Duration::from_millis(self.random.u64(..1500));
                return harness.api.collect_garbage();
            }
            19 if self.random.u8(..10) == 0 => harness.list(RESOURCES[self.random.usize(..4)]),
            _ => {}
        }
        false
    }
}

/// The invariants I1, I2, I4, I6, I7 and I12 hold in random orders, with the faults F1–F7, F11, F16 and F23 among them.
#[test]
fn random_steps_converge_without_gaps_or_unneeded_writes() {
    let seeds = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(60);
    for seed in 0..seeds {
        let mut steps = RandomSteps {
            random: fastrand::Rng::with_seed(seed),
            faults: seed % 2 == 1,
        };
        let max = steps.random.usize(1..5);
        let mut harness = Harness::new(max, Duration::from_millis(steps.random.u64(..2) * 500));
        harness.api.put("nodes", node("n1", "a"));
        harness.api.put("services", service("web", "web"));
        let mut no_gap = NoGapCheck::default();
        for _ in 0..400 {
            let foreign_edit = steps.step(&mut harness);
            no_gap.check(&harness, foreign_edit, seed);
        }
        harness.run_until_quiescent();
        while harness.api.collect_garbage() {}
        harness.run_until_quiescent();
        let published: Vec<_> = harness.published("web");
        assert_eq!(
            published,
            desired(&harness.api, "web").into_iter().collect::<Vec<_>>(),
            "seed {seed}"
        );
        for slice in harness.api.slices() {
            assert!(
                slice["endpoints"].as_array().unwrap().len() <= max,
                "seed {seed}: {slice}"
            );
        }
        harness.engine.resync_all(harness.now);
        assert_eq!(harness.writes_until_quiescent(), 0, "seed {seed}");
        let mut restarted = Harness::restarted(harness.api, max, Duration::ZERO);
        assert_eq!(restarted.writes_until_quiescent(), 0, "seed {seed}, after a restart");
    }
}
