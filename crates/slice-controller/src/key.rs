//! What is looked at in one go.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::names::SERVICE_NAME_LABEL;

/// What is looked at in one go: an owner of slices, by name. Never an event: what happened is read from the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The owner's namespace.
    pub namespace: Arc<str>,
    /// The owner's name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of this owner.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The Service that a slice names by its label, if it does (R11).
    #[must_use]
    pub fn of_slice(slice: &ObjectMeta) -> Option<Self> {
        let name = slice.labels.as_ref()?.get(SERVICE_NAME_LABEL)?;
        (!name.is_empty()).then(|| Self::new(slice.namespace.as_deref().unwrap_or_default(), name.as_str()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(labels: &[(&str, &str)]) -> ObjectMeta {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ObjectMeta {
            namespace: Some("ns".into()),
            labels: Some(labels.collect()),
            ..ObjectMeta::default()
        }
    }

    /// R8, T-KEY-01…03, T-UTL-17…19: there is always a slice; the emptiest has no Service.
    #[test]
    fn r11_a_slice_names_its_service_by_label() {
        let named = slice(&[(SERVICE_NAME_LABEL, "svc")]);
        assert_eq!(Key::of_slice(&named), Some(Key::new("ns", "svc")));
        assert_eq!(Key::of_slice(&named).unwrap().to_string(), "ns/svc");
        for nobody in [
            slice(&[("foo", "bar")]),
            slice(&[(SERVICE_NAME_LABEL, "")]),
            ObjectMeta::default(),
        ] {
            assert_eq!(Key::of_slice(&nobody), None, "{nobody:?}");
        }
    }
}
