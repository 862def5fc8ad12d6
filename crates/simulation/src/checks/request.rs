//! Each write that the server receives (I3, I6, I7, I8).

use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::well_known::MANAGED_BY_LABEL;
use slice_reconciler::Operation;

use super::{Violation, ensure};
use crate::object::{is_terminating, label, owner_uid};

/// What a controller may write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) managed_by: &'static str,
    pub(crate) max_endpoints: usize,
}

/// Checks a write against the stored slice of its name.
pub(crate) fn check(
    operation: &Operation,
    stored: Option<&Arc<EndpointSlice>>,
    limits: &Limits,
) -> Result<(), Violation> {
    match operation {
        Operation::Create(slice) => check_slice(&slice.to_k8s(), limits),
        Operation::Update(slice) => {
            let slice = slice.to_k8s();
            let metadata = &slice.metadata;
            ensure(metadata.resource_version.is_some(), "I8", || {
                "an update without a resourceVersion".to_owned()
            })?;
            check_slice(&slice, limits)?;
            // Else a precondition fails.
            let replaced = stored.filter(|stored| {
                stored.metadata.resource_version == metadata.resource_version && stored.metadata.uid == metadata.uid
            });
            let Some(stored) = replaced else { return Ok(()) };
            check_not_terminating(stored)?;
            check_ownership(stored, limits)?;
            ensure(owner_uid(stored) == owner_uid(&slice), "I7", || {
                format!("{} of another owner was adopted", name(&slice))
            })?;
            ensure(!is_equal(stored, &slice), "I6", || {
                format!("{} was written without a change", name(&slice))
            })
        }
        Operation::Delete(deletion) => {
            let has_preconditions = deletion.uid.is_some() && deletion.resource_version.is_some();
            ensure(has_preconditions, "I8", || {
                format!("{} was deleted without preconditions", deletion.name)
            })?;
            let deleted = stored.filter(|stored| {
                stored.metadata.resource_version == deletion.resource_version && stored.metadata.uid == deletion.uid
            });
            let Some(stored) = deleted else { return Ok(()) };
            check_not_terminating(stored)?;
            check_ownership(stored, limits)
        }
    }
}

/// A terminating slice is left to the holders of its finalizers.
fn check_not_terminating(stored: &EndpointSlice) -> Result<(), Violation> {
    ensure(!is_terminating(&stored.metadata), "I6", || {
        format!("{} was written although it is terminating", name(stored))
    })
}

fn check_ownership(stored: &EndpointSlice, limits: &Limits) -> Result<(), Violation> {
    let managed_by = label(&stored.metadata, MANAGED_BY_LABEL);
    ensure(managed_by == Some(limits.managed_by), "I7", || {
        format!("{} is managed by {managed_by:?}", name(stored))
    })
}

/// The content of a slice (I3), and its label (I7).
fn check_slice(slice: &EndpointSlice, limits: &Limits) -> Result<(), Violation> {
    check_ownership(slice, limits)?;
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    ensure(endpoints.len() <= limits.max_endpoints, "I3", || {
        format!(
            "{} has {} endpoints, {} at most",
            name(slice),
            endpoints.len(),
            limits.max_endpoints
        )
    })?;
    let mut addresses = endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    let is_of_type = addresses.all(|address| match address.parse() {
        Ok(IpAddr::V4(_)) => slice.address_type == "IPv4",
        Ok(IpAddr::V6(_)) => slice.address_type == "IPv6",
        Err(_) => false,
    });
    ensure(is_of_type, "I3", || {
        format!("{} has addresses of another type", name(slice))
    })?;
    let ports = slice.ports.as_deref().unwrap_or_default();
    let names: BTreeSet<_> = ports
        .iter()
        .map(|port| port.name.as_deref().unwrap_or_default())
        .collect();
    ensure(names.len() == ports.len(), "I3", || {
        format!("{} has port names twice", name(slice))
    })
}

