//! The entry point for controllers of other kinds of owners.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::{
    AddressType, CompactSlice, Endpoint, EndpointSet, EndpointSpec, Interner, Port, PortMapKey, well_known,
};

use crate::{
    Group, MetadataPolicy, Owner, Packing, Partition, Plan, PlanError, PlanOptions, PlanRequest, Rejected, plan,
    plan_deletion,
};

/// Plans the EndpointSlices for the owners of one controller. Built once by [`Reconciler::builder`]; the
/// [crate documentation](crate) has an example.
#[derive(Clone, Debug)]
pub struct Reconciler {
    managed_by: String,
    owner_label: String,
    headless: Option<bool>,
    options: PlanOptions,
    address_types: Option<BTreeSet<AddressType>>,
}

/// Configures a [`Reconciler`].
#[derive(Clone, Debug)]
#[must_use = "call build"]
pub struct ReconcilerBuilder(Reconciler);

impl ReconcilerBuilder {
    /// The label that selects the slices of an owner; its value is the owner's name. Default: `kubernetes.io/service-name`,
    /// for Services.
    pub fn owner_label(mut self, label: impl Into<String>) -> Self {
        self.0.owner_label = label.into();
        self
    }

    /// Whether slices have the label `service.kubernetes.io/headless`, with which kube-proxy ignores them: set it for Services
    /// without a cluster IP. Default: no for the owner label of Services, yes for others, because kube-proxy would log an error
    /// for each slice without a Service.
    pub fn headless(mut self, headless: bool) -> Self {
        self.0.headless = Some(headless);
        self
    }

    /// Maximum endpoints per slice: 100 by default, at most 1000.
    ///
    /// # Panics
    /// If it is zero.
    pub fn max_endpoints_per_slice(mut self, max: usize) -> Self {
        let max = NonZeroUsize::new(max).expect("a slice holds at least one endpoint");
        self.0.options.packing = Packing::Fill { max };
        self
    }

    /// The address types of all owners. Default: the types of their endpoints. Endpoints of other types are rejected.
    pub fn address_types(mut self, address_types: impl IntoIterator<Item = AddressType>) -> Self {
        self.0.address_types = Some(address_types.into_iter().collect());
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: PlanOptions) -> Self {
        self.0.options = options;
        self
    }

    /// The reconciler.
    #[must_use]
    pub fn build(self) -> Reconciler {
        self.0
    }
}

impl Reconciler {
    /// A reconciler for slices with this value of the label `endpointslice.kubernetes.io/managed-by`. Each value must have
    /// only one writer.
    pub fn builder(managed_by: impl Into<String>) -> ReconcilerBuilder {
        ReconcilerBuilder(Self {
            managed_by: managed_by.into(),
            owner_label: well_known::SERVICE_NAME_LABEL.to_owned(),
            headless: None,
            options: PlanOptions::default(),
            address_types: None,
        })
    }

    /// Plans the writes for an owner. `groups` are endpoints with common ports; `existing` are the slices of its namespace,
    /// of which those with other labels do not change.
    pub fn plan<P, E>(
        &self,
        owner: Owner<'_>,
        groups: impl IntoIterator<Item = (P, E)>,
        existing: &[EndpointSlice],
    ) -> Result<Plan, PlanError>
    where
        P: IntoIterator<Item = Port>,
        E: IntoIterator<Item = EndpointSpec>,
    {
        let (existing, reserved_names) = self.split(owner, existing);
        self.plan_slices(owner, groups, &existing, &reserved_names)
    }

    /// Like [`plan`](Self::plan), from compact slices of the owner and names that new slices must not use.
    pub fn plan_slices<P, E>(
        &self,
        owner: Owner<'_>,
        groups: impl IntoIterator<Item = (P, E)>,
        existing: &[CompactSlice],
        reserved_names: &[String],
    ) -> Result<Plan, PlanError>
    where
        P: IntoIterator<Item = Port>,
        E: IntoIterator<Item = EndpointSpec>,
    {
        let mut rejected = Vec::new();
        let mut desired: BTreeMap<(AddressType, PortMapKey), Vec<Endpoint>> = BTreeMap::new();
        for (ports, endpoints) in groups {
            let ports = PortMapKey::new(ports);
            for spec in endpoints {
                let (endpoint, address_type) = spec.into_parts();
                match address_type.filter(|address_type| self.supports(*address_type)) {
                    Some(address_type) => desired.entry((address_type, ports.clone())).or_default().push(endpoint),
                    None => rejected.push(Rejected::Address {
                        address: endpoint.addresses[0].to_string(),
                        address_type,
                    }),
                }
            }
        }
        let mut groups = Vec::with_capacity(desired.len());
        for ((address_type, ports), endpoints) in &desired {
            let mut set = EndpointSet::with_capacity(endpoints.len());
            set.extend(endpoints);
            groups.push(Group {
                address_type: *address_type,
                ports: ports.clone(),
                endpoints: set,
            });
        }
        let derived = || desired.keys().map(|(address_type, _)| *address_type).collect();
        let metadata = self.metadata(owner);
        let name_prefix = format!("{}-", owner.name);
        let request = PlanRequest {
            address_types: self.address_types.clone().unwrap_or_else(derived),
            desired: groups,
            reserved_names,
            ..PlanRequest::new(owner, existing, &metadata, &name_prefix)
        };
        let mut plan = plan(request, &self.options)?;
        plan.rejected.append(&mut rejected);
        Ok(plan)
    }

