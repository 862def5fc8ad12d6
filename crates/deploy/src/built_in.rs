//! Finds out whether the built-in controllers still write slices: with a Service that is deleted afterwards.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::future::try_join_all;
use k8s_openapi::api::{
    core::v1::{Endpoints, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use manifests::Controller;
use serde_json::{Value, json};
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use tokio::time::{Instant, sleep};

const NAMESPACE: &str = "default";
/// How long a built-in controller has to write a slice.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Fails if slices with the managed-by value of a controller are written by another program than ours.
pub(crate) async fn check(client: &Client, controllers: &[Controller]) -> anyhow::Result<()> {
    println!("checking for 10 s whether the built-in controllers are turned off");
    let probes = controllers.iter().map(|&controller| foreign_writer(client, controller));
    let writers = try_join_all(probes).await?;
    let found: Vec<_> = controllers
        .iter()
        .zip(writers)
        .filter_map(|(&controller, writer)| Some((controller, writer?)))
        .collect();
    if !found.is_empty() {
        bail!("{}", refusal(&found));
    }
    Ok(())
}

/// The name of another program that writes slices for a new Service, if any.
async fn foreign_writer(client: &Client, controller: Controller) -> anyhow::Result<Option<String>> {
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let service: Service = serde_json::from_value(service(controller))?;
    let created = services.create(&PostParams::default(), &service).await;
    let created = created.with_context(|| {
        format!("cannot create a Service in the namespace {NAMESPACE} to check for the built-in controllers; nothing was applied")
    })?;
    let name = created.name_any();
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    let writer = async {
        if controller == Controller::Mirroring {
            let object = serde_json::from_value(endpoints_object(&name))?;
            let created = endpoints.create(&PostParams::default(), &object).await;
            created.with_context(|| format!("cannot create Endpoints {NAMESPACE}/{name}; nothing was applied"))?;
        }
        wait_for_slice(client, controller, &name).await
    };
    let writer = writer.await;
    // The slices have the Service as their owner.
    let deleted = services.delete(&name, &DeleteParams::default()).await;
    deleted.with_context(|| format!("cannot delete the Service {NAMESPACE}/{name}: delete it with kubectl"))?;
    if controller == Controller::Mirroring {
        // In older versions of Kubernetes a controller deletes them with the Service.
        let deleted = endpoints.delete(&name, &DeleteParams::default()).await;
        if let Err(error) = deleted
            && !is_not_found(&error)
        {
            bail!("cannot delete Endpoints {NAMESPACE}/{name}: delete them with kubectl: {error}");
        }
    }
    writer
}

async fn wait_for_slice(client: &Client, controller: Controller, service: &str) -> anyhow::Result<Option<String>> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let of_service = ListParams::default().labels(&format!(
        "{SERVICE_NAME_LABEL}={service},{MANAGED_BY_LABEL}={}",
        managed_by(controller)
    ));
    let end = Instant::now() + TIMEOUT;
    loop {
        let found = slices.list(&of_service).await;
        let found = found.context("cannot list EndpointSlices; nothing was applied")?;
        let managers = found.items.iter().flat_map(ResourceExt::managed_fields);
        let mut names = managers.filter_map(|entry| entry.manager.as_deref());
        if let Some(other) = names.find(|name| *name != controller.name()) {
            return Ok(Some(other.to_owned()));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn managed_by(controller: Controller) -> &'static str {
    match controller {
        Controller::EndpointSlice => service_slices::MANAGED_BY,
        Controller::Mirroring => mirroring::MANAGED_BY,
    }
}

/// A headless Service, without a cluster IP to allocate. With a selector it gets a slice without endpoints.
fn service(controller: Controller) -> Value {
    let selector = (controller == Controller::EndpointSlice).then(|| json!({"endpointslice-rs/check": "none"}));
    json!({
        "metadata": {"generateName": "endpointslice-rs-check-"},
        "spec": {"clusterIP": "None", "selector": selector, "ports": [{"port": 80}]},
    })
}

/// The address is reserved for documentation (RFC 5737).
fn endpoints_object(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}],
    })
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

/// Why nothing was applied, and what to do.
fn refusal(found: &[(Controller, String)]) -> String {
    let who: Vec<_> = found
        .iter()
        .map(|(controller, writer)| format!("{writer} writes slices with the label {}", managed_by(*controller)))
        .collect();
    let off: Vec<_> = found
        .iter()
        .map(|(controller, _)| format!("-{}", controller.name()))
        .collect();
    let off = off.join(",");
    format!(
        "nothing was applied: the built-in controller still works ({}), and two writers would undo each other's writes. \
         Add `{off}` to the flag --controllers of kube-controller-manager, then run this command again:\n\
         \x20 kubeadm: in /etc/kubernetes/manifests/kube-controller-manager.yaml on each control-plane node, after the present value:\n\
         \x20          --controllers=*,bootstrapsigner,tokencleaner,{off}\n\
         \x20 kind:    the same file in the container of each control-plane node (docker exec)\n\
         \x20 k3s:     k3s server --kube-controller-manager-arg=controllers=*,{off}\n\
         \x20 Talos:   cluster.controllerManager.extraArgs.controllers: \"*,{off}\" in the machine configuration\n\
         Or give --shadow to install beside it, without writes, and compare.",
        who.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_the_writer_and_the_flag() {
        let text = refusal(&[
            (Controller::EndpointSlice, "kube-controller-manager".to_owned()),
            (Controller::Mirroring, "k3s".to_owned()),
        ]);
        assert!(text.contains("kube-controller-manager writes slices with the label endpointslice-controller.k8s.io"));
        assert!(text.contains(
            "--controllers=*,bootstrapsigner,tokencleaner,-endpointslice-controller,-endpointslice-mirroring-controller"
        ));
    }
}