fn is_equal(stored: &EndpointSlice, written: &EndpointSlice) -> bool {
    let (a, b) = (&stored.metadata, &written.metadata);
    a.labels == b.labels
        && a.annotations == b.annotations
        && a.owner_references == b.owner_references
        && stored.address_type == written.address_type
        && stored.endpoints.as_deref().unwrap_or_default() == written.endpoints.as_deref().unwrap_or_default()
        && stored.ports.as_deref().unwrap_or_default() == written.ports.as_deref().unwrap_or_default()
}

fn name(slice: &EndpointSlice) -> &str {
    slice.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::discovery::v1::{Endpoint, EndpointPort},
        apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
        jiff::Timestamp,
    };
    use slice_core::{CompactSlice, Interner};
    use slice_reconciler::DeleteSlice;

    use super::*;

    const LIMITS: Limits = Limits {
        managed_by: "us",
        max_endpoints: 1,
    };

    /// A slice as stored: as the engine wrote it.
    fn stored() -> EndpointSlice {
        let slice = EndpointSlice {
            metadata: ObjectMeta {
                name: Some("a".to_owned()),
                uid: Some("u".to_owned()),
                resource_version: Some("1".to_owned()),
                labels: Some([(MANAGED_BY_LABEL.to_owned(), "us".to_owned())].into()),
                owner_references: Some(vec![OwnerReference {
                    uid: "owner".to_owned(),
                    ..OwnerReference::default()
                }]),
                ..ObjectMeta::default()
            },
            address_type: "IPv4".to_owned(),
            endpoints: Some(vec![endpoint("10.0.0.1")]),
            ports: None,
        };
        compact(&slice).to_k8s()
    }

    fn endpoint(address: &str) -> Endpoint {
        Endpoint {
            addresses: vec![address.to_owned()],
            ..Endpoint::default()
        }
    }

    fn compact(slice: &EndpointSlice) -> CompactSlice {
        CompactSlice::from_k8s(slice, &mut Interner::default())
    }

    fn violated(operation: &Operation, stored: EndpointSlice) -> Option<&'static str> {
        let result = check(operation, Some(&Arc::new(stored)), &LIMITS);
        result.err().map(|violation| violation.invariant)
    }

    /// The invariant that an update to this slice violates.
    fn update(change: impl FnOnce(&mut EndpointSlice)) -> Option<&'static str> {
        let mut slice = stored();
        slice.endpoints = Some(Vec::new());
        change(&mut slice);
        violated(&Operation::Update(compact(&slice)), stored())
    }

    #[test]
    fn wrong_creates_and_updates_are_found() {
        assert_eq!(update(|_| {}), None);
        assert_eq!(
            update(|slice| slice.endpoints = Some(vec![endpoint("10.0.0.1")])),
            Some("I6")
        );
        assert_eq!(update(|slice| slice.metadata.resource_version = None), Some("I8"));
        assert_eq!(update(|slice| slice.metadata.owner_references = None), Some("I7"));
        assert_eq!(
            update(|slice| slice.endpoints = Some(vec![endpoint("::1")])),
            Some("I3")
        );
        let many = ["10.0.0.1", "10.0.0.2"].map(endpoint);
        assert_eq!(update(|slice| slice.endpoints = Some(many.into())), Some("I3"));
        let ports = vec![EndpointPort::default(), EndpointPort::default()];
        assert_eq!(update(|slice| slice.ports = Some(ports)), Some("I3"));
        let mut foreign = stored();
        foreign.metadata.labels = None;
        assert_eq!(violated(&Operation::Create(compact(&foreign)), stored()), Some("I7"));
    }

    #[test]
    fn wrong_deletes_are_found() {
        let deletion = DeleteSlice {
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
            uid: Some("u".to_owned()),
            resource_version: Some("1".to_owned()),
        };
        let mut foreign = stored();
        foreign.metadata.labels = None;
        let delete = Operation::Delete(deletion.clone());
        assert_eq!(violated(&delete, stored()), None);
        assert_eq!(violated(&delete, foreign), Some("I7"));
        let mut terminating = stored();
        terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(violated(&delete, terminating), Some("I6"));
        let without_uid = DeleteSlice { uid: None, ..deletion };
        assert_eq!(violated(&Operation::Delete(without_uid), stored()), Some("I8"));
    }
}
