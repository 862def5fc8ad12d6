//! The RBAC rules that a program needs, and the permissions to review.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{authorization::v1::ResourceAttributes, rbac::v1::PolicyRule};
use slice_controller::Controller;

use crate::{leader_election::LeaderElection, run::RunOptions};

const DISCOVERY: &str = "discovery.k8s.io";
const CORE: &str = "";
const COORDINATION: &str = "coordination.k8s.io";
/// The verbs that are used in a dry run.
const READ_VERBS: [&str; 3] = ["get", "list", "watch"];

/// The least rules with which [`program::run`](crate::program::run) works for this controller: its watches, writes of slices,
/// and events. `owner` is the resource that owns the slices, with its group as kubectl writes it (`services`,
/// `pools.example.com`): with the admission plugin `OwnerReferencesPermissionEnforcement`, owner references that block deletion
/// need the right to set its finalizers.
pub fn policy_rules<C: Controller>(controller: &C, owner: &str) -> Vec<PolicyRule> {
    rules(controller, Some(owner))
}

/// The rules of a dry run: [`policy_rules`] without the verbs that write.
pub fn dry_run_rules<C: Controller>(controller: &C) -> Vec<PolicyRule> {
    let mut rules = rules(controller, None);
    for rule in &mut rules {
        rule.verbs.retain(|verb| READ_VERBS.contains(&verb.as_str()));
    }
    rules.retain(|rule| !rule.verbs.is_empty());
    rules
}

/// The rules for the lease of leader election, of a Role in its namespace. The permission to create cannot be limited to a name.
#[must_use]
pub fn lease_rules(lease: &str) -> Vec<PolicyRule> {
    let named = PolicyRule {
        resource_names: Some(vec![lease.to_owned()]),
        ..rule(COORDINATION, ["leases"], ["get", "update"])
    };
    vec![rule(COORDINATION, ["leases"], ["create"]), named]
}

/// The rules that the secure port needs in addition, to review its clients.
#[must_use]
pub fn secure_port_rules() -> Vec<PolicyRule> {
    vec![
        rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ]
}

/// The permissions of [`policy_rules`] one by one, as access reviews take them; in a dry run only those to read.
pub(crate) fn required_access<C: Controller>(
    controller: &C,
    owner: Option<&str>,
    options: &RunOptions,
) -> Vec<ResourceAttributes> {
    let watches = controller.watches();
    let cluster_scoped = |resource: &str| {
        let mut watches = watches.iter();
        watches.any(|watch| watch.resource == resource && !watch.namespaced)
    };
    // An empty namespace means all namespaces.
    let namespace = |resource: &str| {
        if cluster_scoped(resource) {
            ""
        } else {
            &*options.namespace
        }
    };
    let used = |access: &ResourceAttributes| {
        let verb = access.verb.as_deref().unwrap_or_default();
        !options.dry_run || READ_VERBS.contains(&verb)
    };
    let rules = rules(controller, owner).into_iter();
    let required = rules.flat_map(|rule| access(rule, namespace)).filter(used);
    let lease = options.leader_election.as_ref().filter(|_| !options.dry_run);
    required.chain(lease.map(lease_access).unwrap_or_default()).collect()
}

/// The permissions of [`lease_rules`] one by one.
fn lease_access(lease: &LeaderElection) -> Vec<ResourceAttributes> {
    let rules = lease_rules(&lease.name).into_iter();
    rules.flat_map(|rule| access(rule, |_| &*lease.namespace)).collect()
}

/// The permissions of [`secure_port_rules`] one by one, as access reviews take them: to review tokens, and to review access.
pub(crate) fn secure_port_access(tokens: bool, subject_access: bool) -> Vec<ResourceAttributes> {
    let rules = secure_port_rules().into_iter().zip([tokens, subject_access]);
    let required = rules.filter_map(|(rule, required)| required.then_some(rule));
    required.flat_map(|rule| access(rule, |_| "")).collect()
}

/// The permissions of a rule one by one. `namespace` returns the namespace in which a resource is used.
fn access<'a>(rule: PolicyRule, namespace: impl Fn(&str) -> &'a str) -> Vec<ResourceAttributes> {
    let groups = rule.api_groups.unwrap_or_default();
    let resources = rule.resources.unwrap_or_default();
    let object = rule.resource_names.and_then(|names| names.into_iter().next());
    let mut all = Vec::new();
    for (group, resource) in groups
        .iter()
        .flat_map(|group| resources.iter().map(move |resource| (group, resource)))
    {
        let (name, subresource) = match resource.split_once('/') {
            Some((name, subresource)) => (name, Some(subresource.to_owned())),
            None => (resource.as_str(), None),
        };
        all.extend(rule.verbs.iter().map(|verb| ResourceAttributes {
            group: Some(group.clone()),
            namespace: Some(namespace(name).to_owned()),
            resource: Some(name.to_owned()),
            subresource: subresource.clone(),
            name: object.clone(),
            verb: Some(verb.clone()),
            ..ResourceAttributes::default()
        }));
    }
    all
}

