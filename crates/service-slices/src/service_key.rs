//! Which Service a slice belongs to.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::names::SERVICE_NAME_LABEL;

/// Names a Service; printed as `namespace/name` (R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceKey<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl<'a> ServiceKey<'a> {
    /// The Service that a slice belongs to, by its label (R11).
    pub fn of_slice(slice: &'a ObjectMeta) -> Result<Self, NoServiceName> {
        let namespace = slice.namespace.as_deref().unwrap_or_default();
        let label = slice.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME_LABEL));
        match label {
            Some(name) if !name.is_empty() => Ok(Self { namespace, name }),
            _ => Err(NoServiceName {
                namespace: namespace.to_owned(),
                slice: slice.name.clone().unwrap_or_default(),
            }),
        }
    }
}

impl fmt::Display for ServiceKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A slice does not say whose it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("slice {namespace}/{slice} has no value for the label {SERVICE_NAME_LABEL}; set it to the name of its Service")]
pub struct NoServiceName {
    /// The slice's namespace.
    pub namespace: String,
    /// The slice's name.
    pub slice: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key(labels: &Value) -> Result<String, NoServiceName> {
        let slice = json!({"namespace": "ns", "name": "svc-abcde", "labels": labels});
        let slice: ObjectMeta = serde_json::from_value(slice).unwrap();
        ServiceKey::of_slice(&slice).map(|key| key.to_string())
    }

    /// R8, T-KEY-01…03, T-UTL-17…19: there is always a slice; the emptiest has no Service.
    #[test]
    fn r11_the_service_of_a_slice() {
        assert_eq!(key(&json!({SERVICE_NAME_LABEL: "svc"})), Ok("ns/svc".to_owned()));
        let nobody = NoServiceName {
            namespace: "ns".to_owned(),
            slice: "svc-abcde".to_owned(),
        };
        assert!(ServiceKey::of_slice(&ObjectMeta::default()).is_err());
        for labels in [Value::Null, json!({"foo": "bar"}), json!({SERVICE_NAME_LABEL: ""})] {
            assert_eq!(key(&labels), Err(nobody.clone()), "{labels}");
        }
        assert_eq!(
            nobody.to_string(),
            "slice ns/svc-abcde has no value for the label kubernetes.io/service-name; set it to the name of its Service"
        );
    }
}
