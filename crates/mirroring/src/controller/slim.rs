//! Slim decoders: of a watched object, only the needed fields are decoded.
//!
//! The result is the API type with all other fields empty, so that tests and other programs can pass API objects too.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::Deserialize;
use slice_controller::{AnnotatedMetadata, Decoded, ObjectRef, SlimMetadata};

use super::Input;

/// Decodes an Endpoints object.
pub(super) fn decode_endpoints(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
    let SlimEndpoints { metadata, subsets } = serde_json::from_slice(bytes)?;
    let metadata = ObjectMeta::from(metadata);
    Ok(Decoded {
        object_ref: ObjectRef::from(&metadata),
        object: Input::Endpoints(Box::new(api::Endpoints { metadata, subsets })),
    })
}

/// Decodes a Service: name and selector.
pub(super) fn decode_service(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
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

/// Decodes the metadata of a slice.
pub(super) fn decode_pod_slice(bytes: &[u8]) -> Result<Decoded<Input>, serde_json::Error> {
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

    /// Decodes an object and checks its reference.
    fn decoded(decode: fn(&[u8]) -> Result<Decoded<Input>, serde_json::Error>, object: &Value) -> Decoded<Input> {
        let decoded = decode(object.to_string().as_bytes()).unwrap();
        let ObjectRef {
            namespace,
            name,
            uid,
            resource_version,
        } = &decoded.object_ref;
        assert_eq!([&**namespace, name, uid, resource_version], ["ns", "a", "u", "7"]);
        decoded
    }

    #[test]
    fn slim_endpoints_equal_full_ones_in_the_needed_fields() {
        let object = json!({
            "metadata": metadata(),
            "subsets": [{"addresses": [{"ip": "10.0.0.1", "nodeName": "n"}], "ports": [{"name": "a", "port": 80}]}],
        });
        let Input::Endpoints(slim) = decoded(decode_endpoints, &object).object else {
            panic!("Endpoints")
        };
        let full: api::Endpoints = serde_json::from_value(object).unwrap();
        assert_eq!(Subsets::read(&slim), Subsets::read(&full));
        assert_eq!(Metadata::of(&slim), Metadata::of(&full));
        assert_eq!(slim.metadata.deletion_timestamp, full.metadata.deletion_timestamp);
    }

    #[test]
    fn only_the_selector_of_a_service_is_decoded() {
        for (selector, selects) in [(Value::Null, false), (json!({}), false), (json!({"app": "a"}), true)] {
            let spec = json!({"selector": selector, "ports": "not a list of ports"});
            let object = json!({"metadata": metadata(), "spec": spec, "status": 7});
            let Input::Service(slim) = decoded(decode_service, &object).object else {
                panic!("a Service")
            };
            assert_eq!(has_selector(&slim), selects, "{selector}");
        }
    }

    #[test]
    fn only_the_metadata_of_a_slice_is_decoded() {
        let object = json!({"kind": "PartialObjectMetadata", "metadata": metadata(), "endpoints": 7});
        let Input::PodSlice(slim) = decoded(decode_pod_slice, &object).object else {
            panic!("a slice")
        };
        assert_eq!(json!(slim.labels), json!({"app": "a"}));
    }

    /// Null equals absent everywhere in the API.
    #[test]
    fn missing_and_null_fields_are_accepted() {
        for decode in [decode_endpoints, decode_service, decode_pod_slice] {
            for object in [
                json!({}),
                json!({"metadata": {"labels": null}, "spec": null, "subsets": null}),
            ] {
                decode(object.to_string().as_bytes()).unwrap();
            }
        }
    }
}
