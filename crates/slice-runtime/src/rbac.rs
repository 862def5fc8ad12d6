//! The RBAC rules that a program needs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use slice_controller::Controller;

const DISCOVERY: &str = "discovery.k8s.io";
const CORE: &str = "";

/// The least rules with which [`program::run`](crate::program::run) works for this controller: its watches, writes of slices,
/// and events. `owner` is the resource that owns the slices, in the core group: with the admission plugin
/// `OwnerReferencesPermissionEnforcement`, owner references that block deletion need the right to set its finalizers.
pub fn policy_rules<C: Controller>(controller: &C, owner: &str) -> Vec<PolicyRule> {
    let mut watched: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for watch in controller.watches() {
        let group = watch.group_version.split_once('/').map_or(CORE, |(group, _)| group);
        watched.entry(group).or_default().insert(watch.resource);
    }
    // Our own slices are watched too, by a rule that has more verbs.
    if let Some(resources) = watched.get_mut(DISCOVERY) {
        resources.remove("endpointslices");
    }
    watched.retain(|_, resources| !resources.is_empty());
    let watched = watched
        .into_iter()
        .map(|(group, resources)| rule(group, resources, ["list", "watch"]));
    let slices = ["get", "list", "watch", "create", "update", "delete"];
    watched
        .chain([
            rule(DISCOVERY, ["endpointslices"], slices),
            rule(CORE, [format!("{owner}/finalizers")], ["update"]),
            rule(CORE, ["events"], ["create", "patch"]),
        ])
        .collect()
}

fn rule<const N: usize>(group: &str, resources: impl IntoIterator<Item: Into<String>>, verbs: [&str; N]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.into_iter().map(Into::into).collect()),
        verbs: verbs.map(str::to_owned).to_vec(),
        ..PolicyRule::default()
    }
}
