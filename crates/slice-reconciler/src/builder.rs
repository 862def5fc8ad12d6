//! Construction of slices: names, labels, owner references and annotations.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::{AddressType, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy, Owner, OwnerReferenceOptions, TriggerTime,
    naming::NameAllocator,
    planned::{PlannedEndpoint, PlannedSlice},
};

/// Builds the slices of one owner.
pub(crate) struct SliceBuilder<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) owner_reference: OwnerReferenceOptions,
    pub(crate) policy: &'a MetadataPolicy,
    pub(crate) trigger_time: &'a TriggerTime,
    pub(crate) names: NameAllocator<'a>,
}

impl SliceBuilder<'_> {
    /// A slice that does not exist yet (R110a).
    pub(crate) fn new_slice<'e, E: EndpointSource>(
        &mut self,
        address_type: AddressType,
        ports: PortMapKey,
        endpoints: Vec<PlannedEndpoint<'e, E>>,
    ) -> PlannedSlice<'e, E> {
        let mut metadata = ObjectMeta {
            name: Some(self.names.allocate(address_type, &ports)),
            namespace: Some(self.owner.namespace.to_owned()),
            owner_references: Some(vec![self.owner.reference(self.owner_reference)]),
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

    /// Finishes the metadata of an update: adds our owner reference to an adopted slice (G16), and sets the trigger time.
    pub(crate) fn finish_metadata(&self, metadata: &mut ObjectMeta) {
        if !self.owner.is_owner_in(metadata) {
            self.owner.adopt(metadata, self.owner_reference);
        }
        self.trigger_time.apply(metadata);
    }
}
