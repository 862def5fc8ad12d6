//! The objects of a recorded step.

use std::num::NonZeroUsize;

use k8s_openapi::api::{
    core::v1::{Endpoints, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use serde::Deserialize;
use serde_json::Value;
use slice_core::{CompactSlice, limits::ENDPOINTS_PER_SLICE_MAX};

/// The input of one sync, without the objects that cannot be decoded.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) service: Option<Service>,
    pub(crate) endpoints: Option<Endpoints>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) existing: Vec<CompactSlice>,
    /// The value of the trigger-time annotation.
    pub(crate) trigger_time: Option<String>,
    /// The maximum number of endpoints per slice.
    pub(crate) max: NonZeroUsize,
}

impl Step {
    pub(crate) fn decode(step: &Value) -> Self {
        let max = step["maxEndpointsPerSlice"].as_u64().unwrap_or_default();
        let max = usize::try_from(max).map_or(ENDPOINTS_PER_SLICE_MAX, |max| max.min(ENDPOINTS_PER_SLICE_MAX));
        Self {
            service: object(&step["service"]),
            endpoints: object(&step["endpoints"]),
            pods: objects(&step["pods"]),
            nodes: objects(&step["nodes"]),
            existing: objects(&step["existingSlices"]).iter().map(compact).collect(),
            trigger_time: object(&step["triggerTime"]),
            max: NonZeroUsize::new(max).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// The objects of a step as JSON, one by one, as in watch events.
pub(crate) fn encode_objects(step: &Value) -> Vec<Vec<u8>> {
    let single = [&step["service"], &step["endpoints"]];
    let lists = [&step["pods"], &step["nodes"], &step["existingSlices"]];
    let lists = lists.into_iter().filter_map(Value::as_array).flatten();
    let objects = single.into_iter().chain(lists);
    objects.map(|object| object.to_string().into_bytes()).collect()
}

fn object<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn objects<'a, T: Deserialize<'a>>(value: &'a Value) -> Vec<T> {
    value.as_array().into_iter().flatten().filter_map(object).collect()
}

/// The compact form, which must round-trip through the API object.
fn compact(existing: &EndpointSlice) -> CompactSlice {
    let slice = CompactSlice::from(existing);
    assert_eq!(CompactSlice::from(&slice.to_k8s()), slice);
    slice
}
