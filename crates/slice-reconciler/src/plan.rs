//! The planner: desired endpoints and existing slices in, ordered writes out. [`plan`] lists the steps.

use std::collections::{BTreeMap, BTreeSet};

use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSource, PortMapKey, validation::is_dns1123_subdomain};

use crate::{
    EndpointCounts, Group, InvalidLabel, MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, Partition,
    Rejected, TriggerTime,
    address_type_planner::AddressTypePlanner,
    builder::SliceBuilder,
    hints::{self, HintMode, HintOutcome, TopologyEntry},
    lists::{NewSlice, SliceChanges, SliceLists},
    naming::{self, NameAllocator},
    planned::PlannedEndpoint,
    writes::{UnorderedWrites, Write},
};

/// Options of a controller, the same for all its plans. The default creates no placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions {
    /// How endpoints are distributed over slices.
    pub packing: Packing,
    /// Whether an owner without endpoints has an empty placeholder slice for each address type.
    pub placeholder: bool,
    /// Handling of slices of other owners.
    pub ownership: Ownership,
    /// Flags of our owner references.
    pub owner_reference: OwnerReferenceOptions,
}

/// The input of one plan.
#[derive(Debug)]
pub struct PlanRequest<'a, E = &'a Endpoint> {
    /// The owner of the slices.
    pub owner: Owner<'a>,
    /// The slice set to plan, if the owner has several.
    pub partition: Partition<'a>,
    /// The address types of the owner. Slices of other types are deleted.
    pub address_types: BTreeSet<AddressType>,
    /// The desired endpoints. Groups of the same type and ports are merged; the later endpoint of an identity wins.
    pub desired: Vec<Group<E>>,
    /// The slices with the owner's labels, terminating ones included. Slices outside the partition do not change, but their
    /// names are reserved.
    pub existing: &'a [CompactSlice],
    /// The desired labels and annotations of the slices.
    pub metadata: &'a MetadataPolicy,
    /// The hint mode of the owner. Without one no hints are assigned, and no slice is written only to remove hints.
    pub hints: Option<HintMode>,
    /// The owner's entry in the topology cache. [`HintMode::Auto`] assigns no hints without it.
    pub topology: Option<TopologyEntry<'a>>,
    /// The trigger time annotation of written slices.
    pub trigger_time: TriggerTime,
    /// Prefix of the names of new slices.
    pub name_prefix: &'a str,
    /// Names of other slices in the namespace, which new slices must not use.
    pub reserved_names: &'a [String],
}

impl<'a, E: EndpointSource> PlanRequest<'a, E> {
    /// A request with no desired endpoints, no hints and an unmanaged trigger time; set the rest with struct update syntax.
    #[must_use]
    pub fn new(
        owner: Owner<'a>,
        existing: &'a [CompactSlice],
        metadata: &'a MetadataPolicy,
        name_prefix: &'a str,
    ) -> Self {
        Self {
            owner,
            partition: Partition::default(),
            address_types: BTreeSet::new(),
            desired: Vec::new(),
            existing,
            metadata,
            hints: None,
            topology: None,
            trigger_time: TriggerTime::default(),
            name_prefix,
            reserved_names: &[],
        }
    }
}

/// The planned writes, in an order in which no published endpoint is missing between two writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The writes: creates first, deletes last, and each write after those it depends on.
    pub writes: Vec<Write>,
    /// Counters for each address type of the request.
    pub stats: Vec<PlanStats>,
    /// The result of hint assignment for each address type of the request, if it has a hint mode.
    pub hints: Vec<HintOutcome>,
    /// Desired endpoints, groups and labels that the API server would reject. The rest of the plan is not affected.
    pub rejected: Vec<Rejected>,
}

/// Counters of a plan for one address type, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStats {
    /// The address type.
    pub address_type: AddressType,
    /// Endpoints added, removed and changed.
    pub changes: EndpointCounts,
    /// Desired endpoints without the rejected ones.
    pub desired_endpoints: usize,
    /// Slices after the plan; for a terminating owner also the creates that are not sent (R128).
    pub slices: usize,
    /// The least number of slices that can hold the desired endpoints.
    pub min_slices: usize,
}

