//! Finds out whether the built-in controllers still write slices: with a Service that is deleted afterwards.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures::future::join_all;
use jiff::SignedDuration;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Endpoints, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams},
};
use manifests::Controller;
use serde_json::{Value, json};
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use tokio::time::{Instant, sleep};

use crate::{
    commands::Commands,
    error, installed,
    interrupt::Interrupts,
    lease::{Leader, Leadership, wait_for_renewal},
    preflight::Access,
};

const NAMESPACE: &str = "default";
/// Label of the Service and the Endpoints object, by which they are found again.
const LABEL: &str = "endpointslice-rs/check";
pub(crate) const NOTHING_APPLIED: &str = "nothing was applied";
/// How long a built-in controller has to write a slice.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The same if a kube-controller-manager may have started just now: its caches must be complete first.
const TIMEOUT_AFTER_START: Duration = Duration::from_secs(30);
/// How long a leader is expected to start its controllers.
const NEW_LEADER: SignedDuration = SignedDuration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const LEASE_NAMESPACE: &str = "kube-system";
const LEASE: &str = "kube-controller-manager";
/// The default of the flag `--leader-elect-lease-duration`.
const DEFAULT_LEASE_SECONDS: u64 = 15;
/// How long another kube-controller-manager has to start and to acquire the Lease when it has expired.
const START: Duration = Duration::from_secs(45);

/// What the check needs to be allowed.
pub(crate) fn access() -> Vec<Access> {
    let namespace = Some(NAMESPACE.to_owned());
    let write = |resource: &str| Access::new(["create", "get", "list", "delete"], "", resource, namespace.clone());
    vec![
        write("services"),
        write("endpoints"),
        Access::new(["list"], "discovery.k8s.io", "endpointslices", namespace.clone()),
        Access::new(
            ["get"],
            "coordination.k8s.io",
            "leases",
            Some(LEASE_NAMESPACE.to_owned()),
        ),
    ]
}

/// Fails if slices with the managed-by value of a controller are written by another program than ours.
pub(crate) async fn check(
    client: &Client,
    controllers: &[Controller],
    commands: &Commands,
    interrupts: &mut Interrupts,
) -> anyhow::Result<()> {
    let own = installed::writers(client, &Controller::ALL);
    let own = interrupts.end(own, NOTHING_APPLIED).await?;
    // A slice that ours has written is complete, so that a built-in controller does not write it.
    for controller in controllers.iter().filter(|controller| own.contains(controller)) {
        println!(
            "{} is installed and writes slices: the check finds a built-in controller only if that one writes first. \
             {}_foreign_changes_total shows whether another client writes",
            controller.name(),
            controller.metrics_prefix()
        );
    }
    // The value that the refusal prints replaces the present one.
    let replaced = |controller: &Controller| controllers.contains(controller) || own.contains(controller);
    let replaced: Vec<_> = Controller::ALL.into_iter().filter(replaced).collect();
    loop {
        let leader = interrupts.end(kube_controller_manager(client), NOTHING_APPLIED).await?;
        // One that has no Lease may have started just now too.
        let is_new = leader.as_ref().is_none_or(|leader| leader.leads_for < NEW_LEADER);
        let timeout = if is_new { TIMEOUT_AFTER_START } else { TIMEOUT };
        println!(
            "checking for {} s whether the built-in controllers are turned off",
            timeout.as_secs()
        );
        let found = interrupts
            .end(foreign_writers(client, controllers, timeout), NOTHING_APPLIED)
            .await;
        let checked = found.and_then(|found| {
            if !found.is_empty() {
                bail!("{}", refusal(&found, &replaced));
            }
            Ok(())
        });
        match (checked, delete_objects(client, commands).await) {
            (Ok(()), Ok(())) => {}
            (Ok(()), Err(remain)) => return Err(remain.context(NOTHING_APPLIED)),
            (Err(error), Ok(())) => return Err(error),
            (Err(error), Err(remain)) => bail!("{}; {}", error::line(&error), error::line(&remain)),
        }
        let Some(leader) = leader else { return Ok(()) };
        let again = interrupts.end(kube_controller_manager(client), NOTHING_APPLIED).await?;
        if again.is_some_and(|again| again.identity == leader.identity) {
            return Ok(());
        }
        println!("the kube-controller-manager that led during the check no longer leads; checking again");
    }
}

