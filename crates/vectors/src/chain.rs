//! Recorded chains: one JSON object a line, perhaps compressed.

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

/// What happened to one Service or Endpoints object, step by step, and what upstream did about it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chain {
    pub(super) name: String,
    pub(super) max_endpoints_per_slice: NonZeroUsize,
    pub(super) steps: Vec<Step>,
}

impl Chain {
    /// Only steps of the service controller have pods, nodes or a time; those of the mirroring controller may lack Endpoints.
    pub(super) fn is_of_mirroring(&self) -> bool {
        let is_of_services =
            |step: &Step| !step.pods.is_empty() || !step.nodes.is_empty() || step.trigger_time.is_some();
        !self.steps.iter().any(is_of_services)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) change: String,
    pub(super) service: Option<Service>,
    /// Absent in chains of the service controller, and after their deletion.
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
    /// The step as far as it concerns slices of one address type: what is there of that type, and whatever has addresses that are
    /// of it or of none that can be told.
    pub(super) fn concerning(&self, address_type: &str) -> Self {
        let concerns = |text: &str| {
            let address = Address::parse_ip(text);
            address.is_none_or(|address| address.address_type().as_str() == address_type)
        };
        let mut step = self.clone();
        step.existing_slices.retain(|slice| slice.address_type == address_type);
        step.pods.retain_mut(|pod| {
            let ips = pod.status.as_mut().and_then(|status| status.pod_ips.as_mut());
            ips.is_none_or(|ips| retain_some(ips, |ip| concerns(&ip.ip)))
        });
        if let Some(subsets) = step.endpoints.as_mut().and_then(|endpoints| endpoints.subsets.as_mut()) {
            let keep = |addresses: &mut Option<Vec<EndpointAddress>>| {
                let addresses = addresses.as_mut();
                addresses.is_some_and(|addresses| retain_some(addresses, |address| concerns(&address.ip)))
            };
            subsets.retain_mut(|subset| {
                let kept = [keep(&mut subset.addresses), keep(&mut subset.not_ready_addresses)];
                kept.contains(&true)
            });
        }
        step
    }
}

/// Whether some stay.
fn retain_some<T>(list: &mut Vec<T>, stays: impl FnMut(&T) -> bool) -> bool {
    list.retain(stays);
    !list.is_empty()
}

/// Go writes a list that was never made as null.
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
        // All of what was packed piece by piece and put together.
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let lines = BufReader::new(text).lines().enumerate();
    let chain = |(number, line): (usize, std::io::Result<String>)| {
        let context = || format!("{} is unreadable in line {}", path.display(), number + 1);
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
    fn files_that_were_put_together_are_read_to_the_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("chains.jsonl.gz");
        let packed = ["first", "second"].map(|name| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            writeln!(packed, "{}", chain(name, &json!({}))).unwrap();
            packed.finish().unwrap()
        });
        fs::write(&path, packed.concat()).unwrap();
        let names: Vec<String> = read(&path).unwrap().into_iter().map(|chain| chain.name).collect();
        assert_eq!(names, ["first", "second"]);
    }

    #[test]
    fn chains_are_told_apart_by_what_only_the_service_controller_sees() {
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
