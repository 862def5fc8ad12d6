//! One scenario, played on both sides.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    time::Duration,
};

use anyhow::{Context as _, Result};
use k8s_openapi::api::{core::v1::Event, discovery::v1::EndpointSlice};
use kube::{Api, ResourceExt as _, api::ListParams};
use slice_oracle::{CheckConfig, History, Object, Recorder, Verb, check_final_state, check_history};

use super::{
    picture::{Picture, difference, draw},
    scenario::{Aspect, Change, Scenario, Step},
    side::Side,
};

/// Rest is no event of a slice for this long.
const QUIET: Duration = Duration::from_secs(3);
/// How the components whose events are compared are called.
const COMPONENTS: &str = "endpoint-slice-";

/// How a scenario went.
pub(super) struct Played {
    name: &'static str,
    steps: usize,
    pub(super) problems: Vec<String>,
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.problems.is_empty() { "ok" } else { "FAILED" };
        writeln!(f, "{word} {} ({} steps)", self.name, self.steps)?;
        self.problems
            .iter()
            .try_for_each(|problem| writeln!(f, "    {problem}"))
    }
}

/// Plays a scenario and compares.
pub(super) async fn play(scenario: Scenario, theirs: &Side, ours: &Side) -> Result<Played> {
    let (mut upstream, mut we) = tokio::try_join!(Stage::new(theirs, &scenario), Stage::new(ours, &scenario))?;
    let mut problems = Vec::new();
    let mut known = BTreeSet::new();
    for (number, step) in scenario.steps.iter().enumerate() {
        let (their, our) = tokio::try_join!(upstream.step(step), we.step(step))?;
        let mut differences = Vec::new();
        if !step.excuses(Aspect::Slices) {
            differences.extend(difference(&their.picture, &our.picture));
        }
        if step.is_single() && our.writes > their.writes && !step.excuses(Aspect::Writes) {
            differences.push(format!(
                "we wrote {} times, upstream {} times",
                our.writes, their.writes
            ));
        }
        for expectation in &step.expectations {
            let seen = [(theirs, &their), (ours, &our)];
            // What upstream does is beside the point where we differ on purpose.
            let asked = seen.into_iter().skip(usize::from(step.excuses(Aspect::Slices)));
            differences.extend(asked.filter_map(|(side, led)| {
                let instead = expectation.unmet(&led.slices)?;
                Some(format!("{}: {instead}", side.name))
            }));
        }
        for event in different_events(&their.events, &our.events) {
            if known.insert(event.clone()) && !step.excuses(Aspect::Events) {
                differences.push(event);
            }
        }
        differences.extend(our.violations);
        problems.extend(
            differences
                .into_iter()
                .map(|line| format!("step {}: {line}", number + 1)),
        );
    }
    problems.extend(we.whole_history()?);
    tokio::try_join!(upstream.clean_up(&scenario), we.clean_up(&scenario))?;
    Ok(Played {
        name: scenario.name,
        steps: scenario.steps.len(),
        problems,
    })
}

/// The events that one side alone has, in lines for people.
fn different_events(theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Vec<String> {
    let only_theirs = theirs.difference(ours);
    let only_ours = ours.difference(theirs);
    only_theirs
        .map(|event| format!("only upstream has the event {event}"))
        .chain(only_ours.map(|event| format!("only we have the event {event}")))
        .collect()
}

/// One side of a scenario.
struct Stage<'a> {
    side: &'a Side,
    namespace: &'static str,
    recorder: Recorder,
    /// Revisions of slices that have been looked at.
    seen: usize,
}

/// What a step led to.
struct Led {
    slices: Vec<EndpointSlice>,
    picture: Picture,
    writes: usize,
    /// Since the beginning.
    events: BTreeSet<String>,
    violations: Vec<String>,
}

impl<'a> Stage<'a> {
    async fn new(side: &'a Side, scenario: &Scenario) -> Result<Self> {
        side.prepare(scenario.name).await?;
        let recorder = Recorder::start_namespaced(side.client.clone(), scenario.name).await?;
        Ok(Self {
            side,
            namespace: scenario.name,
            recorder,
            seen: 0,
        })
    }

    async fn step(&mut self, step: &Step) -> Result<Led> {
        let mut by_hand = 0;
        for change in &step.changes {
            by_hand += self.side.change(self.namespace, change, &self.recorder).await?;
        }
        self.recorder
            .wait_quiescent(QUIET)
            .await
            .with_context(|| format!("{}: wait for rest in {}", self.side.name, self.namespace))?;
        let history = self.recorder.history()?;
        let revisions = history
            .events()
            .filter(|event| matches!(event.object(), Object::EndpointSlice(_)))
            .count();
        let writes = (revisions - self.seen).saturating_sub(by_hand);
        self.seen = revisions;
        let (slices, uids) = state(&history);
        let violations = check_final_state(&history, &CheckConfig::default());
        Ok(Led {
            picture: draw(&slices, &uids),
            slices,
            writes,
            events: self.events().await?,
            violations: violations.iter().map(ToString::to_string).collect(),
        })
    }

    fn whole_history(&self) -> Result<Vec<String>> {
        let violations = check_history(&self.recorder.history()?, &CheckConfig::default());
        Ok(violations.iter().map(ToString::to_string).collect())
    }

    /// Events of the controllers, without times and counts.
    async fn events(&self) -> Result<BTreeSet<String>> {
        let api = Api::<Event>::namespaced(self.side.client.clone(), self.namespace);
        let events = api.list(&ListParams::default()).await?;
        let ours = events.into_iter().filter(|event| {
            let component = event.source.as_ref().and_then(|source| source.component.as_deref());
            component.is_some_and(|component| component.starts_with(COMPONENTS))
        });
        Ok(ours
            .map(|event| {
                let object = event.involved_object;
                let text = |text: Option<String>| text.unwrap_or_default();
                let (kind, name) = (text(object.kind), text(object.name));
                format!(
                    "{} {} on {kind} {name}: {}",
                    text(event.type_),
                    text(event.reason),
                    text(event.message)
                )
            })
            .collect())
    }

    /// Nodes belong to nobody else, but those who weigh zones see them.
    async fn clean_up(&self, scenario: &Scenario) -> Result<()> {
        let changes = scenario.steps.iter().flat_map(|step| &step.changes);
        let nodes: BTreeSet<&str> = changes
            .filter_map(|change| match change {
                Change::Apply(object) if object["kind"] == "Node" => object["metadata"]["name"].as_str(),
                _ => None,
            })
            .collect();
        for name in nodes {
            self.side.remove_node(name).await?;
        }
        Ok(())
    }
}

/// The slices at the end, and the names of all objects that exist by uid.
fn state(history: &History) -> (Vec<EndpointSlice>, HashMap<String, String>) {
    let mut slices = BTreeMap::new();
    let mut uids = HashMap::new();
    for event in history.events() {
        let object = event.object();
        let metadata = object.metadata();
        let name = metadata.name.clone().unwrap_or_default();
        let uid = metadata.uid.clone().unwrap_or_default();
        if event.verb() == Verb::Deleted {
            uids.remove(&uid);
            if let Object::EndpointSlice(slice) = object {
                slices.remove(&slice.name_any());
            }
        } else {
            uids.insert(uid, format!("{} {name}", object.kind()));
            if let Object::EndpointSlice(slice) = object {
                slices.insert(slice.name_any(), EndpointSlice::clone(slice));
            }
        }
    }
    (slices.into_values().collect(), uids)
}
