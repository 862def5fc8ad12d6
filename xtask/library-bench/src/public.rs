//! One sync through the public API: from objects of the API to objects of the API.

use std::{collections::HashMap, marker, panic, sync::mpsc, thread};

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use service_slices::{Node, Pod, Service, desired, options};
use slice_core::{Draft, Slice};
use slice_reconciler::{Operation, Request, Write, draft_with_topology, hints::TopologyCache};

use crate::{
    MAX_ENDPOINTS_PER_SLICE,
    case::Sync,
    ours::{policy, topology, want},
};

/// With fewer pods, it takes longer to start a thread than that saves.
pub(crate) const PODS_FOR_TWO_THREADS: usize = 20_000;

/// How many threads there are. Each object is read and written by itself, and so on any of them; one decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    Two,
}

impl Threads {
    /// Does two things, side by side if there is a thread for each.
    fn do_both<A, B: Send>(self, one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
        match self {
            Self::One => (one(), other()),
            Self::Two => thread::scope(|scope| {
                let other = scope.spawn(other);
                (one(), other.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            }),
        }
    }

    /// How many of so many things the first thread takes.
    fn share(self, of: usize) -> usize {
        match self {
            Self::One => of,
            Self::Two => of.div_ceil(2),
        }
    }
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
    let nodes: HashMap<&str, Node<&str>, RandomState> = sync
        .nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
        .collect();
    let (front, back) = sync.pods.split_at(threads.share(sync.pods.len()));
    let (front, back) = threads.do_both(
        || Pod::all_for_service(front, &service),
        || Pod::all_for_service(back, &service),
    );
    let (desired, existing): (_, Vec<Slice<&str>>) = threads.do_both(
        || desired(&service, front.iter().chain(&back), &nodes),
        || sync.existing_slices.iter().map(Slice::borrowed).collect(),
    );
    let (metadata, prefix) = policy(&service);
    let mut request = Request::new(service.owner(), &existing, &metadata, &prefix);
    want(&mut request, &service, desired);
    let mut writes = draft_with_topology(request, &options(MAX_ENDPOINTS_PER_SLICE), &(), topology)?.writes;
    let send_all = |writes: Vec<Write<Draft<'_, _>>>| {
        for write in writes {
            match write.operation {
                Operation::Create(slice) | Operation::Update(slice) => send(slice.into_api()),
                Operation::Delete(_) => {}
            }
        }
    };
    let others = writes.split_off(threads.share(writes.len()));
    if others.is_empty() {
        send_all(writes);
    } else {
        threads.do_both(|| send_all(writes), || send_all(others));
    }
    // It takes time, too, to give back what was read.
    threads.do_both(|| drop((front, back)), || drop(existing));
    Ok(())
}
