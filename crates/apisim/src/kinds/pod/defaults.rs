//! Default values of pods, from API defaulting and the default admission plugins.

use k8s_openapi::api::core::v1::{Container, PodIP, PodSpec, PodStatus, Probe, ResourceRequirements, Toleration};

const NOT_READY_SECONDS: i64 = 300;

pub(super) fn default_spec(spec: &mut PodSpec) {
    set(&mut spec.dns_policy, "ClusterFirst");
    set(&mut spec.restart_policy, "Always");
    set(&mut spec.scheduler_name, "default-scheduler");
    set(&mut spec.preemption_policy, "PreemptLowerPriority");
    spec.security_context.get_or_insert_default();
    spec.termination_grace_period_seconds.get_or_insert(30);
    spec.enable_service_links.get_or_insert(true);
    spec.priority.get_or_insert(0);
    // `serviceAccount` is the deprecated alias; `serviceAccountName` takes precedence.
    spec.service_account_name.take_if(|name| name.is_empty());
    spec.service_account.take_if(|name| name.is_empty());
    let account = spec.service_account_name.take().or_else(|| spec.service_account.take());
    spec.service_account.clone_from(&account);
    spec.service_account_name = account;
    spec.node_name.take_if(|name| name.is_empty());
    spec.scheduling_gates.take_if(|gates| gates.is_empty());
    for flag in [&mut spec.host_network, &mut spec.host_pid, &mut spec.host_ipc] {
        flag.take_if(|flag| !*flag);
    }

    let host_network = spec.host_network.unwrap_or_default();
    let init = spec.init_containers.iter_mut().flatten();
    for container in spec.containers.iter_mut().chain(init) {
        default_container(container);
        for port in container.ports.iter_mut().flatten().filter(|_| host_network) {
            if port.host_port.unwrap_or_default() == 0 {
                port.host_port = Some(port.container_port);
            }
        }
    }
    add_default_toleration(spec, "node.kubernetes.io/not-ready");
    add_default_toleration(spec, "node.kubernetes.io/unreachable");
}

/// Sets the phase and aligns `podIP` with `podIPs`. The singular field takes precedence if both differ.
pub(super) fn default_status(status: &mut PodStatus) {
    set(&mut status.phase, "Pending");
    status.pod_ip.take_if(|ip| ip.is_empty());
    status.pod_ips.take_if(|ips| ips.is_empty());
    let first = status.pod_ips.as_ref().and_then(|ips| ips.first()).map(|ip| &ip.ip);
    match (&status.pod_ip, first) {
        (Some(one), first) if Some(one) != first => {
            status.pod_ips = Some(vec![PodIP { ip: one.clone() }]);
        }
        (None, Some(first)) => status.pod_ip = Some(first.clone()),
        _ => {}
    }
}

/// Sets a default for an empty or absent field.
fn set(field: &mut Option<String>, default: &str) {
    field.take_if(|text| text.is_empty());
    field.get_or_insert_with(|| default.to_owned());
}

fn default_container(container: &mut Container) {
    let image = container.image.as_deref().unwrap_or_default();
    let pull = if is_latest(image) { "Always" } else { "IfNotPresent" };
    set(&mut container.image_pull_policy, pull);
    set(&mut container.termination_message_path, "/dev/termination-log");
    set(&mut container.termination_message_policy, "File");
    for port in container.ports.iter_mut().flatten() {
        set(&mut port.protocol, "TCP");
    }
    default_resources(container.resources.get_or_insert_default());
    let probes = [
        &mut container.liveness_probe,
        &mut container.readiness_probe,
        &mut container.startup_probe,
    ];
    probes.into_iter().flatten().for_each(default_probe);
}

/// Whether an image has the tag `latest`, or neither tag nor digest.
fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.contains('@') {
        return false;
    }
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// Requests default to the limits.
fn default_resources(resources: &mut ResourceRequirements) {
    let Some(limits) = resources.limits.clone().filter(|limits| !limits.is_empty()) else {
        return;
    };
    let requests = resources.requests.get_or_insert_default();
    for (name, quantity) in limits {
        requests.entry(name).or_insert(quantity);
    }
}

fn default_probe(probe: &mut Probe) {
    let fields = [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ];
    for (field, default) in fields {
        field.take_if(|seconds| *seconds == 0);
        field.get_or_insert(default);
    }
    if let Some(get) = &mut probe.http_get {
        set(&mut get.path, "/");
        set(&mut get.scheme, "HTTP");
    }
}

fn add_default_toleration(spec: &mut PodSpec, key: &str) {
    let tolerations = spec.tolerations.get_or_insert_default();
    let tolerated = tolerations.iter().any(|toleration| {
        let any_key = toleration
            .key
            .as_deref()
            .is_none_or(|known| known.is_empty() || known == key);
        let effect = toleration.effect.as_deref().unwrap_or_default();
        any_key && ["", "NoExecute"].contains(&effect)
    });
    if !tolerated {
        tolerations.push(Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoExecute".to_owned()),
            toleration_seconds: Some(NOT_READY_SECONDS),
            ..Default::default()
        });
    }
}
