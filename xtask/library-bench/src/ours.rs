//! Times our crates: one sync from compact objects, and one from API objects.

use std::{
    collections::HashMap,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use service_slices::{Desired, Node, Pod, PodEndpoint, Service, desired, reconcile_options};
use slice_core::CompactSlice;
use slice_core::Interner;
use slice_reconciler::{
    MetadataPolicy, Operation, Plan, PlanRequest, TriggerTime, Write,
    hints::{TopologyCache, TopologyOptions},
    plan,
};

use crate::{MAX_ENDPOINTS_PER_SLICE, case::SyncInput, cluster::Cluster, upstream::Writes};

/// Minimum duration of one measurement.
const MEASUREMENT_TIME: Duration = Duration::from_millis(250);
const SYNCS_MIN: usize = 5;

/// Median durations and planned writes of our sync.
#[derive(Debug)]
pub(crate) struct OurTiming {
    pub(crate) compact_ns: u64,
    pub(crate) public_ns: u64,
    pub(crate) writes: Writes,
}

/// Plans from compact objects and from API objects. Only the topology cache persists between syncs, as in a controller.
pub(crate) struct OurReconciler<'a> {
    input: &'a SyncInput,
    compact: Compact,
    topology: TopologyCache<()>,
}

impl<'a> OurReconciler<'a> {
    pub(crate) fn new(input: &'a SyncInput) -> Self {
        Self {
            input,
            compact: Compact::from(input),
            topology: topology(input),
        }
    }

    pub(crate) fn time(&mut self) -> anyhow::Result<OurTiming> {
        let Self {
            input,
            compact,
            topology,
        } = self;
        let plan = compact.plan(topology)?;
        Ok(OurTiming {
            compact_ns: median(|| compact.plan(topology).map(drop))?,
            public_ns: median(|| plan_from_api(input, topology).map(drop))?,
            writes: count_writes(&plan),
        })
    }
}

/// The objects in the compact form of a controller's index.
struct Compact {
    service: Service,
    pods: Vec<Pod>,
    nodes: HashMap<Arc<str>, Node, RandomState>,
    existing: Vec<CompactSlice>,
}

impl From<&SyncInput> for Compact {
    fn from(input: &SyncInput) -> Self {
        Self::from_k8s(input, &mut Interner::default())
    }
}

impl Compact {
    /// Converts API objects.
    fn from_k8s(input: &SyncInput, interner: &mut Interner) -> Self {
        let service = Service::from(&input.service);
        let nodes = input.nodes.iter().map(|node| Node::from_k8s(node, interner));
        Self {
            nodes: nodes.map(|node| (Arc::clone(&node.name), node)).collect(),
            existing: input
                .existing_slices
                .iter()
                .map(|slice| CompactSlice::from_k8s(slice, interner))
                .collect(),
            pods: input
                .pods
                .iter()
                .map(|pod| Pod::for_service(pod, &service, interner))
                .collect(),
            service,
        }
    }

    /// Plans the writes of one sync.
    fn plan(&self, topology: &mut TopologyCache<()>) -> anyhow::Result<Plan> {
        let (metadata, prefix) = policy(&self.service);
        let mut request = PlanRequest::new(self.service.owner(), &self.existing, &metadata, &prefix);
        set_desired(
            &mut request,
            &self.service,
            desired(&self.service, &self.pods, &self.nodes),
        );
        request.topology = Some(topology.entry(&()));
        Ok(plan(request, &reconcile_options(MAX_ENDPOINTS_PER_SLICE))?)
    }
}

/// Converts the API objects, then plans the writes.
fn plan_from_api(input: &SyncInput, topology: &mut TopologyCache<()>) -> anyhow::Result<Plan> {
    Compact::from_k8s(input, &mut Interner::default()).plan(topology)
}

/// The slices that our crates create if none exists, with the metadata that an API server sets.
pub(crate) fn slices_from_scratch(input: &SyncInput) -> anyhow::Result<Vec<EndpointSlice>> {
    let plan = plan_from_api(input, &mut topology(input))?;
    let stored = |(number, write): (usize, Write)| {
        let Operation::Create(mut slice) = write.operation else {
            return None;
        };
        slice.metadata.uid = Some(format!("{number:08x}-0000-4000-8000-000000000000"));
        slice.metadata.resource_version = Some("1".to_owned());
        slice.metadata.generation = Some(1);
        Some(slice.to_k8s())
    };
    Ok(plan.writes.into_iter().enumerate().filter_map(stored).collect())
}

fn policy(service: &Service) -> (MetadataPolicy, String) {
    (service.metadata_policy(), format!("{}-", service.name))
}

/// Sets the desired endpoints, hints and trigger time of the request.
fn set_desired<'a>(request: &mut PlanRequest<'a, PodEndpoint<'a>>, service: &Service, desired: Desired<'a>) {
    request.address_types = desired.address_types.iter().copied().collect();
    request.desired = desired.groups;
    request.hints = Some(service.hints);
    request.trigger_time = TriggerTime::Set("2026-01-01T00:00:00Z".to_owned());
}

fn topology(input: &SyncInput) -> TopologyCache<()> {
    let mut topology = TopologyCache::new(TopologyOptions::default());
    // No Service has hints yet, so none has to be enqueued.
    let _ = topology.set_nodes(Cluster::node_infos(input.nodes.len()));
    topology
}

fn count_writes(plan: &Plan) -> Writes {
    let mut writes = Writes::default();
    for write in &plan.writes {
        match write.operation {
            Operation::Create(_) => writes.creates += 1,
            Operation::Update(_) => writes.updates += 1,
            Operation::Delete(_) => writes.deletes += 1,
        }
    }
    writes
}

/// The median duration of a run, as measured for upstream.
fn median(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<u64> {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < MEASUREMENT_TIME || times.len() < SYNCS_MIN {
        let run_start = Instant::now();
        black_box(run())?;
        times.push(run_start.elapsed());
    }
    times.sort_unstable();
    Ok(u64::try_from(times[times.len() / 2].as_nanos())?)
}
