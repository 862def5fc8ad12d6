//! Objects as they come from a watch: what matters is decoded, the rest is skipped.
//!
//! Each becomes the API's own type with nothing else in it, so that there is one way to read an object.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::Deserialize;
use slice_controller::{AnnotatedMetadata, Decoded, ObjectRef, SlimMetadata};

use super::Input;

/// Reads an Endpoints object.
pub(super) fn endpoints(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    let SlimEndpoints { metadata, subsets } = serde_json::from_slice(bytes)?;
    let metadata = ObjectMeta::from(metadata);
    Ok(Decoded {
        object_ref: ObjectRef::from(&metadata),
        object: Input::Endpoints(Box::new(api::Endpoints { metadata, subsets })),
    })
}

/// Reads a Service.
pub(super) fn service(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    let SlimService { metadata, spec } = serde_json::from_slice(bytes)?;
    let service = api::Service {
        metadata: ObjectMeta {
            namespace: Some(metadata.namespace.to_string()),
            name: Some(metadata.name.to_string()),
            ..ObjectMeta::default()
        },
        spec: spec.map(|spec| api::ServiceSpec {
            selector: spec.selector,
            ..api::ServiceSpec::default()
        }),
        status: None,
    };
    Ok(Decoded {
        object_ref: metadata,
        object: Input::Service(Box::new(service)),
    })
}

/// Reads the metadata of a slice.
pub(super) fn pod_slice(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    let SlimSlice { metadata } = serde_json::from_slice(bytes)?;
    let metadata = ObjectMeta::from(metadata);
    Ok(Decoded {
        object_ref: ObjectRef::from(&metadata),
        object: Input::PodSlice(Box::new(metadata)),
    })
}

#[derive(Deserialize)]
struct SlimEndpoints {
    #[serde(default)]
    metadata: AnnotatedMetadata,
    #[serde(default)]
    subsets: Option<Vec<api::EndpointSubset>>,
}

#[derive(Deserialize)]
struct SlimService {
    #[serde(default)]
    metadata: ObjectRef,
    #[serde(default)]
    spec: Option<SlimServiceSpec>,
}

#[derive(Deserialize)]
struct SlimServiceSpec {
    #[serde(default)]
    selector: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct SlimSlice {
    #[serde(default)]
    metadata: SlimMetadata,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Metadata, Subsets, has_selector};

    fn metadata() -> Value {
        json!({
            "namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7", "labels": {"app": "a"},
            "deletionTimestamp": "2024-01-02T03:04:05Z", "annotations": {"foo": "bar"},
            "managedFields": [{"manager": "someone"}],
        })
    }

    fn seen(decode: fn(&[u8]) -> Result<Decoded<Input>, serde_json::Error>, object: &Value) -> Decoded<Input> {
        let seen = decode(object.to_string().as_bytes()).unwrap();
        let ObjectRef {
            namespace,
            name,
            uid,
            resource_version,
        } = &seen.object_ref;
        assert_eq!([&**namespace, name, uid, resource_version], ["ns", "a", "u", "7"]);
        seen
    }

    #[test]
    fn slim_endpoints_say_what_the_whole_ones_say() {
        let whole = json!({
            "metadata": metadata(),
            "subsets": [{"addresses": [{"ip": "10.0.0.1", "nodeName": "n"}], "ports": [{"name": "a", "port": 80}]}],
        });
        let Input::Endpoints(slim) = seen(endpoints, &whole).object else {
            panic!("Endpoints")
        };
        let full: api::Endpoints = serde_json::from_value(whole).unwrap();
        assert_eq!(Subsets::read(&slim), Subsets::read(&full));
        assert_eq!(Metadata::of(&slim), Metadata::of(&full));
        assert_eq!(slim.metadata.deletion_timestamp, full.metadata.deletion_timestamp);
    }

    #[test]
    fn of_a_service_only_the_selector_is_read() {
        for (selector, selects) in [(Value::Null, false), (json!({}), false), (json!({"app": "a"}), true)] {
            let spec = json!({"selector": selector, "ports": "whatever this may become"});
            let whole = json!({"metadata": metadata(), "spec": spec, "status": 7});
            let Input::Service(slim) = seen(service, &whole).object else {
                panic!("a Service")
            };
            assert_eq!(has_selector(&slim), selects, "{selector}");
        }
    }

    #[test]
    fn of_a_slice_only_the_metadata_is_read() {
        let whole = json!({"kind": "PartialObjectMetadata", "metadata": metadata(), "endpoints": 7});
        let Input::PodSlice(slim) = seen(pod_slice, &whole).object else {
            panic!("a slice")
        };
        assert_eq!(json!(slim.labels), json!({"app": "a"}));
    }

    /// Null and absent are the same everywhere in the API.
    #[test]
    fn what_is_missing_is_no_error() {
        for decode in [endpoints, service, pod_slice] {
            for object in [
                json!({}),
                json!({"metadata": {"labels": null}, "spec": null, "subsets": null}),
            ] {
                decode(object.to_string().as_bytes()).unwrap();
            }
        }
    }
}