/// The kube-controller-manager that leads. While none does, as after a change of its flags, its built-in controllers write
/// nothing, whether they are turned on or not.
async fn kube_controller_manager(client: &Client) -> anyhow::Result<Option<Leader>> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASE_NAMESPACE);
    let lease = leases.get_opt(LEASE).await;
    let lease = lease.with_context(|| format!("{NOTHING_APPLIED}: cannot read the Lease {LEASE_NAMESPACE}/{LEASE}"))?;
    let leadership = match lease {
        None => Leadership::Missing,
        Some(lease) => {
            let seconds = lease.spec.and_then(|spec| spec.lease_duration_seconds);
            let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
            let timeout = Duration::from_secs(seconds.unwrap_or(DEFAULT_LEASE_SECONDS)) + START;
            let waiting = format!(
                "waiting for up to {} s until a kube-controller-manager leads",
                timeout.as_secs()
            );
            wait_for_renewal(client, LEASE_NAMESPACE, LEASE, timeout, &waiting)
                .await
                .context(NOTHING_APPLIED)?
        }
    };
    let reason = match leadership {
        Leadership::Held(leader) => return Ok(Some(leader)),
        Leadership::NotRenewed => "no kube-controller-manager renews its Lease",
        Leadership::Missing => "kube-controller-manager has no Lease",
    };
    println!(
        "warning: {reason}. If it does not run, the following check cannot find out whether its built-in controllers are off"
    );
    Ok(None)
}

/// The controllers whose slices another program writes, with the name of that program.
async fn foreign_writers(
    client: &Client,
    controllers: &[Controller],
    timeout: Duration,
) -> anyhow::Result<Vec<(Controller, String)>> {
    let writers = controllers
        .iter()
        .map(|&controller| foreign_writer(client, controller, timeout));
    let mut found = Vec::new();
    for (&controller, writer) in controllers.iter().zip(join_all(writers).await) {
        let writer = writer.context(NOTHING_APPLIED)?;
        found.extend(writer.map(|writer| (controller, writer)));
    }
    Ok(found)
}

/// The name of another program that writes slices for a new Service, if any.
async fn foreign_writer(client: &Client, controller: Controller, timeout: Duration) -> anyhow::Result<Option<String>> {
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let service: Service = serde_json::from_value(service(controller))?;
    let created = services.create(&PostParams::default(), &service).await;
    let created =
        created.with_context(|| format!("cannot create a Service in the namespace {NAMESPACE} for the check"))?;
    let name = created.name_any();
    if controller == Controller::Mirroring {
        let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
        let object = serde_json::from_value(endpoints_object(&name))?;
        let created = endpoints.create(&PostParams::default(), &object).await;
        created.with_context(|| format!("cannot create Endpoints {NAMESPACE}/{name} for the check"))?;
    }
    let writer = wait_for_slice(client, controller, &name, timeout).await?;
    // Another run of this command deletes the objects of all.
    if writer.is_none()
        && services
            .get_opt(&name)
            .await
            .context("cannot read a Service")?
            .is_none()
    {
        bail!("another client has deleted the Service {NAMESPACE}/{name} of the check; run the command again");
    }
    Ok(writer)
}

