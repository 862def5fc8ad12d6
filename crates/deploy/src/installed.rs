//! What an earlier run, or another way to install, has left in the cluster.

use anyhow::{Context as _, bail};
use k8s_openapi::api::{apps::v1::Deployment, rbac::v1::ClusterRoleBinding};
use kube::{Api, Client};
use manifests::{Controller, VERSION, VERSION_LABEL};

use crate::objects::Object;

/// The installed Deployment of a controller.
pub(crate) async fn deployment(client: &Client, controller: Controller) -> anyhow::Result<Option<Deployment>> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let deployment = deployments.get_opt(controller.name()).await;
    deployment.with_context(|| format!("cannot read the Deployment {}; nothing was changed", controller.name()))
}

/// The image that the pods of a Deployment run.
pub(crate) fn image(deployment: &Deployment) -> Option<&str> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.as_deref()
}

/// The image of an installed Deployment, if it is to be kept because no other was given. The default image is not: its tag is
/// the version. Another image with the programs of another version cannot be guessed.
pub(crate) fn kept_image(controller: Controller, installed: &Deployment) -> anyhow::Result<Option<String>> {
    let labels = installed.metadata.labels.as_ref();
    let version = labels.and_then(|labels| labels.get(VERSION_LABEL));
    let (Some(image), Some(version)) = (image(installed), version) else {
        return Ok(None);
    };
    if image == format!("{}:{version}", controller.name()) {
        return Ok(None);
    }
    if version != VERSION {
        bail!(
            "nothing was applied: version {version} of {} is installed with the image {image}; give --image with the image of version \
             {VERSION}",
            controller.name()
        );
    }
    Ok(Some(image.to_owned()))
}

/// Checks that the controllers are not installed in another namespace, which the chart allows: both would share what has no
/// namespace.
pub(crate) async fn check_namespace(client: &Client, objects: &[Object]) -> anyhow::Result<()> {
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for object in objects
        .iter()
        .filter(|object| object.resource.kind == "ClusterRoleBinding")
    {
        let binding = bindings.get_opt(&object.name).await;
        let binding = binding.with_context(|| format!("cannot read {object}; nothing was changed"))?;
        let mut subjects = binding.into_iter().filter_map(|binding| binding.subjects).flatten();
        let elsewhere =
            subjects.find_map(|subject| subject.namespace.filter(|namespace| namespace != manifests::NAMESPACE));
        if let Some(namespace) = elsewhere {
            bail!(
                "nothing was changed: the controllers are installed in the namespace {namespace}; remove them as they were installed, for \
                 example by `helm uninstall`"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(image: &str, version: &str) -> Result<Option<String>, String> {
        let installed = serde_json::from_value(json!({
            "metadata": {"labels": {VERSION_LABEL: version}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}},
        }));
        kept_image(Controller::Mirroring, &installed.unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_image_is_kept_unless_it_is_the_default_of_its_version() {
        let default = format!("{}:{VERSION}", Controller::Mirroring.name());
        assert_eq!(kept(&default, VERSION), Ok(None));
        let default_before = format!("{}:0.0.1", Controller::Mirroring.name());
        assert_eq!(kept(&default_before, "0.0.1"), Ok(None));
        for image in ["example.test/a:1", "endpointslice-mirroring-controller:fixed"] {
            assert_eq!(kept(image, VERSION), Ok(Some(image.to_owned())));
        }
    }

    #[test]
    fn an_image_of_another_version_must_be_given() {
        let refused = kept("example.test/a:1", "0.0.1").unwrap_err();
        assert!(refused.starts_with("nothing was applied: version 0.0.1"), "{refused}");
        assert!(refused.contains("give --image"), "{refused}");
    }
}
