//! What an earlier run, or another way to install, has left in the cluster.

use anyhow::{Context as _, bail};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Container, rbac::v1::ClusterRoleBinding};
use kube::{Api, Client};
use manifests::{Controller, VERSION, VERSION_LABEL};

/// Annotations by which Helm knows the objects of a release.
const HELM_RELEASE: &str = "meta.helm.sh/release-name";
const HELM_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// The installed Deployment of a controller.
pub(crate) async fn deployment(client: &Client, controller: Controller) -> anyhow::Result<Option<Deployment>> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let deployment = deployments.get_opt(controller.name()).await;
    deployment.with_context(|| format!("nothing was changed: cannot read the Deployment {}", controller.name()))
}

/// The container of our program in the pods of a Deployment, whose name it has. A webhook may have added others.
fn container(deployment: &Deployment) -> Option<&Container> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let name = deployment.metadata.name.as_ref()?;
    pod.containers.iter().find(|container| container.name == *name)
}

/// Those of the controllers that are installed and write, in contrast to shadows.
pub(crate) async fn writers(client: &Client, controllers: &[Controller]) -> anyhow::Result<Vec<Controller>> {
    let mut writers = Vec::new();
    for &controller in controllers {
        let deployment = deployment(client, controller).await?;
        if deployment.is_some_and(|deployment| !is_shadow(&deployment)) {
            writers.push(controller);
        }
    }
    Ok(writers)
}

/// Whether its pods only report what they would write.
fn is_shadow(deployment: &Deployment) -> bool {
    let arguments = container(deployment).and_then(|container| container.args.as_ref());
    arguments.is_some_and(|arguments| arguments.iter().any(|argument| argument == "--dry-run=true"))
}

/// The image of an installed Deployment, if it is to be kept because no other was given. The default image is not: its tag is
/// the version. Another image with the programs of another version cannot be guessed.
pub(crate) fn kept_image(controller: Controller, installed: &Deployment) -> anyhow::Result<Option<String>> {
    let labels = installed.metadata.labels.as_ref();
    let version = labels.and_then(|labels| labels.get(VERSION_LABEL));
    let (Some(image), Some(version)) = (
        container(installed).and_then(|container| container.image.as_ref()),
        version,
    ) else {
        return Ok(None);
    };
    if *image == format!("{}:{version}", controller.name()) {
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

/// Checks that this command may change what is installed: it was installed neither by Helm nor in another namespace, which the
/// chart allows; both would share what has no namespace.
pub(crate) async fn check_installer(client: &Client) -> anyhow::Result<()> {
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for controller in Controller::ALL {
        let name = manifests::role_name(controller);
        let binding = bindings.get_opt(&name).await;
        let binding =
            binding.with_context(|| format!("nothing was changed: cannot read the ClusterRoleBinding {name}"))?;
        let Some(binding) = binding else {
            continue;
        };
        let annotations = binding.metadata.annotations.unwrap_or_default();
        if let Some(release) = annotations.get(HELM_RELEASE) {
            let namespace = annotations.get(HELM_NAMESPACE).map_or("default", String::as_str);
            bail!(
                "nothing was changed: {} was installed by Helm as the release {release} in the namespace {namespace}; change it with \
                 Helm, or remove it first with `helm uninstall {release} --namespace {namespace}`",
                controller.name()
            );
        }
        let namespaces = binding
            .subjects
            .into_iter()
            .flatten()
            .filter_map(|subject| subject.namespace);
        if let Some(namespace) = namespaces
            .into_iter()
            .find(|namespace| namespace != manifests::NAMESPACE)
        {
            bail!(
                "nothing was changed: {} is installed in the namespace {namespace}; remove it as it was installed",
                controller.name()
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
            "metadata": {"name": "c", "labels": {VERSION_LABEL: version}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "proxy"}, {"name": "c", "image": image}]}}},
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
