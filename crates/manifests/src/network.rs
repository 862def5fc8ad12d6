//! How metrics are reached.

use k8s_openapi::{
    api::{
        core::v1::{Service, ServicePort, ServiceSpec},
        networking::v1::{NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPort, NetworkPolicySpec},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::core::DynamicObject;

use crate::{Controller, PORT_NAME, dynamic, namespaced, selector};

/// A headless Service: a client reads the metrics of every replica, not of one of them.
pub(crate) fn metrics_service(controller: Controller) -> DynamicObject {
    dynamic(&Service {
        metadata: namespaced(controller, &format!("{}-metrics", controller.name())),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            selector: selector(controller).match_labels,
            ports: Some(vec![ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port: controller.secure_port().into(),
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    })
}

/// Incoming connections only to the secure port. Most network plugins do not apply policies to pods with the host network; it
/// counts where one does, and where the host network is removed.
pub(crate) fn network_policy(controller: Controller) -> DynamicObject {
    dynamic(&NetworkPolicy {
        metadata: namespaced(controller, controller.name()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(selector(controller)),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![NetworkPolicyIngressRule {
                ports: Some(vec![NetworkPolicyPort {
                    port: Some(IntOrString::Int(controller.secure_port().into())),
                    protocol: Some("TCP".to_owned()),
                    ..NetworkPolicyPort::default()
                }]),
                ..NetworkPolicyIngressRule::default()
            }]),
            ..NetworkPolicySpec::default()
        }),
    })
}