/// Why no plan is possible for an owner. Nothing is written for it; other owners are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Without a uid, slices of an earlier owner of the same name could not be distinguished from its own.
    #[error("{kind} {namespace}/{name} has no uid: read it from the API server before planning for it")]
    NoUid {
        /// The owner's kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A desired group has an address type that is not in [`PlanRequest::address_types`] (G10).
    #[error(
        "endpoints of address type {0} are desired, but the request does not list that type: add it to address_types"
    )]
    UnsupportedType(AddressType),
    /// The owner has no name or no namespace, unlike every namespaced object of the API.
    #[error("{kind} \"{namespace}/{name}\" has no name or no namespace: pass the metadata of a namespaced object")]
    NoName {
        /// The owner's kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An owner reference needs a kind and an API version. Typed API objects do not carry them.
    #[error("\"{namespace}/{name}\" has no kind or no API version: pass both, because typed objects carry neither")]
    NoKind {
        /// The owner's namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The prefix gives no valid slice name.
    #[error("slice names cannot begin with {0:?}: use lower case letters, digits, dashes and dots")]
    NamePrefix(String),
    /// A label that selects the slices of the owner is invalid. It is required, so it cannot be omitted.
    #[error("slices cannot be selected by label {key:?}: {reason}")]
    Label {
        /// Its key.
        key: String,
        /// Why the API server would reject it.
        reason: InvalidLabel,
    },
}

/// Plans the writes for one owner. Equal requests give equal plans, whatever the order of their parts; only of several
/// endpoints with one identity the last one counts (R78, M63).
///
/// 1. Validate the request. Drop cached topology state of other address types. Omit and report invalid labels.
/// 2. Split the existing slices by address type, and merge desired groups with the same ports.
/// 3. Plan the slices of each address type: pack groups, keep a placeholder, adopt, reuse (`AddressTypePlanner::plan`).
/// 4. Assign hints.
/// 5. Split slices that are above the maximum and written anyway.
/// 6. Order the writes, so that no published endpoint is missing between two writes.
pub fn plan<E: EndpointSource>(request: PlanRequest<'_, E>, options: &PlanOptions) -> Result<Plan, PlanError> {
    // 1. Validate.
    validate(&request)?;
    let mut topology = request.topology;
    if let Some(topology) = &mut topology {
        for address_type in [AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn] {
            if !request.address_types.contains(&address_type) {
                topology.0.forget_type(address_type);
            }
        }
    }
    let mut plan = Plan::default();
    let policy = request
        .metadata
        .validated(request.partition, &request.trigger_time, &mut plan.rejected)?;
    // 2. Split and merge the input.
    let mut existing: Vec<&CompactSlice> = request.existing.iter().collect();
    existing.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let names = existing.iter().filter_map(|slice| slice.metadata.name.as_deref());
    let names = names.chain(request.reserved_names.iter().map(String::as_str));
    let mut builder = SliceBuilder {
        owner: request.owner,
        owner_reference: options.owner_reference,
        policy: &policy,
        trigger_time: &request.trigger_time,
        names: NameAllocator::new(request.owner, request.partition, request.name_prefix, names),
    };
    existing.retain(|slice| request.partition.contains(slice));
    let (mut existing, unsupported) = split_by_type(&existing, &request.address_types);
    let mut desired = merge_groups(request.desired);
    let mut writes = UnorderedWrites {
        to_create: Vec::new(),
        to_update: Vec::new(),
        to_delete: Vec::new(),
        unsupported,
    };
    for address_type in request.address_types {
        // 3. Plan the slices of this address type.
        let planner = AddressTypePlanner {
            owner: request.owner,
            address_type,
            policy: &policy,
            options,
        };
        let existing = existing.remove(&address_type).unwrap_or_default();
        let desired = desired.remove(&address_type).unwrap_or_default();
        let (changes, mut stats) = planner.plan(&existing, desired, &mut plan.rejected);
        writes.to_delete.extend(&changes.to_delete);
        let mut lists = into_lists(changes, address_type, &mut builder);
        // 4. Assign hints.
        let assign = |mode| hints::apply(mode, address_type, &mut lists, topology.as_mut());
        plan.hints.extend(request.hints.map(assign));
        // 5. Split slices above the maximum.
        stats.slices += split_oversized(&mut lists, address_type, options.packing.max(), &mut builder);
        plan.stats.push(stats);
        writes.to_create.extend(lists.to_create);
        writes.to_update.extend(lists.to_update);
    }
    // 6. Order the writes.
    for update in &mut writes.to_update {
        builder.finish_metadata(&mut update.planned.metadata);
    }
    let one_per_group = matches!(options.packing, Packing::OnePerGroup { .. });
    plan.writes = writes.into_ordered(one_per_group, &mut builder, &mut plan.stats);
    Ok(plan)
}

/// The lists for hint assignment: gives new slices their metadata, and drops the slices to delete.
fn into_lists<'a, E: EndpointSource>(
    changes: SliceChanges<'a, E>,
    address_type: AddressType,
    builder: &mut SliceBuilder<'_>,
) -> SliceLists<'a, E> {
    let mut create = |new: NewSlice<E>| {
        let endpoints = new.endpoints.into_iter().map(PlannedEndpoint::from_desired).collect();
        builder.new_slice(address_type, new.ports, endpoints)
    };
    SliceLists {
        to_create: changes.to_create.into_iter().map(&mut create).collect(),
        to_update: changes.to_update,
        unchanged: changes.unchanged,
    }
}