fn rules<C: Controller>(controller: &C, owner: Option<&str>) -> Vec<PolicyRule> {
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
    let finalizers = owner.map(|owner| {
        let (resource, group) = owner.split_once('.').unwrap_or((owner, CORE));
        rule(group, [format!("{resource}/finalizers")], ["update"])
    });
    watched
        .chain([rule(DISCOVERY, ["endpointslices"], slices)])
        .chain(finalizers)
        .chain([rule(CORE, ["events"], ["create", "patch"])])
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

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use service_slices::controller::{Config, ServiceController};

    use super::*;

    fn controller() -> ServiceController {
        ServiceController::new(Config {
            managed_by: "us".to_owned(),
            max_endpoints_per_slice: NonZeroUsize::MIN,
            batch_period: Duration::ZERO,
            service_selector: String::new(),
        })
    }

    fn required(namespace: &str, dry_run: bool) -> Vec<String> {
        let controller = controller();
        let options = RunOptions {
            namespace: namespace.to_owned(),
            dry_run,
            ..RunOptions::new("us", "us")
        };
        let required = required_access(&controller, Some("services"), &options);
        let text = |value: Option<String>| value.unwrap_or_default();
        let line = |access: ResourceAttributes| {
            let resource = [text(access.resource), text(access.subresource)].join("/");
            format!("{} {} {resource}", text(access.namespace), text(access.verb))
        };
        required.into_iter().map(line).collect()
    }

    #[test]
    fn every_verb_of_the_rules_is_required_in_the_watched_namespace() {
        let expected = " list nodes/, watch nodes/,\
            shop list pods/,shop watch pods/,shop list services/,shop watch services/,\
            shop get endpointslices/,shop list endpointslices/,shop watch endpointslices/,\
            shop create endpointslices/,shop update endpointslices/,shop delete endpointslices/,\
            shop update services/finalizers,shop create events/,shop patch events/";
        assert_eq!(required("shop", false).join(","), expected);
    }

    #[test]
    fn the_owner_may_be_in_any_group() {
        for (owner, group, resource) in [
            ("services", "", "services/finalizers"),
            ("pools.example.com", "example.com", "pools/finalizers"),
        ] {
            let rules = policy_rules(&controller(), owner);
            assert!(rules.contains(&rule(group, [resource], ["update"])), "{rules:?}");
        }
    }

    #[test]
    fn leader_election_requires_access_to_its_lease() {
        let access = lease_access(&LeaderElection::new("lock", "me"));
        let lines = access.iter().map(|access| {
            assert_eq!(access.namespace.as_deref(), Some("kube-system"));
            (access.verb.as_deref().unwrap(), access.name.as_deref())
        });
        let expected = [("create", None), ("get", Some("lock")), ("update", Some("lock"))];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_secure_port_requires_the_reviews_that_the_program_sends_itself() {
        let required = |tokens, access| {
            let required = secure_port_access(tokens, access).into_iter();
            required.map(|access| access.resource.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(required(true, true), ["tokenreviews", "subjectaccessreviews"]);
        assert_eq!(required(false, true), ["subjectaccessreviews"]);
        assert!(required(false, false).is_empty());
    }

    #[test]
    fn a_dry_run_requires_no_writes() {
        let required = required("", true);
        assert_eq!(required.len(), 9, "{required:?}");
        let is_read = |line: &String| READ_VERBS.iter().any(|verb| line.contains(&format!(" {verb} ")));
        assert!(required.iter().all(is_read), "{required:?}");
    }

    #[test]
    fn rules_of_a_dry_run_allow_what_it_requires() {
        let rules = dry_run_rules(&controller()).into_iter();
        let allowed = rules.flat_map(|rule| access(rule, |_| ""));
        assert_eq!(allowed.count(), required("", true).len());
        let verbs: BTreeSet<String> = dry_run_rules(&controller())
            .into_iter()
            .flat_map(|rule| rule.verbs)
            .collect();
        assert_eq!(verbs, READ_VERBS.map(str::to_owned).into());
    }
}
