//! From what is wanted and what is there to what has to be written.

use std::collections::{BTreeMap, BTreeSet};

use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSource, PortMapKey, validation::is_dns1123_subdomain};

use crate::{
    EndpointCounts, Group, InvalidLabel, MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, Partition,
    Rejected, TriggerTime,
    builder::Builder,
    hints::{self, HintMode, HintOutcome, TopologyEntry},
    lists::{Lists, NewSlice, SliceChanges},
    naming::{self, Names},
    planned::PlannedEndpoint,
    stage::Stage,
    writes::{Pending, Write},
};

/// What does not change from one plan of a controller to the next. By default, there are no placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions {
    /// How endpoints are spread over slices.
    pub packing: Packing,
    /// Whether an owner without endpoints has an empty slice for each supported address type.
    pub placeholder: bool,
    /// What is done with slices of other owners.
    pub ownership: Ownership,
    /// How our owner references read.
    pub owner_reference: OwnerReferenceOptions,
}

/// Everything that one plan is made from.
#[derive(Debug)]
pub struct PlanRequest<'a, E = &'a Endpoint> {
    /// For whom.
    pub owner: Owner<'a>,
    /// Which of the owner's slice sets, if it has several.
    pub partition: Partition<'a>,
    /// The address types that the owner has slices of. Slices of any other type are deleted.
    pub address_types: BTreeSet<AddressType>,
    /// What is wanted; groups of the same type and ports are merged, the later endpoint of an identity wins.
    pub desired: Vec<Group<E>>,
    /// The slices that carry the owner's labels, those that are being deleted included. Those outside the partition are not
    /// touched; their names are not used again.
    pub existing: &'a [CompactSlice],
    /// What their metadata should be.
    pub metadata: &'a MetadataPolicy,
    /// Which hints the owner asked for; without a mode, no hints are given, and nothing is written just to take some away.
    pub hints: Option<HintMode>,
    /// The owner's entry in the cache that topology hints need; without it, [`HintMode::Auto`] gives none.
    pub topology: Option<TopologyEntry<'a>>,
    /// What is written of when the change began.
    pub trigger_time: TriggerTime,
    /// How names of new slices begin.
    pub name_prefix: &'a str,
    /// Names that are not to be used, besides those of existing slices: others have them.
    pub reserved_names: &'a [String],
}

impl<'a, E: EndpointSource> PlanRequest<'a, E> {
    /// A request to fill in: as it is, nothing is wanted, no hints are given, and trigger times are none of our business.
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

/// What has to be written, in an order in which no endpoint is missing in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The writes: creates first, deletes last, and each after those it depends on.
    pub writes: Vec<Write>,
    /// Counters for each supported address type.
    pub stats: Vec<PlanStats>,
    /// What became of hints, for each supported address type, where the owner asked for them.
    pub hints: Vec<HintOutcome>,
    /// What was desired and cannot be published, with the reason. The rest of the plan is not affected.
    pub rejected: Vec<Rejected>,
}

/// What a plan comes to for one address type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStats {
    /// The address type.
    pub address_type: AddressType,
    /// Endpoints that come, go and change.
    pub changes: EndpointCounts,
    /// Endpoints that are wanted.
    pub endpoints: usize,
    /// Slices that there will be; also those that an owner which is going away no longer gets (R128).
    pub slices: usize,
    /// Slices that would do.
    pub min_slices: usize,
}

