//! Runs a scenario on both clusters and compares the results after each step.

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
    cluster::ClusterUnderTest,
    scenario::{Aspect, Change, Scenario, Step},
    snapshot::{Snapshot, difference, snapshot},
};

/// The controllers are quiescent after this time without a watch event of a slice.
const QUIESCENT_FOR: Duration = Duration::from_secs(3);
/// Prefix of the components whose events are compared.
const COMPONENT_PREFIX: &str = "endpoint-slice-";

/// Result of a scenario.
pub(super) struct ScenarioResult {
    name: &'static str,
    steps: usize,
    pub(super) problems: Vec<String>,
}

impl fmt::Display for ScenarioResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = if self.problems.is_empty() { "ok" } else { "FAILED" };
        writeln!(f, "{status} {} ({} steps)", self.name, self.steps)?;
        self.problems
            .iter()
            .try_for_each(|problem| writeln!(f, "    {problem}"))
    }
}

/// Runs a scenario on both clusters.
pub(super) async fn run_scenario(
    scenario: Scenario,
    theirs: &ClusterUnderTest,
    ours: &ClusterUnderTest,
) -> Result<ScenarioResult> {
    let (mut their_run, mut our_run) = tokio::try_join!(
        ScenarioRun::start(theirs, &scenario),
        ScenarioRun::start(ours, &scenario)
    )?;
    let mut problems = Vec::new();
    let mut reported_events = BTreeSet::new();
    for (number, step) in scenario.steps.iter().enumerate() {
        let (their, our) = tokio::try_join!(their_run.run_step(step), our_run.run_step(step))?;
        let mut differences = Vec::new();
        if !step.allows_difference(Aspect::Slices) {
            differences.extend(difference(&their.snapshot, &our.snapshot));
        }
        if step.is_single_event() && our.writes > their.writes && !step.allows_difference(Aspect::Writes) {
            differences.push(format!(
                "we wrote {} times, upstream {} times",
                our.writes, their.writes
            ));
        }
        for expectation in &step.expectations {
            let results = [(theirs, &their), (ours, &our)];
            // Where a deviation is allowed, upstream need not meet the expectation.
            let checked = results
                .into_iter()
                .skip(usize::from(step.allows_difference(Aspect::Slices)));
            differences.extend(checked.filter_map(|(cluster, result)| {
                let mismatch = expectation.mismatch(&result.slices)?;
                Some(format!("{}: {mismatch}", cluster.name))
            }));
        }
        for event in different_events(&their.events, &our.events) {
            if reported_events.insert(event.clone()) && !step.allows_difference(Aspect::Events) {
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
    problems.extend(our_run.check_history()?);
    tokio::try_join!(their_run.clean_up(&scenario), our_run.clean_up(&scenario))?;
    Ok(ScenarioResult {
        name: scenario.name,
        steps: scenario.steps.len(),
        problems,
    })
}

/// Describes the events that only one cluster has, one per line.
fn different_events(theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Vec<String> {
    let only_theirs = theirs.difference(ours);
    let only_ours = ours.difference(theirs);
    only_theirs
        .map(|event| format!("only upstream has the event {event}"))
        .chain(only_ours.map(|event| format!("only we have the event {event}")))
        .collect()
}

/// A run of a scenario on one cluster.
struct ScenarioRun<'a> {
    cluster: &'a ClusterUnderTest,
    namespace: &'static str,
    recorder: Recorder,
    /// Number of slice revisions up to the last step.
    revisions: usize,
}

/// Result of a step on one cluster.
struct StepResult {
    slices: Vec<EndpointSlice>,
    snapshot: Snapshot,
    writes: usize,
    /// Events since the start of the scenario.
    events: BTreeSet<String>,
    violations: Vec<String>,
}

impl<'a> ScenarioRun<'a> {
    async fn start(cluster: &'a ClusterUnderTest, scenario: &Scenario) -> Result<Self> {
        cluster.create_namespace(scenario.name).await?;
        let recorder = Recorder::start_namespaced(cluster.client.clone(), scenario.name).await?;
        Ok(Self {
            cluster,
            namespace: scenario.name,
            recorder,
            revisions: 0,
        })
    }

    async fn run_step(&mut self, step: &Step) -> Result<StepResult> {
        let mut own_writes = 0;
        for change in &step.changes {
            own_writes += self.cluster.make_change(self.namespace, change, &self.recorder).await?;
        }
        self.recorder
            .wait_quiescent(QUIESCENT_FOR)
            .await
            .with_context(|| format!("{}: wait until {} is quiescent", self.cluster.name, self.namespace))?;
        let history = self.recorder.history()?;
        let revisions = history
            .events()
            .filter(|event| matches!(event.object(), Object::EndpointSlice(_)))
            .count();
        let writes = (revisions - self.revisions).saturating_sub(own_writes);
        self.revisions = revisions;
        let (slices, uids) = final_state(&history);
        let violations = check_final_state(&history, &CheckConfig::default());
        Ok(StepResult {
            snapshot: snapshot(&slices, &uids),
            slices,
            writes,
            events: self.events().await?,
            violations: violations.iter().map(ToString::to_string).collect(),
        })
    }

    fn check_history(&self) -> Result<Vec<String>> {
        let violations = check_history(&self.recorder.history()?, &CheckConfig::default());
        Ok(violations.iter().map(ToString::to_string).collect())
    }

    /// Returns the events of the controllers as text, without times and counts.
    async fn events(&self) -> Result<BTreeSet<String>> {
        let api = Api::<Event>::namespaced(self.cluster.client.clone(), self.namespace);
        let events = api.list(&ListParams::default()).await?;
        let ours = events.into_iter().filter(|event| {
            let component = event.source.as_ref().and_then(|source| source.component.as_deref());
            component.is_some_and(|component| component.starts_with(COMPONENT_PREFIX))
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

    /// Deletes the nodes of the scenario: they are not namespaced, and topology hints of other scenarios depend on all nodes.
    async fn clean_up(&self, scenario: &Scenario) -> Result<()> {
        let changes = scenario.steps.iter().flat_map(|step| &step.changes);
        let nodes: BTreeSet<&str> = changes
            .filter_map(|change| match change {
                Change::Apply(object) if object["kind"] == "Node" => object["metadata"]["name"].as_str(),
                _ => None,
            })
            .collect();
        for name in nodes {
            self.cluster.delete_node(name).await?;
        }
        Ok(())
    }
}

/// Returns the slices at the end of the history, and kind and name of all existing objects by uid.
fn final_state(history: &History) -> (Vec<EndpointSlice>, HashMap<String, String>) {
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
