//! Short ways to ask for a plan and to say what came of it.

use std::{collections::BTreeMap, num::NonZeroUsize};

use k8s_openapi::api::core::v1::ObjectReference;
use slice_core::{
    Address, AddressType, CompactSlice, Conditions, Endpoint, EndpointSet, Port, PortMapKey, Target, well_known,
};
use slice_reconciler::{
    Group, MetadataPolicy, Operation, Owner, OwnerReferenceOptions, Ownership, Packing, Partition, Plan, PlanError,
    PlanOptions, PlanRequest, TriggerTime, plan,
};

pub(crate) const OWNER: Owner<'_> = Owner {
    api_version: "v1",
    kind: "Service",
    namespace: "ns",
    name: "foo",
    uid: "uid-1",
    terminating: false,
};

/// Everything that a plan is made from. By default: [`OWNER`], IPv4, nothing wanted, nothing there, slices of 100, and a
/// placeholder.
#[derive(Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) partition: Partition<'a>,
    pub(crate) supported: Vec<AddressType>,
    pub(crate) groups: Vec<(AddressType, PortMapKey, Vec<Endpoint>)>,
    pub(crate) existing: Vec<CompactSlice>,
    pub(crate) policy: MetadataPolicy,
    pub(crate) trigger_time: TriggerTime,
    pub(crate) options: PlanOptions,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            owner: OWNER,
            partition: Partition::default(),
            supported: vec![AddressType::IPv4],
            groups: Vec::new(),
            existing: Vec::new(),
            policy: policy(&[]),
            trigger_time: TriggerTime::Clear,
            options: options(100),
        }
    }
}

impl<'a> Ask<'a> {
    /// For IPv4 endpoints with one set of ports.
    pub(crate) fn of(ports: &PortMapKey, endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        Self {
            groups: vec![(AddressType::IPv4, ports.clone(), endpoints.into_iter().collect())],
            ..Self::default()
        }
    }

    /// The request, for who wants to plan in another way.
    pub(crate) fn request(&'a self) -> PlanRequest<'a> {
        let group = |(address_type, ports, wanted): &'a (AddressType, PortMapKey, Vec<Endpoint>)| {
            let mut endpoints = EndpointSet::default();
            endpoints.extend(wanted);
            Group {
                address_type: *address_type,
                ports: ports.clone(),
                endpoints,
            }
        };
        PlanRequest {
            owner: self.owner,
            partition: self.partition,
            address_types: self.supported.iter().copied().collect(),
            desired: self.groups.iter().map(group).collect(),
            existing: &self.existing,
            metadata: &self.policy,
            hints: None,
            topology: None,
            trigger_time: self.trigger_time.clone(),
            name_prefix: "foo-",
            reserved_names: &[],
        }
    }

    pub(crate) fn try_plan(&self) -> Result<Plan, PlanError> {
        plan(self.request(), &self.options)
    }

    pub(crate) fn plan(&self) -> Plan {
        self.try_plan().unwrap()
    }

    /// Plans and carries out.
    pub(crate) fn sync(&mut self) -> Plan {
        let plan = self.plan();
        self.existing = apply(&plan, &self.existing);
        plan
    }

    /// The same with what others have stored.
    pub(crate) fn with(mut self, existing: Vec<CompactSlice>) -> Self {
        self.existing = existing;
        self
    }
}

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
    let ours = [
        (well_known::SERVICE_NAME_LABEL, "foo"),
        (well_known::MANAGED_BY_LABEL, "me"),
    ];
    MetadataPolicy {
        labels: map(labels),
        reserved: ours.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into(),
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

pub(crate) fn pods(numbers: std::ops::Range<usize>) -> Vec<Endpoint> {
    numbers.map(|number| pod(number, true)).collect()
}

/// An endpoint of which nothing is known but its address, in its canonical spelling or not.
pub(crate) fn at(address: &str) -> Endpoint {
    Endpoint {
        addresses: [Address::from_canonical(address)].into_iter().collect(),
        ..Endpoint::default()
    }
}

/// Carries out the writes that `succeeds` lets through, in their order, and withholds what waits for one that failed.
pub(crate) fn carry_out(
    plan: &Plan,
    existing: &[CompactSlice],
    mut succeeds: impl FnMut(usize, &[CompactSlice]) -> bool,
) -> Vec<CompactSlice> {
    let mut slices = existing.to_vec();
    let mut done = vec![false; plan.writes.len()];
    for (index, write) in plan.writes.iter().enumerate() {
        done[index] = write.after.iter().all(|other| done[*other]) && succeeds(index, &slices);
        if done[index] {
            write.operation.apply_to(&mut slices);
        }
    }
    slices
}

pub(crate) fn apply(plan: &Plan, existing: &[CompactSlice]) -> Vec<CompactSlice> {
    carry_out(plan, existing, |_, _| true)
}

/// The writes in their order, by their first letters.
pub(crate) fn order(plan: &Plan) -> String {
    let letter = |operation: &Operation| match operation {
        Operation::Create(_) => 'c',
        Operation::Update(_) => 'u',
        Operation::Delete(_) => 'd',
    };
    plan.writes.iter().map(|write| letter(&write.operation)).collect()
}

/// (creates, updates, deletes)
pub(crate) fn writes(plan: &Plan) -> (usize, usize, usize) {
    let order = order(plan);
    let count = |letter| order.matches(letter).count();
    (count('c'), count('u'), count('d'))
}

/// What was left out, in words.
pub(crate) fn rejected(plan: &Plan) -> Vec<String> {
    plan.rejected.iter().map(ToString::to_string).collect()
}

pub(crate) fn sizes(slices: &[CompactSlice]) -> Vec<usize> {
    let mut sizes: Vec<usize> = slices.iter().map(|slice| slice.endpoints.len()).collect();
    sizes.sort_unstable();
    sizes
}

/// The addresses in slices, in order.
pub(crate) fn addresses(slices: &[CompactSlice]) -> Vec<String> {
    let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
    let mut addresses: Vec<String> = endpoints.map(|endpoint| endpoint.addresses[0].to_string()).collect();
    addresses.sort_unstable();
    addresses
}

/// Stored slices of the owner that hold these endpoints.
pub(crate) fn stored(contents: &[&[Endpoint]], ports: &PortMapKey) -> Vec<CompactSlice> {
    let slice = |(place, content): (usize, &&[Endpoint])| {
        let mut ask = Ask::of(ports, content.to_vec());
        ask.options = options(1000);
        let mut made = apply(&ask.plan(), &[]);
        made[0].metadata.name = Some(format!("foo-{place}"));
        made.swap_remove(0)
    };
    contents.iter().enumerate().map(slice).collect()
}
