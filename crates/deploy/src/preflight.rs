//! What is checked before anything is applied, so that a failure leaves the cluster as it was.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Namespace,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroupList;
use kube::{Api, Client, api::PostParams};
use manifests::Controller;

use crate::{apply, commands::Commands, error, installed, objects::Object};

/// The API that the controllers are for.
const SLICES: &str = "discovery.k8s.io/v1";

/// Access to a resource that the user needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    verbs: Vec<&'static str>,
    group: String,
    resource: String,
    namespace: Option<String>,
}

impl Access {
    pub(crate) fn new<const N: usize>(
        verbs: [&'static str; N],
        group: &str,
        resource: &str,
        namespace: Option<String>,
    ) -> Self {
        Self {
            verbs: verbs.to_vec(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace,
        }
    }

    /// Server-side apply needs `patch`, and `create` for an object that does not exist.
    fn to_apply(object: &Object) -> Self {
        let resource = &object.resource;
        Self::new(
            ["get", "create", "patch"],
            &resource.group,
            &resource.plural,
            object.namespace.clone(),
        )
    }

    /// The verbs that are not allowed, with the resource, as in `create, patch deployments.apps (in endpointslice-system)`.
    async fn denied(&self, client: &Client) -> anyhow::Result<Option<String>> {
        let mut denied = Vec::new();
        for &verb in &self.verbs {
            if !is_allowed(client, self, verb).await? {
                denied.push(verb);
            }
        }
        if denied.is_empty() {
            return Ok(None);
        }
        let dot = if self.group.is_empty() { "" } else { "." };
        let text = format!("{} {}{dot}{}", denied.join(", "), self.resource, self.group);
        Ok(Some(match &self.namespace {
            Some(namespace) => format!("{text} (in {namespace})"),
            None => text,
        }))
    }
}

async fn is_allowed(client: &Client, access: &Access, verb: &str) -> anyhow::Result<bool> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let attributes = ResourceAttributes {
        group: Some(access.group.clone()),
        resource: Some(access.resource.clone()),
        namespace: access.namespace.clone(),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let response = reviews.create(&PostParams::default(), &review).await;
    let response = response.context("nothing was applied: cannot review permissions")?;
    Ok(response.status.is_some_and(|status| status.allowed))
}

/// Checks that the cluster serves the APIs, that the user has this access and may apply the objects, and that the API server would
/// accept them.
pub(crate) async fn check(client: &Client, objects: &[Object], access: Vec<Access>) -> anyhow::Result<()> {
    check_apis(client, objects).await?;
    let needed: BTreeSet<_> = objects.iter().map(Access::to_apply).chain(access).collect();
    let mut denied = Vec::new();
    for access in needed {
        denied.extend(access.denied(client).await?);
    }
    if !denied.is_empty() {
        bail!("nothing was applied: this user may not {}", denied.join("; "));
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = namespaces.get_opt(manifests::NAMESPACE).await;
    let namespace = namespace.context("nothing was applied: cannot read namespaces")?;
    let is_deleted = |namespace: &Namespace| namespace.metadata.deletion_timestamp.is_some();
    if namespace.as_ref().is_some_and(is_deleted) {
        bail!(
            "nothing was applied: the namespace {} is being deleted; run the command again when it is gone",
            manifests::NAMESPACE
        );
    }
    // The API server cannot try to apply an object in a namespace that does not exist yet.
    let is_tried = |object: &&Object| namespace.is_some() || object.namespace.as_deref() != Some(manifests::NAMESPACE);
    let mut rejected = Vec::new();
    for object in objects.iter().filter(is_tried) {
        if !lacks_role(client, objects, object).await? {
            rejected.extend(apply::try_apply(client, object).await.err());
        }
    }
    if !rejected.is_empty() {
        bail!("nothing was applied: {}", error::first(&rejected));
    }
    Ok(())
}

/// Whether an object is a binding of one of our roles, which does not exist yet. For a user without the verb `bind`, the API server
/// compares the rules of the role with those of the user, and cannot try to apply the binding before.
async fn lacks_role(client: &Client, objects: &[Object], binding: &Object) -> anyhow::Result<bool> {
    let of_binding = &binding.content.data["roleRef"];
    let role = objects.iter().find(|object| {
        of_binding["kind"] == *object.resource.kind
            && of_binding["name"] == *object.name
            && object.namespace == binding.namespace
    });
    let Some(role) = role else {
        return Ok(false);
    };
    let found = role.api(client).get_opt(&role.name).await;
    let found = found.with_context(|| format!("nothing was applied: cannot read {role}"))?;
    Ok(found.is_none())
}

async fn check_apis(client: &Client, objects: &[Object]) -> anyhow::Result<()> {
    let groups = client.list_api_groups().await;
    let groups = groups.context("nothing was applied: cannot read the APIs of the cluster")?;
    let missing = missing_apis(&groups, objects);
    if !missing.is_empty() {
        bail!(
            "nothing was applied: the cluster does not serve {}; Kubernetes 1.29 or later does",
            missing.join(", ")
        );
    }
    Ok(())
}

/// The APIs that the controllers or their objects need, and the cluster lacks.
fn missing_apis<'a>(served: &'a APIGroupList, objects: &'a [Object]) -> Vec<&'a str> {
    let served: BTreeSet<_> = served
        .groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| version.group_version.as_str()))
        .collect();
    let needed: BTreeSet<_> = objects
        .iter()
        .filter(|object| !object.resource.group.is_empty())
        .map(|object| object.resource.api_version.as_str())
        .chain([SLICES])
        .collect();
    needed.difference(&served).copied().collect()
}

/// A shadow replaces the Deployment. It must not turn off a controller that writes.
pub(crate) async fn check_shadow(
    client: &Client,
    controllers: &[Controller],
    commands: &Commands,
) -> anyhow::Result<()> {
    let writers = installed::writers(client, controllers).await?;
    if let Some(writer) = writers.first() {
        bail!(
            "nothing was applied: {} is installed and writes slices; --shadow would turn it off. Remove it first (`{}`), then turn \
             the built-in controller on",
            writer.name(),
            commands.delete()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::installable;

    #[test]
    fn apis_that_the_cluster_lacks_are_named() {
        let objects = installable(&Controller::ALL);
        let mut versions: Vec<_> = objects
            .iter()
            .map(|object| object.resource.api_version.as_str())
            .collect();
        versions.push(SLICES);
        let list = |versions: &[&str]| -> APIGroupList {
            let version = |version: &&str| json!({"groupVersion": version, "version": ""});
            let versions: Vec<_> = versions.iter().map(version).collect();
            serde_json::from_value(json!({"groups": [{"name": "", "versions": versions}]})).unwrap()
        };
        let all = list(&versions);
        assert_eq!(missing_apis(&all, &objects), [""; 0]);
        versions.retain(|version| !["discovery.k8s.io/v1", "apps/v1", "v1"].contains(version));
        versions.push("discovery.k8s.io/v1beta1");
        assert_eq!(
            missing_apis(&list(&versions), &objects),
            ["apps/v1", "discovery.k8s.io/v1"]
        );
    }
}
