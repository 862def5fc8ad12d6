//! Labels and annotations of mirrored slices.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Endpoints;
use slice_core::well_known;
use slice_reconciler::{Annotations, MetadataPolicy};

use crate::MANAGED_BY;

/// Labels and annotations of every slice that mirrors an Endpoints object: those of the object, without the trigger time and
/// kubectl's last-applied annotation (M89, M90, G37).
///
/// Both maps are complete and include our two labels. A slice is up to date exactly when it has these labels and
/// annotations and no others, even if the object itself has one of our labels (D10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// The metadata for the slices of this object.
    #[must_use]
    pub fn of(endpoints: &Endpoints) -> Self {
        let metadata = &endpoints.metadata;
        let mut labels = metadata.labels.clone().unwrap_or_default();
        labels.insert(
            well_known::SERVICE_NAME_LABEL.into(),
            metadata.name.clone().unwrap_or_default(),
        );
        labels.insert(well_known::MANAGED_BY_LABEL.into(), MANAGED_BY.into());
        let mut annotations = metadata.annotations.clone().unwrap_or_default();
        annotations.remove(well_known::TRIGGER_TIME_ANNOTATION);
        annotations.remove(well_known::LAST_APPLIED_ANNOTATION);
        Self { labels, annotations }
    }
}

impl From<Metadata> for MetadataPolicy {
    fn from(metadata: Metadata) -> Self {
        let Metadata {
            mut labels,
            annotations,
        } = metadata;
        let reserved = [well_known::SERVICE_NAME_LABEL, well_known::MANAGED_BY_LABEL];
        Self {
            managed_labels: reserved.map(|key| (key.to_owned(), labels.remove(key))).into(),
            copied_labels: labels,
            keep_other_labels: false,
            annotations: Annotations::Replace(annotations),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn metadata(labels: &Value, annotations: &Value) -> Metadata {
        let metadata = json!({"name": "foo", "namespace": "test", "labels": labels, "annotations": annotations});
        Metadata::of(&serde_json::from_value(json!({ "metadata": metadata })).unwrap())
    }

    fn expected(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Metadata {
        let ours = [
            ("kubernetes.io/service-name", "foo"),
            ("endpointslice.kubernetes.io/managed-by", MANAGED_BY),
        ];
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Metadata {
            labels: labels.iter().copied().chain(ours).map(owned).collect(),
            annotations: annotations.iter().copied().map(owned).collect(),
        }
    }

    /// All labels, and all annotations but two (T-MIR-48…52, T-MIR-43…46, T-MNS-01…05, T-GMIR-24…27).
    #[test]
    fn labels_and_annotations_are_copied_except_two_annotations() {
        let (none, foo, foo2) = (Value::Null, json!({"foo": "bar"}), json!({"foo2": "bar2"}));
        let last_applied = |value: &str| json!({"kubectl.kubernetes.io/last-applied-configuration": value});
        let with_foo = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}", "foo": "bar"});
        let trigger = json!({"endpoints.kubernetes.io/last-change-trigger-time": "date", "foo2": "bar2"});
        let over_capacity = json!({"endpoints.kubernetes.io/over-capacity": "truncated"});
        for (labels, annotations, expected) in [
            (&none, &none, expected(&[], &[])),
            (&none, &foo, expected(&[], &[("foo", "bar")])),
            (&foo, &none, expected(&[("foo", "bar")], &[])),
            (&foo, &foo2, expected(&[("foo", "bar")], &[("foo2", "bar2")])),
            (&foo, &trigger, expected(&[("foo", "bar")], &[("foo2", "bar2")])),
            (&none, &last_applied("{}"), expected(&[], &[])),
            (&none, &last_applied(""), expected(&[], &[])),
            (&none, &with_foo, expected(&[], &[("foo", "bar")])),
            (
                &none,
                &over_capacity,
                expected(&[], &[("endpoints.kubernetes.io/over-capacity", "truncated")]),
            ),
        ] {
            assert_eq!(metadata(labels, annotations), expected, "{labels} {annotations}");
        }
    }

    /// Service name and managed-by are reserved labels; annotations are replaced as a whole.
    #[test]
    fn our_two_labels_are_reserved() {
        let (foo, foo2) = (json!({"foo": "bar"}), json!({"foo2": "bar2"}));
        let policy = MetadataPolicy::from(metadata(&foo, &foo2));
        assert_eq!(json!(policy.copied_labels), foo);
        assert_eq!(
            json!(policy.managed_labels),
            json!({well_known::SERVICE_NAME_LABEL: "foo", well_known::MANAGED_BY_LABEL: MANAGED_BY})
        );
        assert_eq!(
            policy.annotations,
            Annotations::Replace([("foo2".to_owned(), "bar2".to_owned())].into())
        );
    }

    /// All other labels are copied (M89). The comparison uses the labels that are written (D10).
    #[test]
    fn our_labels_override_those_of_the_object() {
        let labels = json!({
            "endpointslice.kubernetes.io/managed-by": "someone",
            "kubernetes.io/service-name": "another",
            "endpointslice.kubernetes.io/skip-mirror": "false",
            "service.kubernetes.io/headless": "",
            "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        });
        let copied = [
            ("endpointslice.kubernetes.io/skip-mirror", "false"),
            ("service.kubernetes.io/headless", ""),
            ("endpoints.kubernetes.io/managed-by", "endpoint-controller"),
        ];
        assert_eq!(metadata(&labels, &Value::Null), expected(&copied, &[]));
    }
}