/// Why an owner is left out as a whole: nothing is written for it, and its slices stay as they are. Other owners are not
/// concerned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Slices of an owner without uid could not be told from those of an earlier owner of the same name.
    #[error("{kind} {namespace}/{name} has no uid: read it from the API server before planning for it")]
    NoUid {
        /// The owner's kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The caller wants endpoints of a type that it says the owner does not have (G10).
    #[error("a group of type {0} is wanted, but the owner does not support that type")]
    UnsupportedType(AddressType),
    /// An owner without a name or namespace is none that the API server has.
    #[error(
        "{kind} \"{namespace}/{name}\" lacks a name or a namespace: slices are only made for objects that have both"
    )]
    NoName {
        /// The owner's kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// An owner reference needs a kind and an API version; typed objects of the API do not know theirs.
    #[error("\"{namespace}/{name}\" has no kind or no API version: say both, as objects read by type know neither")]
    NoKind {
        /// The owner's namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// New slices could not be named so.
    #[error("no name of a slice can begin with {0:?}: use lower case letters, digits, dashes and dots")]
    NamePrefix(String),
    /// A label by which the slices of the owner are found, so that it cannot be left out.
    #[error("the slices could not be found by the label {key:?}: {reason}")]
    Label {
        /// Its key.
        key: String,
        /// What is wrong with it.
        reason: InvalidLabel,
    },
}

/// Plans the writes. Equal requests give equal plans, whatever the order of their parts; only of several endpoints with one
/// identity the last one counts (R78, M63).
pub fn plan<E: EndpointSource>(request: PlanRequest<'_, E>, options: &PlanOptions) -> Result<Plan, PlanError> {
    check(&request)?;
    let mut topology = request.topology;
    if let Some(topology) = &mut topology {
        for address_type in [AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn] {
            if !request.address_types.contains(&address_type) {
                topology.0.forget_type(address_type);
            }
        }
    }
    let mut existing: Vec<&CompactSlice> = request.existing.iter().collect();
    existing.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut plan = Plan::default();
    let policy = request
        .metadata
        .checked(request.partition, &request.trigger_time, &mut plan.rejected)?;
    let names = existing.iter().filter_map(|slice| slice.metadata.name.as_deref());
    let names = names.chain(request.reserved_names.iter().map(String::as_str));
    let mut builder = Builder {
        owner: request.owner,
        flags: options.owner_reference,
        policy: &policy,
        trigger_time: &request.trigger_time,
        names: Names::new(request.owner, request.partition, request.name_prefix, names),
    };
    existing.retain(|slice| request.partition.holds(slice));
    let (mut live, unsupported) = split(&existing, &request.address_types);
    let mut groups = merge(request.desired);
    let mut pending = Pending::default();
    for address_type in request.address_types {
        let stage = Stage {
            owner: request.owner,
            address_type,
            policy: &policy,
            options,
        };
        let of_type = live.remove(&address_type).unwrap_or_default();
        let groups = groups.remove(&address_type).unwrap_or_default();
        let (slices, mut summary) = stage.run(&of_type, groups, &mut plan.rejected);
        pending.delete.extend(&slices.delete);
        let mut lists = into_lists(slices, address_type, &mut builder);
        let hints = request.hints;
        let outcome = hints.map(|mode| hints::apply(mode, address_type, &mut lists, topology.as_mut()));
        plan.hints.extend(outcome);
        summary.slices += split_large(&mut lists, address_type, options.packing.max(), &mut builder);
        plan.stats.push(summary);
        pending.create.extend(lists.create);
        pending.update.extend(lists.update);
    }
    pending.unsupported = unsupported;
    let one_per_group = matches!(options.packing, Packing::OnePerGroup { .. });
    for update in &mut pending.update {
        builder.complete(&mut update.to.metadata);
    }
    plan.writes = pending.into_writes(one_per_group, &mut builder, &mut plan.stats);
    Ok(plan)
}

fn into_lists<'a, E: EndpointSource>(
    slices: SliceChanges<'a, E>,
    address_type: AddressType,
    builder: &mut Builder<'_>,
) -> Lists<'a, E> {
    let mut create = |new: NewSlice<E>| {
        let endpoints = new.endpoints.into_iter().map(PlannedEndpoint::from_desired).collect();
        builder.new_slice(address_type, new.ports, endpoints)
    };
    Lists {
        create: slices.create.into_iter().map(&mut create).collect(),
        update: slices.update,
        unchanged: slices.unchanged,
    }
}

/// Brings slices down to the maximum that are above it and written only for their hints or to adopt them (I3): what is too much
/// goes, with its hints, into slices of its group that are written anyway and have room, and the rest into as few new ones as it
/// takes (I6). Answers how many.
fn split_large<'a, E: EndpointSource>(
    lists: &mut Lists<'a, E>,
    address_type: AddressType,
    max: usize,
    builder: &mut Builder<'_>,
) -> usize {
    let mut beyond: BTreeMap<PortMapKey, Vec<PlannedEndpoint<'a, E>>> = BTreeMap::new();
    let updates = lists.update.iter_mut().map(|update| &mut update.to);
    for slice in updates.filter(|slice| slice.endpoints.len() > max) {
        let of_group = beyond.entry(slice.ports.clone()).or_default();
        of_group.extend(slice.endpoints.drain(max..));
    }
    let before = lists.create.len();
    for (ports, mut endpoints) in beyond {
        let updates = lists.update.iter_mut().map(|update| &mut update.to);
        let written = updates.chain(&mut lists.create);
        for slice in written.filter(|slice| slice.ports == ports) {
            let room = max.saturating_sub(slice.endpoints.len()).min(endpoints.len());
            slice.endpoints.extend(endpoints.drain(..room));
        }
        let new =
            |endpoints: &[PlannedEndpoint<'a, E>]| builder.new_slice(address_type, ports.clone(), endpoints.to_vec());
        lists.create.extend(endpoints.chunks(max).map(new));
    }
    lists.create.len() - before
}

fn check<E: EndpointSource>(request: &PlanRequest<'_, E>) -> Result<(), PlanError> {
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
    // Whatever its ordinal, a name ends in a letter or digit.
    if !is_dns1123_subdomain(&format!("{}a", naming::cut(request.name_prefix))) {
        return Err(PlanError::NamePrefix(request.name_prefix.to_owned()));
    }
    let unsupported = request
        .desired
        .iter()
        .find(|group| !request.address_types.contains(&group.address_type));
    unsupported.map_or(Ok(()), |group| Err(PlanError::UnsupportedType(group.address_type)))
}

type ByType<'a> = BTreeMap<AddressType, Vec<&'a CompactSlice>>;

/// Slices by supported type, and those of other types. What is being deleted is neither: nobody waits for it (G12).
fn split<'a>(existing: &[&'a CompactSlice], supported: &BTreeSet<AddressType>) -> (ByType<'a>, Vec<&'a CompactSlice>) {
    let mut live = ByType::new();
    let mut unsupported = Vec::new();
    for slice in existing
        .iter()
        .filter(|slice| slice.metadata.deletion_timestamp.is_none())
    {
        match slice.address_type {
            Ok(address_type) if supported.contains(&address_type) => live.entry(address_type).or_default().push(slice),
            _ => unsupported.push(*slice),
        }
    }
    (live, unsupported)
}

/// Groups by type and ports, each once (G8).
fn merge<E: EndpointSource>(groups: Vec<Group<E>>) -> BTreeMap<AddressType, BTreeMap<PortMapKey, Group<E>>> {
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
