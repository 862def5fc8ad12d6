//! Which Endpoints objects are mirrored, and which slices are their mirror images (mirroring.md §2, M36).

use k8s_openapi::{
    api::core::v1::{Endpoints, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use slice_core::well_known;

use crate::MANAGED_BY;

/// Why an Endpoints object is not mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMirrored {
    /// Its author asked for it (M2).
    #[error("its label {} is \"true\"", well_known::SKIP_MIRROR_LABEL)]
    SkipMirror,
    /// It is a lock, not a list of endpoints (M3).
    #[error("its annotation {} makes it a leader-election lock", well_known::LEADER_ANNOTATION)]
    LeaderElection,
    /// It belongs to no Service (M5).
    #[error("there is no Service of its name")]
    NoService,
    /// Its Service's endpoints are pods, which another controller publishes (M6).
    #[error("the Service of its name has a selector")]
    Selector,
}

/// Whether the object by itself asks to be mirrored (M2–M4); nothing else on it matters (M10).
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

/// Whether the object is mirrored, given the Service of the same namespace and name (M2–M7). Where it is not, slices that
/// mirror it are to be removed.
pub fn check_mirrored(endpoints: &Endpoints, service: Option<&Service>) -> Result<(), NotMirrored> {
    check_eligible(endpoints)?;
    match service {
        None => Err(NotMirrored::NoService),
        Some(service) if has_selector(service) => Err(NotMirrored::Selector),
        Some(_) => Ok(()),
    }
}

/// Whether the Service selects pods. An empty selector is none: the API server stores it so (M8).
#[must_use]
pub fn has_selector(service: &Service) -> bool {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    selector.is_some_and(|selector| !selector.is_empty())
}

/// Whether a slice is one that this controller writes (M1).
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

    /// T-MIR-01…04, and M2's and M3's other values.
    #[test]
    fn an_object_can_opt_out_by_label_and_by_being_a_lock() {
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
            // M10: written by the Endpoints controller, or headless.
            (
                json!({"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}),
                Ok(()),
            ),
            (json!({"labels": {"service.kubernetes.io/headless": ""}}), Ok(())),
            // M2: it is a label, not an annotation.
            (
                json!({"annotations": {"endpointslice.kubernetes.io/skip-mirror": "true"}}),
                Ok(()),
            ),
        ] {
            assert_eq!(check_eligible(&endpoints(&metadata)), expected, "{metadata}");
        }
    }

    /// T-MIR-12…15, T-MIR-N21: only the Service's selector matters (M5–M9).
    #[test]
    fn the_service_has_to_exist_and_to_select_nothing() {
        let plain = endpoints(&json!({"name": "foo"}));
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
            assert_eq!(check_mirrored(&plain, parsed.as_ref()), expected, "{service}");
        }
        let service = Service::default();
        let skip = |value: &str| endpoints(&json!({"labels": {"endpointslice.kubernetes.io/skip-mirror": value}}));
        assert_eq!(
            check_mirrored(&skip("true"), Some(&service)),
            Err(NotMirrored::SkipMirror)
        );
        assert_eq!(check_mirrored(&skip("false"), Some(&service)), Ok(()));
    }

    /// T-MIR-05…10, T-MIR-17.
    #[test]
    fn a_mirror_image_has_our_name_the_services_name_and_its_namespace() {
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
