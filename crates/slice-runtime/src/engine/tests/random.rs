//! Whatever the order in which things happen.

use std::collections::BTreeSet;

use super::*;

/// Pods that were published when everything was known, and have been wanted ever since: none may be missing (I4).
#[derive(Default)]
struct Watchman {
    safe: BTreeSet<String>,
}

impl Watchman {
    /// Looks at the world after one thing happened.
    fn look(&mut self, play: &Play, by_hand: bool, seed: u64) {
        let wanted = wanted(&play.world, "web");
        let published: BTreeSet<String> = play.published("web").into_iter().map(|(address, _)| address).collect();
        self.safe.retain(|address| wanted.contains(&(address.clone(), true)));
        if by_hand {
            self.safe.retain(|address| published.contains(address));
        }
        let missing: Vec<_> = self.safe.difference(&published).collect();
        assert!(missing.is_empty(), "seed {seed}: {missing:?} are missing");
        // What is decided from an older view, or was, is decided rightly.
        if play.has_untold() || !play.jobs.is_empty() {
            return;
        }
        let ready = wanted.iter().filter(|(_, ready)| *ready).map(|(address, _)| address);
        self.safe
            .extend(ready.filter(|address| published.contains(*address)).cloned());
    }
}

/// What the slices of a Service should hold, from the objects alone.
fn wanted(world: &World, service: &str) -> BTreeSet<(String, bool)> {
    let Some(service) = world.get("services", service) else {
        return BTreeSet::new();
    };
    let selected = &service["spec"]["selector"]["app"];
    let pods = world.list("pods").0;
    let pods = pods.iter().filter(|pod| &pod["metadata"]["labels"]["app"] == selected);
    let known = pods.filter(|pod| world.get("nodes", pod["spec"]["nodeName"].as_str().unwrap()).is_some());
    known
        .map(|pod| {
            let address = pod["status"]["podIPs"][0]["ip"].as_str().unwrap().to_owned();
            (address, pod["status"]["conditions"][0]["status"] == "True")
        })
        .collect()
}

struct Chance {
    random: fastrand::Rng,
    faults: bool,
}

impl Chance {
    fn fault(&mut self) -> Fault {
        if !self.faults || self.random.u8(..4) > 0 {
            return Fault::None;
        }
        [Fault::Refused, Fault::Lost, Fault::AnswerLost][self.random.usize(..3)]
    }

    /// Something happens to the inputs. Every pod has an address of its own for life.
    fn change(&mut self, world: &mut World) {
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
                world.put("pods", pod);
            }
            5 | 6 => drop(world.delete("pods", &name)),
            7 => {
                let mut service = service("web", if self.random.u8(..4) == 0 { "other" } else { "web" });
                service["spec"]["ports"][0]["port"] = json!(80 + self.random.u8(..2));
                service["metadata"]["labels"] = json!({"version": self.random.u8(..3).to_string()});
                world.put("services", service);
            }
            8 if self.random.u8(..4) == 0 => drop(world.delete("services", "web")),
            9 => drop(world.put("nodes", node("n1", ["a", "b"][self.random.usize(..2)]))),
            10 if self.random.u8(..6) == 0 => drop(world.delete("nodes", "n1")),
            _ => {}
        }
    }

    /// Somebody does something to a slice by hand.
    fn meddle(&mut self, world: &mut World) -> bool {
        let slices: Vec<Value> = world.slices().cloned().collect();
        if slices.is_empty() {
            return false;
        }
        let mut slice = slices[self.random.usize(..slices.len())].clone();
        let name = world::object_ref(&slice).name.to_string();
        match self.random.u8(..6) {
            0 => drop(world.delete(SLICES, &name)),
            1 => {
                slice["endpoints"].as_array_mut().unwrap().pop();
                world.put(SLICES, slice);
            }
            2 => {
                slice["metadata"]["name"] = json!(format!("by-hand-{}", self.random.u8(..3)));
                world.put(SLICES, slice);
            }
            3 => {
                slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("other");
                world.put(SLICES, slice);
            }
            4 => {
                slice["metadata"]["labels"]["foreign"] = json!("label");
                world.put(SLICES, slice);
            }
            _ => {
                slice["metadata"]["annotations"]["foreign"] = json!("annotation");
                world.put(SLICES, slice);
            }
        }
        true
    }

    /// One thing happens. Answers whether it was done to slices by hand.
    fn step(&mut self, play: &mut Play) -> bool {
        match self.random.u8(..20) {
            0..=3 => self.change(&mut play.world),
            4 if self.faults && self.random.bool() => return self.meddle(&mut play.world),
            5..=9 => drop(play.tell(world::KINDS[self.random.usize(..4)])),
            10..=12 => play.work(),
            13..=17 if !play.jobs.is_empty() => {
                let job = self.random.usize(..play.jobs.len());
                let write = self.random.usize(..play.jobs[job].writes.len());
                let fault = self.fault();
                if !play.send(job, write, fault) {
                    play.answer(job, write);
                }
            }
            18 => {
                play.now += Duration::from_millis(self.random.u64(..1500));
                return play.world.collect_garbage();
            }
            19 if self.random.u8(..10) == 0 => play.list(world::KINDS[self.random.usize(..4)]),
            _ => {}
        }
        false
    }
}

/// I1, I2, I4, I6, I7, I12 in all the orders that chance thinks of; F1–F7, F11, F16, F23 among them.
#[test]
fn whatever_the_order_it_comes_to_rest_and_loses_nothing() {
    let seeds = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(60);
    for seed in 0..seeds {
        let mut chance = Chance {
            random: fastrand::Rng::with_seed(seed),
            faults: seed % 2 == 1,
        };
        let max = chance.random.usize(1..5);
        let mut play = Play::new(max, Duration::from_millis(chance.random.u64(..2) * 500));
        play.world.put("nodes", node("n1", "a"));
        play.world.put("services", service("web", "web"));
        let mut watchman = Watchman::default();
        for _ in 0..400 {
            let by_hand = chance.step(&mut play);
            watchman.look(&play, by_hand, seed);
        }
        play.rest();
        while play.world.collect_garbage() {}
        play.rest();
        let published: Vec<_> = play.published("web");
        assert_eq!(
            published,
            wanted(&play.world, "web").into_iter().collect::<Vec<_>>(),
            "seed {seed}"
        );
        for slice in play.world.slices() {
            assert!(
                slice["endpoints"].as_array().unwrap().len() <= max,
                "seed {seed}: {slice}"
            );
        }
        play.engine.resync_all(play.now);
        assert_eq!(play.writes_until_rest(), 0, "seed {seed}");
        let mut again = Play::restarted(play.world, max, Duration::ZERO);
        assert_eq!(again.writes_until_rest(), 0, "seed {seed}, after a restart");
    }
}