    /// Plans the deletion of all slices of an owner, which is deleted or no longer has endpoints to publish.
    #[must_use]
    pub fn plan_deletion(&self, owner: Owner<'_>, existing: &[EndpointSlice]) -> Plan {
        let (existing, _) = self.split(owner, existing);
        plan_deletion(&existing, Partition::default())
    }

    fn supports(&self, address_type: AddressType) -> bool {
        let supported = self.address_types.as_ref();
        supported.is_none_or(|supported| supported.contains(&address_type))
    }

    fn metadata(&self, owner: Owner<'_>) -> MetadataPolicy {
        let mut policy = MetadataPolicy::default();
        let managed_by = Some(self.managed_by.clone());
        policy
            .managed_labels
            .insert(well_known::MANAGED_BY_LABEL.to_owned(), managed_by);
        policy.set_owner_label(&self.owner_label, owner.name);
        let headless = self
            .headless
            .unwrap_or(self.owner_label != well_known::SERVICE_NAME_LABEL);
        let headless = headless.then(String::new);
        policy
            .managed_labels
            .insert(well_known::HEADLESS_LABEL.to_owned(), headless);
        policy
    }

    /// The slices of an owner, and the names of the other slices in its namespace.
    fn split(&self, owner: Owner<'_>, existing: &[EndpointSlice]) -> (Vec<CompactSlice>, Vec<String>) {
        let policy = self.metadata(owner);
        let mut interner = Interner::default();
        let mut others = Vec::new();
        let in_namespace = |slice: &&EndpointSlice| slice.metadata.namespace.as_deref() == Some(owner.namespace);
        let is_owned = |slice: &EndpointSlice| {
            [well_known::MANAGED_BY_LABEL, &self.owner_label]
                .into_iter()
                .all(|key| {
                    let labels = slice.metadata.labels.as_ref();
                    labels.and_then(|labels| labels.get(key)) == policy.managed_labels[key].as_ref()
                })
        };
        let ours = existing.iter().filter(in_namespace).filter_map(|slice| {
            if is_owned(slice) {
                return Some(CompactSlice::from_k8s(slice, &mut interner));
            }
            others.extend(slice.metadata.name.clone());
            None
        });
        (ours.collect(), others)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;
    use crate::Operation;

    /// Slices of Services without a cluster IP, and of other owners, have the headless label (R110).
    #[test]
    fn r110_headless_label_is_set_as_configured_and_by_default_for_owners_that_are_no_services() {
        for (owner_label, configured, expected) in [
            (well_known::SERVICE_NAME_LABEL, None, None),
            (well_known::SERVICE_NAME_LABEL, Some(true), Some("")),
            (well_known::SERVICE_NAME_LABEL, Some(false), None),
            ("example.com/pool", None, Some("")),
            ("example.com/pool", Some(false), None),
        ] {
            let mut builder = Reconciler::builder("us").owner_label(owner_label);
            if let Some(headless) = configured {
                builder = builder.headless(headless);
            }
            let metadata = ObjectMeta {
                namespace: Some("ns".into()),
                name: Some("a".into()),
                uid: Some("1".into()),
                ..ObjectMeta::default()
            };
            let owner = Owner::from_meta("v1", "Pool", &metadata);
            let desired = [([Port::tcp("", 80)], [EndpointSpec::new("10.0.0.1")])];
            let plan = builder.build().plan(owner, desired, &[]).unwrap();
            let Operation::Create(slice) = &plan.writes[0].operation else {
                panic!("{plan:?}");
            };
            let labels = slice.metadata.labels.as_ref().unwrap();
            let headless = labels.get(well_known::HEADLESS_LABEL).map(String::as_str);
            assert_eq!(headless, expected, "{owner_label} {configured:?}");
        }
    }
}
