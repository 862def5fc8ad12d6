//! Runs plans and describes their results.

use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSet, PortMapKey};
use slice_reconciler::{
    Group, MetadataPolicy, Operation, Owner, Partition, Plan, PlanError, PlanOptions, PlanRequest, TriggerTime, plan,
};

use crate::fixtures::{OWNER, options, policy};

/// The input of plans, and the slices that they leave. Default: [`OWNER`], IPv4, no desired endpoints, no existing slices,
/// 100 endpoints per slice, and a placeholder.
#[derive(Clone)]
pub(crate) struct Harness<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) partition: Partition<'a>,
    pub(crate) address_types: Vec<AddressType>,
    pub(crate) desired: Vec<(AddressType, PortMapKey, Vec<Endpoint>)>,
    pub(crate) existing: Vec<CompactSlice>,
    pub(crate) policy: MetadataPolicy,
    pub(crate) trigger_time: TriggerTime,
    pub(crate) options: PlanOptions,
}

impl Default for Harness<'_> {
    fn default() -> Self {
        Self {
            owner: OWNER,
            partition: Partition::default(),
            address_types: vec![AddressType::IPv4],
            desired: Vec::new(),
            existing: Vec::new(),
            policy: policy(&[]),
            trigger_time: TriggerTime::Clear,
            options: options(100),
        }
    }
}

impl<'a> Harness<'a> {
    /// A harness for IPv4 endpoints with one set of ports.
    pub(crate) fn of(ports: &PortMapKey, endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        Self {
            desired: vec![(AddressType::IPv4, ports.clone(), endpoints.into_iter().collect())],
            ..Self::default()
        }
    }

    /// The request, for tests that change it.
    pub(crate) fn request(&'a self) -> PlanRequest<'a> {
        let group = |(address_type, ports, desired): &'a (AddressType, PortMapKey, Vec<Endpoint>)| {
            let mut endpoints = EndpointSet::default();
            endpoints.extend(desired);
            Group {
                address_type: *address_type,
                ports: ports.clone(),
                endpoints,
            }
        };
        PlanRequest {
            owner: self.owner,
            partition: self.partition,
            address_types: self.address_types.iter().copied().collect(),
            desired: self.desired.iter().map(group).collect(),
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

    /// Plans and applies the plan.
    pub(crate) fn sync(&mut self) -> Plan {
        let plan = self.plan();
        self.existing = apply(&plan, &self.existing);
        plan
    }

    /// The same with these existing slices.
    pub(crate) fn with(mut self, existing: Vec<CompactSlice>) -> Self {
        self.existing = existing;
        self
    }
}

/// Executes the writes in order. Fails those that `succeeds` rejects, and skips those that depend on a failed one.
pub(crate) fn execute(
    plan: &Plan,
    existing: &[CompactSlice],
    mut succeeds: impl FnMut(usize, &[CompactSlice]) -> bool,
) -> Vec<CompactSlice> {
    let mut slices = existing.to_vec();
    let mut done = vec![false; plan.writes.len()];
    for (index, write) in plan.writes.iter().enumerate() {
        done[index] = write.depends_on.iter().all(|other| done[*other]) && succeeds(index, &slices);
        if done[index] {
            write.operation.apply_to(&mut slices);
        }
    }
    slices
}

pub(crate) fn apply(plan: &Plan, existing: &[CompactSlice]) -> Vec<CompactSlice> {
    execute(plan, existing, |_, _| true)
}

/// The first letters of the writes, in order.
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

/// The messages about rejected endpoints, groups and labels.
pub(crate) fn rejected(plan: &Plan) -> Vec<String> {
    plan.rejected.iter().map(ToString::to_string).collect()
}

pub(crate) fn sizes(slices: &[CompactSlice]) -> Vec<usize> {
    let mut sizes: Vec<usize> = slices.iter().map(|slice| slice.endpoints.len()).collect();
    sizes.sort_unstable();
    sizes
}

/// The sorted addresses of slices.
pub(crate) fn addresses(slices: &[CompactSlice]) -> Vec<String> {
    let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
    let mut addresses: Vec<String> = endpoints.map(|endpoint| endpoint.addresses[0].to_string()).collect();
    addresses.sort_unstable();
    addresses
}
