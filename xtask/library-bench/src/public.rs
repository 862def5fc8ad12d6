//! One sync through the public API: from objects of the API to objects of the API.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use service_slices::{Node, Pod, Service, desired, options};
use slice_core::Slice;
use slice_reconciler::{Operation, Request, draft_with_topology, hints::TopologyCache};

use crate::{
    MAX_ENDPOINTS_PER_SLICE,
    case::Sync,
    ours::{policy, topology, want},
};

/// The slices that we make where there are none, as they are stored.
pub(crate) fn slices_from_scratch(sync: &Sync) -> anyhow::Result<Vec<EndpointSlice>> {
    let mut slices = Vec::new();
    public_sync(sync, &mut topology(sync), |slice| slices.push(slice))?;
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
    topology: &mut TopologyCache<()>,
    mut send: impl FnMut(EndpointSlice),
) -> anyhow::Result<()> {
    let service = Service::from(&sync.service);
    let nodes: HashMap<&str, Node<&str>, RandomState> = sync
        .nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), Node::from(node)))
        .collect();
    let pods: Vec<Pod<&str>> = sync.pods.iter().map(|pod| Pod::for_service(pod, &service)).collect();
    let desired = desired(&service, &pods, &nodes);
    let existing: Vec<Slice<&str>> = sync.existing_slices.iter().map(Slice::borrowed).collect();
    let (metadata, prefix) = policy(&service);
    let mut request = Request::new(service.owner(), &existing, &metadata, &prefix);
    want(&mut request, &service, desired);
    for write in draft_with_topology(request, &options(MAX_ENDPOINTS_PER_SLICE), &(), topology)?.writes {
        match write.operation {
            Operation::Create(slice) | Operation::Update(slice) => send(slice.into_api()),
            Operation::Delete(_) => {}
        }
    }
    Ok(())
}
