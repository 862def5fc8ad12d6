//! One sync through the public API: from objects of the API to objects of the API.

use std::{collections::HashMap, marker, panic, sync::mpsc, thread};

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use service_slices::{Node, Pod, Service, options};
use slice_core::{Draft, Slice};
use slice_reconciler::{Operation, Request, Write, draft_with_topology, hints::TopologyCache};

use crate::{
    MAX_ENDPOINTS_PER_SLICE,
    case::Sync,
    ours::{policy, topology, want},
};

/// With fewer pods, it takes longer to start a thread than that saves.
pub(crate) const PODS_FOR_TWO_THREADS: usize = 20_000;

/// How many threads read and write objects of the API. Each object is read and written by itself; one thread decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    Two,
}

/// The slices that we make where there are none, as they are stored.
pub(crate) fn slices_from_scratch(sync: &Sync) -> anyhow::Result<Vec<EndpointSlice>> {
    let (sender, slices) = mpsc::channel();
    let send = move |slice| sender.send(slice).unwrap_or_default();
    public_sync(sync, Threads::One, &mut topology(sync), send)?;
    let stored = |(number, mut slice): (usize, EndpointSlice)| {
        slice.metadata.uid = Some(format!("{number:08x}-0000-4000-8000-000000000000"));
        slice.metadata.resource_version = Some("1".to_owned());
        slice.metadata.generation = Some(1);
        slice
    };
    Ok(slices.into_iter().enumerate().map(stored).collect())
}

/// From objects of the API to the slices to write, each made when it is to be sent.
pub(crate) fn public_sync(
    sync: &Sync,
    threads: Threads,
    topology: &mut TopologyCache<()>,
    send: impl Fn(EndpointSlice) + marker::Sync,
) -> anyhow::Result<()> {
    let service = Service::from(&sync.service);
    let read = Read::from(sync, &service, threads);
    let nodes: HashMap<&str, Node<&str>, RandomState> = sync
        .nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
        .collect();
    let (metadata, prefix) = policy(&service);
    let mut request = Request::new(service.owner(), &read.existing, &metadata, &prefix);
    want(&mut request, &service, read.pods[0].iter().chain(&read.pods[1]), &nodes);
    let plan = draft_with_topology(request, &options(MAX_ENDPOINTS_PER_SLICE), &(), topology)?;
    let send_all = |writes: Vec<Write<Draft<'_, _>>>| {
        for write in writes {
            match write.operation {
                Operation::Create(slice) | Operation::Update(slice) => send(slice.into_api()),
                Operation::Delete(_) => {}
            }
        }
    };
    let mut writes = plan.writes;
    if threads == Threads::Two && writes.len() > 1 {
        let half = writes.split_off(writes.len() / 2);
        thread::scope(|scope| {
            scope.spawn(|| send_all(half));
            send_all(writes);
        });
    } else {
        send_all(writes);
    }
    Ok(())
}

/// What was read of the objects of the API. Each can be read by itself, and so on any thread.
struct Read<'a> {
    pods: [Vec<Pod<&'a str>>; 2],
    existing: Vec<Slice<&'a str>>,
}

impl<'a> Read<'a> {
    fn from(sync: &'a Sync, service: &Service, threads: Threads) -> Self {
        let slices = &sync.existing_slices;
        let read_slices = || slices.iter().map(Slice::borrowed).collect();
        if threads == Threads::One {
            return Self {
                pods: [Pod::all_for_service(&sync.pods, service), Vec::new()],
                existing: read_slices(),
            };
        }
        // It takes about three times as long to read a pod as to read an endpoint of a slice.
        let stored: usize = slices
            .iter()
            .map(|slice| slice.endpoints.iter().flatten().count())
            .sum();
        let half = usize::midpoint(sync.pods.len(), stored / 3);
        let (front, back) = sync.pods.split_at(half.min(sync.pods.len()));
        thread::scope(|scope| {
            let other = scope.spawn(|| (read_slices(), Pod::all_for_service(back, service)));
            let front = Pod::all_for_service(front, service);
            let (existing, back) = other.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
            Self {
                pods: [front, back],
                existing,
            }
        })
    }
}