async fn wait_for_slice(
    client: &Client,
    controller: Controller,
    service: &str,
    timeout: Duration,
) -> anyhow::Result<Option<String>> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let of_service = ListParams::default().labels(&format!(
        "{SERVICE_NAME_LABEL}={service},{MANAGED_BY_LABEL}={}",
        managed_by(controller)
    ));
    let end = Instant::now() + timeout;
    loop {
        let found = slices.list(&of_service).await;
        let is_last = Instant::now() >= end;
        match found {
            Ok(found) => {
                let managers = found.items.iter().flat_map(ResourceExt::managed_fields);
                let mut names = managers.filter_map(|entry| entry.manager.as_deref());
                if let Some(other) = names.find(|name| *name != controller.name()) {
                    return Ok(Some(other.to_owned()));
                }
                if is_last {
                    return Ok(None);
                }
            }
            // An API server may restart meanwhile.
            Err(error) if is_last => return Err(error).context("cannot list EndpointSlices"),
            Err(_) => {}
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Deletes the Services and Endpoints objects of this and of earlier checks. The slices have the Service as their owner.
pub(crate) async fn delete_objects(client: &Client, commands: &Commands) -> anyhow::Result<()> {
    let services = delete_all(client, &ApiResource::erase::<Service>(&())).await;
    // In older versions of Kubernetes a controller deletes them with the Service.
    let endpoints = delete_all(client, &ApiResource::erase::<Endpoints>(&())).await;
    services.and(endpoints).with_context(|| {
        let delete = format!("--namespace {NAMESPACE} delete services,endpoints --selector {LABEL}");
        format!(
            "objects of the check for built-in controllers remain: `{}` deletes them",
            commands.kubectl(&delete)
        )
    })
}

async fn delete_all(client: &Client, resource: &ApiResource) -> Result<(), kube::Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, resource);
    for object in api.list_metadata(&ListParams::default().labels(LABEL)).await? {
        match api.delete(&object.name_any(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            result => drop(result?),
        }
    }
    Ok(())
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
        "metadata": {"generateName": "endpointslice-rs-check-", "labels": {LABEL: ""}},
        "spec": {"clusterIP": "None", "selector": selector, "ports": [{"port": 80}]},
    })
}

/// The address is reserved for documentation (RFC 5737).
fn endpoints_object(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {LABEL: ""}},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}],
    })
}

/// Why nothing was applied, and which built-in controllers to turn off: those that ours replace, or have replaced already.
fn refusal(found: &[(Controller, String)], replaced: &[Controller]) -> String {
    let who: Vec<_> = found
        .iter()
        .map(|(controller, writer)| format!("{writer} writes slices with the label {}", managed_by(*controller)))
        .collect();
    let off: Vec<_> = replaced
        .iter()
        .map(|controller| format!("-{}", controller.name()))
        .collect();
    let off = off.join(",");
    format!(
        "nothing was applied: the built-in controller still works ({}), and two writers would undo each other's writes. \
         Add `{off}` to the value of kube-controller-manager's flag --controllers (`*` if it is not set), then run this command again:\n\
         \x20 kubeadm: --controllers=*,bootstrapsigner,tokencleaner,{off}\n\
         \x20          in /etc/kubernetes/manifests/kube-controller-manager.yaml on each control-plane node, and in the ConfigMap kubeadm-config\n\
         \x20 kind:    the same file in the container of each control-plane node (docker exec)\n\
         \x20 k3s:     --kube-controller-manager-arg=controllers+={off} on each server\n\
         \x20 Talos:   cluster.controllerManager.extraArgs.controllers: \"{off}\" in the machine configuration\n\
         docs/migrate.md describes each. Or give --shadow to install beside it, without writes, and compare.",
        who.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_the_writer_and_the_values_of_the_migration() {
        // Only one of them still works.
        let found = [(Controller::EndpointSlice, "kube-controller-manager".to_owned())];
        let text = refusal(&found, &Controller::ALL);
        assert!(text.contains("kube-controller-manager writes slices with the label endpointslice-controller.k8s.io"));
        let page = include_str!("../../../docs/migrate.md");
        for cluster in ["kubeadm", "k3s", "Talos"] {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| {cluster} |")))
                .unwrap();
            let values: Vec<_> = row
                .split('`')
                .filter(|span| span.contains("-endpointslice-controller,"))
                .collect();
            assert!(!values.is_empty(), "{row}");
            for value in values {
                assert!(text.contains(value), "{value} is missing in {text}");
            }
        }
    }
}
