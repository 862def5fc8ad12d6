//! Keys of the work queue.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::well_known::SERVICE_NAME_LABEL;

use crate::ObjectRef;

/// A key of the work queue: the owner of slices, by name. A sync reads the current state, not the event that enqueued the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What tells owners of one namespace and name apart, such as their kind or cluster; empty where there is only one.
    pub scope: Arc<str>,
    /// The namespace of the owner, and of its slices.
    pub namespace: Arc<str>,
    /// The name of the owner.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an owner, where all are of one kind.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self::scoped(Arc::<str>::default(), namespace, name)
    }

    /// The key of an owner in a scope.
    pub fn scoped(scope: impl Into<Arc<str>>, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            scope: scope.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The Service that a slice names by its label, if it does (R11).
    #[must_use]
    pub fn from_slice_labels(slice: &ObjectMeta) -> Option<Self> {
        let name = slice.labels.as_ref()?.get(SERVICE_NAME_LABEL)?;
        (!name.is_empty()).then(|| Self::new(slice.namespace.as_deref().unwrap_or_default(), name.as_str()))
    }
}

/// The key of an object by its own namespace and name.
impl From<&ObjectMeta> for Key {
    fn from(object: &ObjectMeta) -> Self {
        Self::new(
            object.namespace.as_deref().unwrap_or_default(),
            object.name.as_deref().unwrap_or_default(),
        )
    }
}

/// The key of an object by its own namespace and name.
impl From<&ObjectRef> for Key {
    fn from(object: &ObjectRef) -> Self {
        Self::new(&*object.namespace, &*object.name)
    }
}

/// `namespace/name`, after the scope if there is one: `scope/namespace/name`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, namespace, name } = self;
        if !scope.is_empty() {
            write!(f, "{scope}/")?;
        }
        write!(f, "{namespace}/{name}")
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
        assert_eq!(Key::from_slice_labels(&named), Some(Key::new("ns", "svc")));
        assert_eq!(Key::from_slice_labels(&named).unwrap().to_string(), "ns/svc");
        for nobody in [
            slice(&[("foo", "bar")]),
            slice(&[(SERVICE_NAME_LABEL, "")]),
            ObjectMeta::default(),
        ] {
            assert_eq!(Key::from_slice_labels(&nobody), None, "{nobody:?}");
        }
    }

    /// G1: a Service and another object of its name never share a key.
    #[test]
    fn scopes_tell_owners_of_one_name_apart() {
        let (plain, scoped) = (Key::new("shop", "db"), Key::scoped("EndpointSelector", "shop", "db"));
        assert_ne!(plain, scoped);
        assert_eq!(
            [plain.to_string(), scoped.to_string()],
            ["shop/db", "EndpointSelector/shop/db"]
        );
        let mut keys = [scoped.clone(), Key::new("z", "z"), plain.clone()];
        keys.sort();
        assert_eq!(keys, [plain, Key::new("z", "z"), scoped]);
    }
}
