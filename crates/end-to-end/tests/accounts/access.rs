//! The permissions of the manifests one by one.

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::DynamicObject;
use manifests::{Controller, Options};
use testenv::AuditedRequest;

/// A permission, or the request that needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    pub(crate) verb: String,
    /// The API group, empty for core.
    pub(crate) group: String,
    /// The resource, with the subresource after a slash.
    pub(crate) resource: String,
    /// Empty for all namespaces, and for cluster-scoped resources.
    pub(crate) namespace: String,
    /// Empty for all names.
    pub(crate) name: String,
}

impl Access {
    /// Whether this permission allows the request.
    pub(crate) fn allows(&self, request: &Self) -> bool {
        let covers = |granted: &str, requested: &str| granted.is_empty() || granted == requested;
        (&self.verb, &self.group, &self.resource) == (&request.verb, &request.group, &request.resource)
            && covers(&self.namespace, &request.namespace)
            && covers(&self.name, &request.name)
    }
}

impl From<&AuditedRequest> for Access {
    fn from(request: &AuditedRequest) -> Self {
        let AuditedRequest {
            verb,
            group,
            resource,
            namespace,
            name,
            ..
        } = request.clone();
        Self {
            verb,
            group,
            resource,
            namespace,
            name,
        }
    }
}

/// The permissions that the manifests grant to a controller.
pub(crate) fn granted(controller: Controller) -> Vec<Access> {
    let rules = rules(controller).into_iter();
    rules
        .flat_map(|(namespace, rule)| one_by_one(&namespace, rule))
        .collect()
}

/// The rules of the roles of a controller, each with the namespace of its role, which is empty for a `ClusterRole`.
pub(crate) fn rules(controller: Controller) -> Vec<(String, PolicyRule)> {
    let objects = manifests::objects(&[controller], &Options::default()).into_iter();
    let own = |object: &DynamicObject| {
        let labels = object.metadata.labels.as_ref().unwrap();
        labels[manifests::NAME_LABEL] == controller.name()
    };
    let roles = objects.filter(own).filter_map(|object| {
        let rules: Vec<PolicyRule> = serde_json::from_value(object.data.get("rules")?.clone()).unwrap();
        Some((object.metadata.namespace.unwrap_or_default(), rules))
    });
    let with_namespace =
        |(namespace, rules): (String, Vec<PolicyRule>)| rules.into_iter().map(move |rule| (namespace.clone(), rule));
    roles.flat_map(with_namespace).collect()
}

fn one_by_one(namespace: &str, rule: PolicyRule) -> Vec<Access> {
    assert_eq!(rule.non_resource_urls, None, "the controllers request resources only");
    let names = rule.resource_names.unwrap_or_else(|| vec![String::new()]);
    let mut permissions = Vec::new();
    for group in rule.api_groups.unwrap_or_default() {
        for resource in rule.resources.iter().flatten() {
            for name in &names {
                permissions.extend(rule.verbs.iter().map(|verb| Access {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    namespace: namespace.to_owned(),
                    name: name.clone(),
                }));
            }
        }
    }
    permissions
}
