//! What is checked before anything is applied, so that a failure leaves the cluster as it was.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    apps::v1::Deployment,
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::Namespace,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroupList;
use kube::{Api, Client, api::PostParams};
use manifests::Controller;

use crate::{apply, objects::Object};

/// The API that the controllers are for.
const SLICES: &str = "discovery.k8s.io/v1";

/// Checks that the cluster serves the APIs, and that the user may apply the objects.
pub(crate) async fn check(client: &Client, objects: &[Object]) -> anyhow::Result<()> {
    check_apis(client, objects).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let is_installed = namespaces.get_opt(manifests::NAMESPACE).await;
    let is_installed = is_installed
        .context("cannot read namespaces; nothing was applied")?
        .is_some();
    let mut problems = BTreeSet::new();
    for object in objects {
        // The API server cannot try to apply an object in a namespace that does not exist yet.
        let in_new_namespace = !is_installed && object.namespace.as_deref() == Some(manifests::NAMESPACE);
        let result = if in_new_namespace {
            review(client, object).await
        } else {
            apply::try_apply(client, object).await
        };
        problems.extend(result.err().map(|error| format!("{error:#}")));
    }
    if !problems.is_empty() {
        let problems: Vec<_> = problems.into_iter().collect();
        bail!("nothing was applied: {}", problems.join("; "));
    }
    Ok(())
}

async fn check_apis(client: &Client, objects: &[Object]) -> anyhow::Result<()> {
    let groups = client.list_api_groups().await;
    let groups = groups.context("cannot read the APIs of the cluster; nothing was applied")?;
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

/// Whether the user may apply an object: server-side apply needs `patch`, and `create` for an object that does not exist.
async fn review(client: &Client, object: &Object) -> anyhow::Result<()> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    for verb in ["create", "patch"] {
        let attributes = ResourceAttributes {
            group: Some(object.resource.group.clone()),
            resource: Some(object.resource.plural.clone()),
            namespace: object.namespace.clone(),
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
        let response = response.context("cannot review permissions")?;
        if !response.status.is_some_and(|status| status.allowed) {
            bail!(
                "this user may not {verb} {} in the namespace {}",
                object.resource.plural,
                object.namespace.as_deref().unwrap_or_default()
            );
        }
    }
    Ok(())
}

/// A shadow replaces the Deployment. It must not turn off a controller that writes.
pub(crate) async fn check_shadow(client: &Client, controllers: &[Controller]) -> anyhow::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    for controller in controllers {
        let deployment = deployments.get_opt(controller.name()).await;
        let deployment = deployment.context("cannot read Deployments; nothing was applied")?;
        if deployment.is_some_and(|deployment| !is_shadow(&deployment)) {
            bail!(
                "nothing was applied: {} is installed and writes slices; --shadow would turn it off. Remove it first (--delete), \
                 after the built-in controller is turned on",
                controller.name()
            );
        }
    }
    Ok(())
}

fn is_shadow(deployment: &Deployment) -> bool {
    let template = deployment.spec.iter().filter_map(|spec| spec.template.spec.as_ref());
    let mut arguments = template
        .flat_map(|pod| &pod.containers)
        .flat_map(|container| container.args.iter().flatten());
    arguments.any(|argument| argument == "--dry-run=true")
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
