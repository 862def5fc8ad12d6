//! Eligibility: which Endpoints objects are mirrored, and which slices mirror them (mirroring.md §2, M36).

use k8s_openapi::{
    api::core::v1::{Endpoints, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use slice_core::well_known;

use crate::MANAGED_BY;

/// Why an Endpoints object is not mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMirrored {
    /// The label `skip-mirror` is "true" (M2).
    #[error("its label {} is \"true\"", well_known::SKIP_MIRROR_LABEL)]
    SkipMirror,
    /// It is a leader-election lock, not a list of endpoints (M3).
    #[error("its annotation {} makes it a leader-election lock", well_known::LEADER_ANNOTATION)]
    LeaderElection,
    /// No Service has its name (M5).
    #[error("there is no Service of its name")]
    NoService,
    /// Its Service has a selector; the EndpointSlice controller publishes the pods (M6).
    #[error("the Service of its name has a selector")]
    Selector,
}

/// Checks the object alone, without its Service (M2–M4). Only `skip-mirror` and the leader annotation count (M10).
pub fn check_eligible(endpoints: &Endpoints) -> Result<(), NotMirrored> {
    let label = endpoints
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(well_known::SKIP_MIRROR_LABEL));
    let annotations = endpoints.metadata.annotations.as_ref();
    if label.is_some_and(|value| value == "true") {
        Err(NotMirrored::SkipMirror)
    } else if annotations.is_some_and(|annotations| annotations.contains_key(well_known::LEADER_ANNOTATION)) {
        Err(NotMirrored::LeaderElection)
    } else {
        Ok(())
    }
}

/// Checks the object together with the Service of the same namespace and name (M2–M7). On an error, its slices are to be
/// deleted.
pub fn check_mirrored(endpoints: &Endpoints, service: Option<&Service>) -> Result<(), NotMirrored> {
    check_eligible(endpoints)?;
    match service {
        None => Err(NotMirrored::NoService),
        Some(service) if has_selector(service) => Err(NotMirrored::Selector),
        Some(_) => Ok(()),
    }
}

/// Whether the Service has a selector. An empty selector counts as none, as the API server stores it (M8).
#[must_use]
pub fn has_selector(service: &Service) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| !selector.is_empty())
}

/// Whether a slice has our managed-by label (M1).
#[must_use]
pub fn is_ours(slice: &ObjectMeta) -> bool {
    label(slice, well_known::MANAGED_BY_LABEL) == Some(MANAGED_BY)
}

/// Whether a slice mirrors the Endpoints object of this namespace and name (M36).
#[must_use]
pub fn is_mirror_of(slice: &ObjectMeta, namespace: &str, name: &str) -> bool {
    is_ours(slice)
        && slice.namespace.as_deref() == Some(namespace)
        && label(slice, well_known::SERVICE_NAME_LABEL) == Some(name)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn endpoints(metadata: &Value) -> Endpoints {
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    /// Only the value "true" of the label and the presence of the annotation exclude an object (T-MIR-01…04, M2, M3).
    #[test]
    fn skip_mirror_label_and_leader_annotation_exclude_an_object() {
        let skip = |value: &str| json!({"labels": {"endpointslice.kubernetes.io/skip-mirror": value}});
        let leader = |value: &str| json!({"annotations": {"control-plane.alpha.kubernetes.io/leader": value}});
        for (metadata, expected) in [
            (json!({"name": "foo"}), Ok(())),
            (skip("true"), Err(NotMirrored::SkipMirror)),
            (skip("invalid"), Ok(())),
            (skip("false"), Ok(())),
            (skip("True"), Ok(())),
            (skip(""), Ok(())),
            (leader(""), Err(NotMirrored::LeaderElection)),
            (leader("{}"), Err(NotMirrored::LeaderElection)),
            // Labels of the Endpoints controller do not count (M10).
            (
                json!({"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}),
                Ok(()),
            ),
            (json!({"labels": {"service.kubernetes.io/headless": ""}}), Ok(())),
            // skip-mirror is a label, not an annotation (M2).
            (
                json!({"annotations": {"endpointslice.kubernetes.io/skip-mirror": "true"}}),
                Ok(()),
            ),
        ] {
            assert_eq!(check_eligible(&endpoints(&metadata)), expected, "{metadata}");
        }
    }

    /// Of the Service, only the selector counts (T-MIR-12…15, T-MIR-N21, M5–M9).
    #[test]
    fn the_service_must_exist_and_have_no_selector() {
        let eligible = endpoints(&json!({"name": "foo"}));
        for (service, expected) in [
            (Value::Null, Err(NotMirrored::NoService)),
            (json!({}), Ok(())),
            (json!({"spec": {}}), Ok(())),
            (json!({"spec": {"selector": {}}}), Ok(())),
            (
                json!({"spec": {"selector": {"foo": "bar"}}}),
                Err(NotMirrored::Selector),
            ),
            (
                json!({"spec": {"type": "ExternalName", "externalName": "example.com"}}),
                Ok(()),
            ),
            (
                json!({"spec": {"clusterIP": "None", "publishNotReadyAddresses": true}}),
                Ok(()),
            ),
        ] {
            let parsed: Option<Service> = serde_json::from_value(service.clone()).unwrap();
            assert_eq!(check_mirrored(&eligible, parsed.as_ref()), expected, "{service}");
        }
        let service = Service::default();
        let skip = |value: &str| endpoints(&json!({"labels": {"endpointslice.kubernetes.io/skip-mirror": value}}));
        assert_eq!(
            check_mirrored(&skip("true"), Some(&service)),
            Err(NotMirrored::SkipMirror)
        );
        assert_eq!(check_mirrored(&skip("false"), Some(&service)), Ok(()));
    }

    /// Managed-by label, service-name label and namespace must match (T-MIR-05…10, T-MIR-17).
    #[test]
    fn a_mirrored_slice_has_our_managed_by_the_service_name_and_its_namespace() {
        let slice = |namespace: &str, labels: Value| -> ObjectMeta {
            serde_json::from_value(json!({"namespace": namespace, "labels": labels})).unwrap()
        };
        let labels = |service: &str, manager: &str| json!({"kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": manager});
        for (metadata, expected) in [
            (slice("ns1", labels("svc1", MANAGED_BY)), true),
            (slice("ns2", labels("svc1", MANAGED_BY)), false),
            (slice("ns1", labels("svc2", MANAGED_BY)), false),
            (
                slice("ns1", labels("svc1", "endpointslicemirroring-controller.k8s.iofoo")),
                false,
            ),
            (slice("ns1", labels("svc1", "something-else")), false),
            (slice("ns1", json!({"kubernetes.io/service-name": "svc1"})), false),
            (
                slice("ns1", json!({"endpointslice.kubernetes.io/managed-by": MANAGED_BY})),
                false,
            ),
            (slice("ns1", Value::Null), false),
        ] {
            assert_eq!(is_mirror_of(&metadata, "ns1", "svc1"), expected, "{metadata:?}");
        }
    }
}
