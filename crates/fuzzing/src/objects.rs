//! A step as far as it can be read.

use std::num::NonZeroUsize;

use k8s_openapi::api::{
    core::v1::{Endpoints, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use serde::Deserialize;
use serde_json::Value;
use slice_core::{CompactSlice, limits::ENDPOINTS_PER_SLICE_MAX};

/// The input of one sync. An object that cannot be read is missing, and does not hide the others.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) service: Option<Service>,
    pub(crate) endpoints: Option<Endpoints>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) existing: Vec<CompactSlice>,
    /// The text of the annotation.
    pub(crate) trigger_time: Option<String>,
    /// Endpoints per slice.
    pub(crate) max: NonZeroUsize,
}

impl Step {
    pub(crate) fn read(step: &Value) -> Self {
        let max = step["maxEndpointsPerSlice"].as_u64().unwrap_or_default();
        let max = usize::try_from(max).map_or(ENDPOINTS_PER_SLICE_MAX, |max| max.min(ENDPOINTS_PER_SLICE_MAX));
        Self {
            service: object(&step["service"]),
            endpoints: object(&step["endpoints"]),
            pods: objects(&step["pods"]),
            nodes: objects(&step["nodes"]),
            existing: objects(&step["existingSlices"]).iter().map(slice).collect(),
            trigger_time: object(&step["triggerTime"]),
            max: NonZeroUsize::new(max).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// The objects of a step, one by one, as a watch sends them.
pub(crate) fn written(step: &Value) -> Vec<Vec<u8>> {
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

/// What we keep of a slice is what we would write back.
fn slice(stored: &EndpointSlice) -> CompactSlice {
    let slice = CompactSlice::from(stored);
    assert_eq!(CompactSlice::from(&slice.to_k8s()), slice);
    slice
}