/// Splits slices that are above the maximum and written only for hints or adoption (I3). The overflow moves, with its hints,
/// into slices of the same group that are written anyway and have room, then into as few new slices as possible (I6). Returns
/// the number of new slices.
fn split_oversized<'a, E: EndpointSource>(
    lists: &mut SliceLists<'a, E>,
    address_type: AddressType,
    max: usize,
    builder: &mut SliceBuilder<'_>,
) -> usize {
    let mut overflow: BTreeMap<PortMapKey, Vec<PlannedEndpoint<'a, E>>> = BTreeMap::new();
    let updates = lists.to_update.iter_mut().map(|update| &mut update.planned);
    for slice in updates.filter(|slice| slice.endpoints.len() > max) {
        let of_group = overflow.entry(slice.ports.clone()).or_default();
        of_group.extend(slice.endpoints.drain(max..));
    }
    let before = lists.to_create.len();
    for (ports, mut endpoints) in overflow {
        let updates = lists.to_update.iter_mut().map(|update| &mut update.planned);
        let changed = updates.chain(&mut lists.to_create);
        for slice in changed.filter(|slice| slice.ports == ports) {
            let room = max.saturating_sub(slice.endpoints.len()).min(endpoints.len());
            slice.endpoints.extend(endpoints.drain(..room));
        }
        let chunks = endpoints.chunks(max);
        let new = chunks.map(|chunk| builder.new_slice(address_type, ports.clone(), chunk.to_vec()));
        lists.to_create.extend(new);
    }
    lists.to_create.len() - before
}

fn validate<E: EndpointSource>(request: &PlanRequest<'_, E>) -> Result<(), PlanError> {
    let owner = request.owner;
    if owner.kind.is_empty() || owner.api_version.is_empty() {
        let [namespace, name] = [owner.namespace, owner.name].map(str::to_owned);
        return Err(PlanError::NoKind { namespace, name });
    }
    if owner.name.is_empty() || owner.namespace.is_empty() || owner.uid.is_empty() {
        let [kind, namespace, name] = [owner.kind, owner.namespace, owner.name].map(str::to_owned);
        return Err(match owner.uid {
            "" => PlanError::NoUid { kind, namespace, name },
            _ => PlanError::NoName { kind, namespace, name },
        });
    }
    // Every generated suffix ends in a letter or digit.
    if !is_dns1123_subdomain(&format!("{}a", naming::truncate_prefix(request.name_prefix))) {
        return Err(PlanError::NamePrefix(request.name_prefix.to_owned()));
    }
    let mut desired = request.desired.iter().map(|group| group.address_type);
    let unsupported = desired.find(|address_type| !request.address_types.contains(address_type));
    unsupported.map_or(Ok(()), |address_type| Err(PlanError::UnsupportedType(address_type)))
}

/// Slices by supported address type, and slices of other types.
type ByType<'a> = (BTreeMap<AddressType, Vec<&'a CompactSlice>>, Vec<&'a CompactSlice>);

/// Splits slices by address type, without terminating slices (G12).
fn split_by_type<'a>(existing: &[&'a CompactSlice], supported: &BTreeSet<AddressType>) -> ByType<'a> {
    let (mut live, mut unsupported): ByType<'a> = (BTreeMap::new(), Vec::new());
    let existing = existing.iter();
    for slice in existing.filter(|slice| slice.metadata.deletion_timestamp.is_none()) {
        match slice.address_type {
            Ok(address_type) if supported.contains(&address_type) => live.entry(address_type).or_default().push(slice),
            _ => unsupported.push(*slice),
        }
    }
    (live, unsupported)
}

/// Desired groups by type and ports, one for each (G8).
fn merge_groups<E: EndpointSource>(groups: Vec<Group<E>>) -> BTreeMap<AddressType, BTreeMap<PortMapKey, Group<E>>> {
    let mut merged: BTreeMap<_, BTreeMap<_, Group<E>>> = BTreeMap::new();
    for group in groups {
        let of_type = merged.entry(group.address_type).or_default();
        match of_type.get_mut(&group.ports) {
            Some(first) => first.endpoints.extend(group.endpoints.into_sorted()),
            None => {
                of_type.insert(group.ports.clone(), group);
            }
        }
    }
    merged
}
