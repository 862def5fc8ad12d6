//! Recorded chains: one JSON object a line, perhaps compressed.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read},
    num::NonZeroUsize,
    path::Path,
};

use anyhow::Context as _;
use flate2::read::GzDecoder;
use k8s_openapi::{
    api::{
        core::v1::{Endpoints, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use serde::{Deserialize, Deserializer};

/// What happened to one Service or Endpoints object, step by step, and what upstream did about it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chain {
    pub(super) name: String,
    pub(super) max_endpoints_per_slice: NonZeroUsize,
    pub(super) steps: Vec<Step>,
}

impl Chain {
    /// Only chains of the mirroring controller have Endpoints; those of the service controller may lack pods, or nodes.
    pub(super) fn is_of_mirroring(&self) -> bool {
        self.steps.iter().any(|step| step.endpoints.is_some())
    }
}

#[derive(Debug, Deserialize)]
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

#[derive(Debug, Deserialize)]
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
        Box::new(GzDecoder::new(file))
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
