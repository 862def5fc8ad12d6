//! Deployments and their disruption budgets.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        core::v1::{
            Affinity, Capabilities, Container, ContainerPort, HTTPGetAction, PodAffinityTerm, PodAntiAffinity,
            PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceQuota, ResourceQuotaSpec,
            ResourceRequirements, ScopeSelector, ScopedResourceSelectorRequirement, SeccompProfile, SecurityContext,
            Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use kube::core::DynamicObject;

use crate::{
    Controller, LEASE_NAMESPACE, Options, PART_OF, PORT_NAME, VERSION, dynamic, labels, namespaced, selector, shared,
};

/// User and group of the process: `nonroot` of common base images.
const USER: i64 = 65532;
/// Writes in flight get 10 s after SIGTERM, then the Lease is released.
const TERMINATION_GRACE_SECONDS: i64 = 30;
/// Evicted after all other pods, since no traffic is published without a controller.
const PRIORITY_CLASS: &str = "system-cluster-critical";
/// Far more than the pods of both controllers, so that it limits nothing.
const MAX_PODS: &str = "20";
/// Taints of nodes of the control plane, of nodes for critical add-ons, such as these, and of nodes that are not ready. The latter
/// may be so only because their network plugin, or the cloud-controller-manager, waits for a Service.
pub const TOLERATED_TAINTS: [&str; 5] = [
    "node-role.kubernetes.io/control-plane",
    "CriticalAddonsOnly",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

pub(crate) fn deployment(controller: Controller, options: &Options) -> DynamicObject {
    dynamic(&Deployment {
        metadata: namespaced(controller, controller.name()),
        spec: Some(DeploymentSpec {
            replicas: Some(if options.shadow { 1 } else { options.replicas }),
            selector: selector(controller),
            // Replicas use a port of their node: a new pod may need the node of an old one.
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: Some(IntOrString::Int(0)),
                    max_unavailable: Some(IntOrString::Int(1)),
                }),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels(controller.name())),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(controller, options)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}

/// Where the priority class is limited, as by GKE, only a namespace with such a quota may have pods of it. `kube-system` has one
/// there.
pub(crate) fn quota() -> DynamicObject {
    dynamic(&ResourceQuota {
        metadata: shared(PART_OF),
        spec: Some(ResourceQuotaSpec {
            hard: Some([("pods".to_owned(), Quantity(MAX_PODS.to_owned()))].into()),
            scope_selector: Some(ScopeSelector {
                match_expressions: Some(vec![ScopedResourceSelectorRequirement {
                    scope_name: "PriorityClass".to_owned(),
                    operator: "In".to_owned(),
                    values: Some(vec![PRIORITY_CLASS.to_owned()]),
                }]),
            }),
            ..ResourceQuotaSpec::default()
        }),
        ..ResourceQuota::default()
    })
}

/// At most one replica is evicted at a time; one that is not ready never blocks the drain of its node.
pub(crate) fn disruption_budget(controller: Controller) -> DynamicObject {
    dynamic(&PodDisruptionBudget {
        metadata: namespaced(controller, controller.name()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(controller)),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    })
}

fn pod(controller: Controller, options: &Options) -> PodSpec {
    PodSpec {
        service_account_name: Some(controller.name().to_owned()),
        automount_service_account_token: Some(true),
        // The network of pods, and DNS in the cluster, may need a Service, whose endpoints this program publishes.
        host_network: Some(true),
        dns_policy: Some("Default".to_owned()),
        // Variables of Services could be taken for flags, which are variables with the prefix ENDPOINTSLICE_ too.
        enable_service_links: Some(false),
        priority_class_name: Some(PRIORITY_CLASS.to_owned()),
        node_selector: Some(map([("kubernetes.io/os", "linux")])),
        tolerations: Some(tolerations()),
        affinity: Some(anti_affinity(controller)),
        topology_spread_constraints: Some(vec![TopologySpreadConstraint {
            label_selector: Some(selector(controller)),
            max_skew: 1,
            topology_key: "topology.kubernetes.io/zone".to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            ..TopologySpreadConstraint::default()
        }]),
        termination_grace_period_seconds: Some(TERMINATION_GRACE_SECONDS),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(controller, options)],
        ..PodSpec::default()
    }
}

/// Taints that a replica tolerates for any time, whatever their effect. Those of an unreachable node are not among them: after
/// the default of 5 minutes its replica is replaced.
fn tolerations() -> Vec<Toleration> {
    let toleration = |taint: &str| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    };
    TOLERATED_TAINTS.map(toleration).to_vec()
}

fn anti_affinity(controller: Controller) -> Affinity {
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                weight: 100,
                pod_affinity_term: PodAffinityTerm {
                    label_selector: Some(selector(controller)),
                    topology_key: "kubernetes.io/hostname".to_owned(),
                    ..PodAffinityTerm::default()
                },
            }]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn container(controller: Controller, options: &Options) -> Container {
    let default_image = || format!("{}:{VERSION}", controller.name());
    let port = i32::from(controller.secure_port());
    let requests = controller.requests();
    Container {
        name: controller.name().to_owned(),
        image: Some(options.image.clone().unwrap_or_else(default_image)),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(args(controller, options.shadow)),
        ports: Some(vec![ContainerPort {
            name: Some(PORT_NAME.to_owned()),
            container_port: port,
            // With the host network; the API server adds it anyway. The scheduler does not put two replicas on one node.
            host_port: Some(port),
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        // The last lines of the log, since no termination message is written: of a program that ended, nothing else may be left.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        // The endpoints are served from the start on, also without an API server.
        startup_probe: Some(probe("/livez", 5, 24)),
        liveness_probe: Some(probe("/livez", 10, 6)),
        readiness_probe: Some(probe("/readyz", 5, 3)),
        // No limits: memory grows with the cluster, and a controller that is killed for it starts again with the same.
        resources: Some(ResourceRequirements {
            requests: Some(
                requests
                    .map(|(name, quantity)| (name.to_owned(), Quantity(quantity.to_owned())))
                    .into(),
            ),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Capabilities::default()
            }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

/// The flags that other objects depend on: the port, and the Lease that the Role names.
pub(crate) fn args(controller: Controller, shadow: bool) -> Vec<String> {
    let port = format!("--secure-port={}", controller.secure_port());
    if shadow {
        return vec![port, "--dry-run=true".to_owned(), "--leader-elect=false".to_owned()];
    }
    vec![
        port,
        "--leader-elect=true".to_owned(),
        format!("--leader-elect-resource-namespace={LEASE_NAMESPACE}"),
        format!("--leader-elect-resource-name={}", controller.name()),
    ]
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(PORT_NAME.to_owned()),
            scheme: Some("HTTPS".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failure_threshold),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}

fn map<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, String> {
    entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
