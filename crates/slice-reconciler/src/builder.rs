//! Whole slices from what was decided about them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{AddressType, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy, Owner, OwnerReferenceOptions, TriggerTime,
    naming::Names,
    planned::{PlannedEndpoint, PlannedSlice},
};

/// Makes slices of one owner.
pub(crate) struct Builder<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) flags: OwnerReferenceOptions,
    pub(crate) policy: &'a MetadataPolicy,
    pub(crate) trigger_time: &'a TriggerTime,
    pub(crate) names: Names<'a>,
}

impl Builder<'_> {
    /// A slice that does not exist yet (R110a).
    pub(crate) fn new_slice<'e, E: EndpointSource>(
        &mut self,
        address_type: AddressType,
        ports: PortMapKey,
        endpoints: Vec<PlannedEndpoint<'e, E>>,
    ) -> PlannedSlice<'e, E> {
        let mut metadata = ObjectMeta {
            name: Some(self.names.next(address_type, &ports)),
            namespace: Some(self.owner.namespace.to_owned()),
            owner_references: Some(vec![self.owner.reference(self.flags)]),
            ..ObjectMeta::default()
        };
        self.policy.apply(&mut metadata);
        self.trigger_time.apply(&mut metadata);
        PlannedSlice {
            metadata,
            address_type: Ok(address_type),
            ports,
            endpoints,
        }
    }

    /// Completes a changed copy of a stored slice; one that we adopt becomes ours (G16).
    pub(crate) fn complete(&self, metadata: &mut ObjectMeta) {
        if !self.owner.is_owner_in(metadata) {
            self.owner.adopt(metadata, self.flags);
        }
        self.trigger_time.apply(metadata);
    }
}
