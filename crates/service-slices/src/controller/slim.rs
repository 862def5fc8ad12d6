//! Slim decoders for watched objects: only the fields that matter are decoded, the rest is skipped.
//!
//! The result is the API type with the other fields empty, so that there is one conversion to the compact form.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1 as api,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use serde::{Deserialize, de::DeserializeOwned};
use slice_controller::{AnnotatedMetadata, Decoded, ObjectRef, SlimMetadata};

use super::Input;

/// Decodes a pod.
pub(super) fn decode_pod(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    decode::<SlimPod, _>(bytes, |pod| Input::Pod(Box::new(pod)))
}

/// Decodes a Service.
pub(super) fn decode_service(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    decode::<SlimService, _>(bytes, |service| Input::Service(Box::new(service)))
}

/// Decodes a node.
pub(super) fn decode_node(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    decode::<SlimNode, _>(bytes, |node| Input::Node(Box::new(node)))
}

fn decode<S, A>(bytes: &[u8], input: impl FnOnce(A) -> Input) -> Result<Decoded<Input>, serde_json::Error>
where
    S: DeserializeOwned + Into<A>,
    A: k8s_openapi::Metadata<Ty = ObjectMeta>,
{
    let object: A = serde_json::from_slice::<S>(bytes)?.into();
    Ok(Decoded {
        object_ref: ObjectRef::from(object.metadata()),
        object: input(object),
    })
}

#[derive(Deserialize)]
struct SlimPod {
    #[serde(default)]
    metadata: SlimMetadata,
    #[serde(default)]
    spec: SlimPodSpec,
    #[serde(default)]
    status: SlimPodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SlimPodSpec {
    node_name: Option<String>,
    hostname: Option<String>,
    subdomain: Option<String>,
    containers: Option<Vec<SlimContainer>>,
    init_containers: Option<Vec<SlimContainer>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SlimContainer {
    ports: Option<Vec<api::ContainerPort>>,
    restart_policy: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SlimPodStatus {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<api::PodIP>>,
    conditions: Option<Vec<api::PodCondition>>,
}

impl From<SlimPod> for api::Pod {
    fn from(slim: SlimPod) -> Self {
        let containers = |slim: Option<Vec<SlimContainer>>| -> Vec<api::Container> {
            slim.into_iter().flatten().map(Into::into).collect()
        };
        Self {
            metadata: slim.metadata.into(),
            spec: Some(api::PodSpec {
                node_name: slim.spec.node_name,
                hostname: slim.spec.hostname,
                subdomain: slim.spec.subdomain,
                containers: containers(slim.spec.containers),
                init_containers: Some(containers(slim.spec.init_containers)),
                ..api::PodSpec::default()
            }),
            status: Some(api::PodStatus {
                phase: slim.status.phase,
                pod_ip: slim.status.pod_ip,
                pod_ips: slim.status.pod_ips,
                conditions: slim.status.conditions,
                ..api::PodStatus::default()
            }),
        }
    }
}

impl From<SlimContainer> for api::Container {
    fn from(slim: SlimContainer) -> Self {
        Self {
            ports: slim.ports,
            restart_policy: slim.restart_policy,
            ..Self::default()
        }
    }
}

#[derive(Deserialize)]
struct SlimService {
    /// With annotations, which determine the hint mode.
    #[serde(default)]
    metadata: AnnotatedMetadata,
    #[serde(default)]
    spec: Option<api::ServiceSpec>,
}

impl From<SlimService> for api::Service {
    fn from(slim: SlimService) -> Self {
        Self {
            metadata: slim.metadata.into(),
            spec: slim.spec,
            status: None,
        }
    }
}

#[derive(Deserialize)]
struct SlimNode {
    #[serde(default)]
    metadata: SlimMetadata,
    #[serde(default)]
    status: SlimNodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SlimNodeStatus {
    conditions: Option<Vec<api::NodeCondition>>,
    allocatable: Option<BTreeMap<String, Quantity>>,
}

impl From<SlimNode> for api::Node {
    fn from(slim: SlimNode) -> Self {
        Self {
            metadata: slim.metadata.into(),
            spec: None,
            status: Some(api::NodeStatus {
                conditions: slim.status.conditions,
                allocatable: slim.status.allocatable,
                ..api::NodeStatus::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Pod, Service};

    fn decoded(decode: fn(&[u8]) -> Result<Decoded<Input>, serde_json::Error>, object: &Value) -> Decoded<Input> {
        decode(object.to_string().as_bytes()).unwrap()
    }

    fn metadata() -> Value {
        json!({
            "namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7", "labels": {"app": "a"},
            "creationTimestamp": "2024-01-02T03:04:05Z", "managedFields": [{"manager": "kubelet"}],
            "annotations": {"service.kubernetes.io/topology-mode": "Auto"},
        })
    }

    #[test]
    fn slim_pod_has_the_same_compact_form_as_the_full_pod() {
        let json = json!({
            "metadata": metadata(),
            "spec": {
                "nodeName": "n", "hostname": "h", "subdomain": "s", "serviceAccountName": "ignored",
                "containers": [{"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 80}]}],
                "initContainers": [{"name": "d", "restartPolicy": "Always", "ports": [{"name": "x", "containerPort": 1}]}],
            },
            "status": {
                "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-02T03:04:06Z"}],
                "containerStatuses": "a type that is never decoded",
            },
        });
        let Decoded {
            object_ref,
            object: Input::Pod(slim),
        } = decoded(decode_pod, &json)
        else {
            panic!("not a pod")
        };
        assert_eq!((&*object_ref.namespace, &*object_ref.name), ("ns", "a"));
        assert_eq!((&*object_ref.uid, &*object_ref.resource_version), ("u", "7"));
        let mut valid = json;
        valid["status"].as_object_mut().unwrap().remove("containerStatuses");
        let full: api::Pod = serde_json::from_value(valid).unwrap();
        assert_eq!(Pod::from(&*slim), Pod::from(&full));
        assert_eq!(slim.metadata.labels, full.metadata.labels);
    }

    #[test]
    fn slim_service_has_the_same_compact_form_as_the_full_service() {
        let json = json!({
            "metadata": metadata(),
            "spec": {"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": {"app": "a"}, "ports": [{"port": 80}]},
            "status": {"loadBalancer": "a type that is never decoded"},
        });
        let Decoded {
            object: Input::Service(slim),
            ..
        } = decoded(decode_service, &json)
        else {
            panic!("not a Service")
        };
        let mut valid = json;
        valid.as_object_mut().unwrap().remove("status");
        let full: api::Service = serde_json::from_value(valid).unwrap();
        assert_eq!(Service::from(&*slim), Service::from(&full));
        assert_eq!(slim.spec, full.spec);
    }

    /// Null and absent fields are equivalent everywhere in the API.
    #[test]
    fn missing_and_null_fields_are_accepted() {
        for decode in [decode_pod, decode_service, decode_node] {
            for object in [
                json!({}),
                json!({"metadata": {"labels": null}, "status": {"conditions": null}}),
            ] {
                decode(object.to_string().as_bytes()).unwrap();
            }
        }
    }
}
