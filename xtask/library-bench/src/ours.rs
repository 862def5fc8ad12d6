//! Our side: one sync, from compact objects and from those of the API.

use std::{
    collections::HashMap,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use foldhash::fast::RandomState;
use k8s_openapi::api::core::v1 as api;
use service_slices::{Desired, Node, Pod, PodEndpoint, Service, Text, desired, options};
use slice_controller::Interner;
use slice_core::Slice;
use slice_reconciler::{
    MetadataPolicy, Operation, Plan, Request, TriggerTime,
    hints::{TopologyCache, TopologyOptions},
    plan_with_topology,
};

use crate::{MAX_ENDPOINTS_PER_SLICE, case::Sync, cluster::Cluster, public::public_sync, upstream::Writes};

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
            public_ns: median(|| public_sync(sync, topology, |slice| drop(black_box(slice))))?,
            writes: count(&plan),
        })
    }
}

/// The objects as a controller keeps them.
struct Compact {
    service: Service,
    pods: Vec<Pod>,
    nodes: HashMap<Arc<str>, Node, RandomState>,
    existing: Vec<Slice>,
}

impl From<&Sync> for Compact {
    fn from(sync: &Sync) -> Self {
        let mut interner = Interner::default();
        let mut node = |node: &api::Node| {
            let node = Node::<&str>::from(node).map(|text| interner.intern(text));
            (Arc::clone(&node.name), node)
        };
        Self {
            service: Service::from(&sync.service),
            nodes: sync.nodes.iter().map(&mut node).collect(),
            existing: sync
                .existing_slices
                .iter()
                .map(|slice| Slice::from_api_sharing(slice, &mut interner))
                .collect(),
            pods: sync
                .pods
                .iter()
                .map(|pod| Pod::<&str>::from(pod).share(&mut interner))
                .collect(),
        }
    }
}

impl Compact {
    /// To slices that can be kept until they are written, as a controller does.
    fn plan(&self, topology: &mut TopologyCache<()>) -> anyhow::Result<Plan> {
        let (metadata, prefix) = policy(&self.service);
        let mut request = Request::new(self.service.owner(), &self.existing, &metadata, &prefix);
        want(
            &mut request,
            &self.service,
            desired(&self.service, &self.pods, &self.nodes),
        );
        Ok(plan_with_topology(
            request,
            &options(MAX_ENDPOINTS_PER_SLICE),
            &(),
            topology,
        )?)
    }
}

pub(crate) fn policy(service: &Service) -> (MetadataPolicy, String) {
    (service.metadata_policy(), format!("{}-", service.name))
}

/// Fills in what the slices of the Service should hold.
pub(crate) fn want<'a, T: Text>(
    request: &mut Request<'a, PodEndpoint<'a, T>>,
    service: &Service,
    desired: Desired<'a, T>,
) {
    request.supported = desired.address_types.iter().copied().collect();
    request.groups = desired.groups;
    request.hints = Some(service.hints);
    request.trigger_time = TriggerTime::Set("2026-01-01T00:00:00Z".to_owned());
}

pub(crate) fn topology(sync: &Sync) -> TopologyCache<()> {
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
