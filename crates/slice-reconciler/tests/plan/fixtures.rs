//! Owners, options, endpoints and slices for tests.

use std::{collections::BTreeMap, num::NonZeroUsize, ops::Range};

use k8s_openapi::api::core::v1::ObjectReference;
use slice_core::{Address, CompactSlice, Conditions, Endpoint, Port, PortMapKey, Target, well_known};
use slice_reconciler::{MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, PlanOptions};

use crate::harness::{Harness, apply};

pub(crate) const OWNER: Owner<'_> = Owner {
    api_version: "v1",
    kind: "Service",
    namespace: "ns",
    name: "foo",
    uid: "uid-1",
    terminating: false,
};

pub(crate) fn options(max: usize) -> PlanOptions {
    PlanOptions {
        packing: Packing::Fill {
            max: NonZeroUsize::new(max).unwrap(),
        },
        placeholder: true,
        ownership: Ownership::Enforce,
        owner_reference: OwnerReferenceOptions::default(),
    }
}

pub(crate) fn one_per_group(cap: usize) -> PlanOptions {
    PlanOptions {
        packing: Packing::OnePerGroup {
            cap: NonZeroUsize::new(cap).unwrap(),
        },
        placeholder: false,
        ..options(cap)
    }
}

pub(crate) fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

pub(crate) fn policy(labels: &[(&str, &str)]) -> MetadataPolicy {
    let managed = [
        (well_known::SERVICE_NAME_LABEL, "foo"),
        (well_known::MANAGED_BY_LABEL, "me"),
    ];
    MetadataPolicy {
        copied_labels: map(labels),
        managed_labels: managed
            .map(|(key, value)| (key.to_owned(), Some(value.to_owned())))
            .into(),
        ..MetadataPolicy::default()
    }
}

pub(crate) fn named_port(name: &str, number: i32) -> Port {
    Port {
        name: name.into(),
        protocol: "TCP".into(),
        port: Some(number),
        app_protocol: None,
    }
}

pub(crate) fn port(number: i32) -> PortMapKey {
    PortMapKey::new([named_port("", number)])
}

pub(crate) fn pod(number: usize, ready: bool) -> Endpoint {
    let address = format!("10.0.{}.{}", number / 250, number % 250);
    Endpoint {
        conditions: Conditions {
            ready: Some(ready),
            serving: Some(ready),
            terminating: Some(false),
        },
        target: Some(Target::from(&ObjectReference {
            name: Some(format!("pod-{number}")),
            uid: Some(format!("pod-uid-{number}")),
            ..ObjectReference::default()
        })),
        ..at(&address)
    }
}

pub(crate) fn pods(numbers: Range<usize>) -> Vec<Endpoint> {
    numbers.map(|number| pod(number, true)).collect()
}

/// An endpoint with only an address, in canonical form or not.
pub(crate) fn at(address: &str) -> Endpoint {
    Endpoint {
        addresses: [Address::from_canonical(address)].into_iter().collect(),
        ..Endpoint::default()
    }
}

/// Existing slices of the owner with these endpoints.
pub(crate) fn existing_slices(contents: &[&[Endpoint]], ports: &PortMapKey) -> Vec<CompactSlice> {
    let slice = |(index, endpoints): (usize, &&[Endpoint])| {
        let mut harness = Harness::of(ports, endpoints.to_vec());
        harness.options = options(1000);
        let mut slices = apply(&harness.plan(), &[]);
        slices[0].metadata.name = Some(format!("foo-{index}"));
        slices.swap_remove(0)
    };
    contents.iter().enumerate().map(slice).collect()
}
