//! Our side: one sync, from compact objects and from those of the API.

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

use crate::{MAX_ENDPOINTS_PER_SLICE, case::Sync, cluster::Cluster, upstream::Writes};

/// Long enough for a steady figure, short enough to wait for.
const TIME_PER_TURN: Duration = Duration::from_millis(250);
const SYNCS_MIN: usize = 5;

/// What our side needs for a sync, and does in it.
#[derive(Debug)]
pub(crate) struct Timing {
    pub(crate) compact_ns: u64,
    pub(crate) public_ns: u64,
    pub(crate) writes: Writes,
}

/// Both ways to a plan. All that lives from sync to sync is what a controller keeps of zones.
pub(crate) struct OurSide<'a> {
    sync: &'a Sync,
    compact: Compact,
    topology: TopologyCache<()>,
}

impl<'a> OurSide<'a> {
    pub(crate) fn new(sync: &'a Sync) -> Self {
        Self {
            sync,
            compact: Compact::from(sync),
            topology: topology(sync),
        }
    }

    pub(crate) fn time(&mut self) -> anyhow::Result<Timing> {
        let Self {
            sync,
            compact,
            topology,
        } = self;
        let plan = compact.plan(topology)?;
        Ok(Timing {
            compact_ns: median(|| compact.plan(topology).map(drop))?,
            public_ns: median(|| plan_from_api(sync, topology).map(drop))?,
            writes: count(&plan),
        })
    }
}

/// The objects as a controller keeps them.
struct Compact {
    service: Service,
    pods: Vec<Pod>,
    nodes: HashMap<Arc<str>, Node, RandomState>,
    existing: Vec<CompactSlice>,
}

impl From<&Sync> for Compact {
    fn from(sync: &Sync) -> Self {
        Self::read(sync, &mut Interner::default())
    }
}

impl Compact {
    /// From the objects of the API.
    fn read(sync: &Sync, interner: &mut Interner) -> Self {
        let service = Service::from(&sync.service);
        let nodes = sync.nodes.iter().map(|node| Node::from_k8s(node, interner));
        Self {
            nodes: nodes.map(|node| (Arc::clone(&node.name), node)).collect(),
            existing: sync
                .existing_slices
                .iter()
                .map(|slice| CompactSlice::from_k8s(slice, interner))
                .collect(),
            pods: sync
                .pods
                .iter()
                .map(|pod| Pod::for_service(pod, &service, interner))
                .collect(),
            service,
        }
    }

    /// To slices that can be kept until they are written, as a controller does.
    fn plan(&self, topology: &mut TopologyCache<()>) -> anyhow::Result<Plan> {
        let (metadata, prefix) = policy(&self.service);
        let mut request = PlanRequest::new(self.service.owner(), &self.existing, &metadata, &prefix);
        want(
            &mut request,
            &self.service,
            desired(&self.service, &self.pods, &self.nodes),
        );
        request.topology = Some(topology.entry(&()));
        Ok(plan(request, &reconcile_options(MAX_ENDPOINTS_PER_SLICE))?)
    }
}

/// From objects of the API to slices that can be sent.
fn plan_from_api(sync: &Sync, topology: &mut TopologyCache<()>) -> anyhow::Result<Plan> {
    Compact::read(sync, &mut Interner::default()).plan(topology)
}

/// The slices that we make where there are none, as they are stored.
pub(crate) fn slices_from_scratch(sync: &Sync) -> anyhow::Result<Vec<EndpointSlice>> {
    let plan = plan_from_api(sync, &mut topology(sync))?;
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

/// Fills in what the slices of the Service should hold.
fn want<'a>(request: &mut PlanRequest<'a, PodEndpoint<'a>>, service: &Service, desired: Desired<'a>) {
    request.address_types = desired.address_types.iter().copied().collect();
    request.desired = desired.groups;
    request.hints = Some(service.hints);
    request.trigger_time = TriggerTime::Set("2026-01-01T00:00:00Z".to_owned());
}

fn topology(sync: &Sync) -> TopologyCache<()> {
    let mut topology = TopologyCache::new(TopologyOptions::default());
    // Nobody has hints yet, so nobody needs another sync.
    let _ = topology.set_nodes(Cluster::node_facts(sync.nodes.len()));
    topology
}

fn count(plan: &Plan) -> Writes {
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

/// The median time of a run, as it is taken of upstream.
fn median(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<u64> {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < TIME_PER_TURN || times.len() < SYNCS_MIN {
        let began = Instant::now();
        black_box(run())?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(u64::try_from(times[times.len() / 2].as_nanos())?)
}
