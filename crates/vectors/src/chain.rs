//! Recorded chains of steps: one JSON object per line, optionally compressed.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read},
    num::NonZeroUsize,
    path::Path,
};

use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use k8s_openapi::{
    api::{
        core::v1::{EndpointAddress, Endpoints, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use serde::{Deserialize, Deserializer};
use slice_core::Address;

/// Consecutive changes of one Service or Endpoints object, with upstream's reconciliation of each.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chain {
    pub(super) name: String,
    pub(super) max_endpoints_per_slice: NonZeroUsize,
    pub(super) steps: Vec<Step>,
}

impl Chain {
    /// Whether this is a chain of the mirroring controller. Only steps of the Service controller have pods, nodes or a trigger time;
    /// steps of the mirroring controller may lack Endpoints.
    pub(super) fn is_of_mirroring(&self) -> bool {
        let has_service_input =
            |step: &Step| !step.pods.is_empty() || !step.nodes.is_empty() || step.trigger_time.is_some();
        !self.steps.iter().any(has_service_input)
    }
}

/// One reconciliation: its inputs, and upstream's result.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) change: String,
    pub(super) service: Option<Service>,
    /// Absent in chains of the Service controller, and after the object was deleted.
    pub(super) endpoints: Option<Endpoints>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) pods: Vec<Pod>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) nodes: Vec<Node>,
    pub(super) trigger_time: Option<Time>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub(super) existing_slices: Vec<EndpointSlice>,
    pub(super) expect: Expected,
}

/// Upstream's result.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Expected {
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) creates: Vec<EndpointSlice>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) updates: Vec<EndpointSlice>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) deletes: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) events: Vec<Event>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Step {
    /// The step restricted to one address type: existing slices of the type, and pods and subsets with addresses of the type or
    /// with invalid ones.
    pub(super) fn restricted_to(&self, address_type: &str) -> Self {
        let is_relevant = |text: &str| {
            let address = Address::parse_ip(text);
            address.is_none_or(|address| address.address_type().as_str() == address_type)
        };
        let mut step = self.clone();
        step.existing_slices.retain(|slice| slice.address_type == address_type);
        step.pods.retain_mut(|pod| {
            let ips = pod.status.as_mut().and_then(|status| status.pod_ips.as_mut());
            ips.is_none_or(|ips| retain_some(ips, |ip| is_relevant(&ip.ip)))
        });
        if let Some(subsets) = step.endpoints.as_mut().and_then(|endpoints| endpoints.subsets.as_mut()) {
            let retain = |addresses: &mut Option<Vec<EndpointAddress>>| {
                let addresses = addresses.as_mut();
                addresses.is_some_and(|addresses| retain_some(addresses, |address| is_relevant(&address.ip)))
            };
            subsets.retain_mut(|subset| {
                let retained = [retain(&mut subset.addresses), retain(&mut subset.not_ready_addresses)];
                retained.contains(&true)
            });
        }
        step
    }
}

/// Filters a list. Returns whether it is not empty.
fn retain_some<T>(list: &mut Vec<T>, predicate: impl FnMut(&T) -> bool) -> bool {
    list.retain(predicate);
    !list.is_empty()
}

/// Go serializes a nil slice as null.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads the chains of a file (`.jsonl` or `.jsonl.gz`).
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Chain>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let text: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "gz") {
        // Reads all members of a concatenated gzip file.
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let lines = BufReader::new(text).lines().enumerate();
    let chain = |(number, line): (usize, std::io::Result<String>)| {
        let context = || format!("cannot read line {1} of {0}", path.display(), number + 1);
        serde_json::from_str(&line.with_context(context)?).with_context(context)
    };
    lines.map(chain).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use flate2::{Compression, write::GzEncoder};
    use serde_json::{Value, json};

    use super::*;

    fn chain(name: &str, input: &Value) -> Value {
        let mut step = json!({
            "change": "start", "existingSlices": [],
            "expect": {"creates": [], "updates": [], "deletes": [], "events": []},
        });
        step.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        json!({"name": name, "maxEndpointsPerSlice": 10, "steps": [step]})
    }

    #[test]
    fn concatenated_gzip_files_are_read_to_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chains.jsonl.gz");
        let members = ["first", "second"].map(|name| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            writeln!(encoder, "{}", chain(name, &json!({}))).unwrap();
            encoder.finish().unwrap()
        });
        fs::write(&path, members.concat()).unwrap();
        let names: Vec<String> = read(&path).unwrap().into_iter().map(|chain| chain.name).collect();
        assert_eq!(names, ["first", "second"]);
    }

    #[test]
    fn chains_of_the_service_controller_have_pods_nodes_or_a_trigger_time() {
        let is_of_mirroring = |input: Value| {
            let chain: Chain = serde_json::from_value(chain("c", &input)).unwrap();
            chain.is_of_mirroring()
        };
        assert!(is_of_mirroring(json!({"service": {}})));
        assert!(is_of_mirroring(json!({"service": {}, "endpoints": {}})));
        assert!(!is_of_mirroring(json!({"service": {}, "pods": [{}]})));
        assert!(!is_of_mirroring(json!({"service": {}, "nodes": [{}]})));
        assert!(!is_of_mirroring(
            json!({"service": {}, "triggerTime": "2026-01-01T00:00:00Z"})
        ));
    }
}
