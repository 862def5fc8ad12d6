//! Compact form of an Endpoints object for the index.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1 as api;
use slice_controller::Key;
use slice_core::{
    Interner,
    well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL},
};
use slice_reconciler::{MetadataPolicy, Owner};

use crate::{Metadata, Subsets};

/// Compact Endpoints object. Equal ones have the same desired slices, so an equal update is not enqueued.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) uid: Box<str>,
    pub(super) terminating: bool,
    pub(super) subsets: Subsets,
    labels: KeyValues,
    annotations: KeyValues,
}

/// Labels or annotations, sorted by key; smaller than a map.
type KeyValues = Box<[(Arc<str>, Arc<str>)]>;

impl Endpoints {
    pub(super) fn from_k8s(endpoints: &api::Endpoints, interner: &mut Interner) -> Self {
        let Metadata {
            mut labels,
            annotations,
        } = Metadata::of(endpoints);
        // Not stored: `metadata_policy` adds our two labels.
        labels.retain(|key, _| key != SERVICE_NAME_LABEL && key != MANAGED_BY_LABEL);
        let mut intern = |map: BTreeMap<String, String>| -> KeyValues {
            map.iter()
                .map(|(key, value)| (interner.intern(key), interner.intern(value)))
                .collect()
        };
        Self {
            labels: intern(labels),
            annotations: intern(annotations),
            uid: endpoints.metadata.uid.as_deref().unwrap_or_default().into(),
            terminating: endpoints.metadata.deletion_timestamp.is_some(),
            subsets: Subsets::from_k8s(endpoints, interner),
        }
    }

    /// Returns the object as the owner of slices.
    pub(super) fn owner<'a>(&'a self, key: &'a Key) -> Owner<'a> {
        Owner {
            api_version: "v1",
            kind: "Endpoints",
            namespace: &key.namespace,
            name: &key.name,
            uid: &self.uid,
            terminating: self.terminating,
        }
    }

    /// Returns the desired metadata of its slices.
    pub(super) fn metadata_policy(&self, key: &Key, managed_by: &str) -> MetadataPolicy {
        let map = |pairs: &KeyValues| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs.map(|(key, value)| (key.to_string(), value.to_string())).collect()
        };
        let mut labels = map(&self.labels);
        labels.insert(SERVICE_NAME_LABEL.to_owned(), key.name.to_string());
        labels.insert(MANAGED_BY_LABEL.to_owned(), managed_by.to_owned());
        Metadata {
            labels,
            annotations: map(&self.annotations),
        }
        .into()
    }
}
