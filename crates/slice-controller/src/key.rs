//! Keys of the work queue.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::well_known::SERVICE_NAME_LABEL;

use crate::ObjectRef;

/// A work queue key: namespace and name of the owner of slices. Level-triggered: a sync reads the current state, not the event
/// that enqueued the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Distinguishes owners of equal namespace and name, such as by kind or cluster. Empty where all owners are of one kind.
    pub scope: Arc<str>,
    /// The namespace of the owner, and of its slices.
    pub namespace: Arc<str>,
    /// The name of the owner.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an owner, without a scope.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self::scoped(Arc::<str>::default(), namespace, name)
    }

    /// The key of an owner, with a scope.
    pub fn scoped(scope: impl Into<Arc<str>>, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            scope: scope.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of the Service in the label `kubernetes.io/service-name` of a slice (R11).
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

/// `namespace/name`, or `scope/namespace/name`.
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

    /// A slice without the label, or with an empty one, has no key (R8, T-KEY-01…03, T-UTL-17…19).
    #[test]
    fn r11_key_of_a_slice_is_its_service_name_label() {
        let labelled = slice(&[(SERVICE_NAME_LABEL, "svc")]);
        assert_eq!(Key::from_slice_labels(&labelled), Some(Key::new("ns", "svc")));
        assert_eq!(Key::from_slice_labels(&labelled).unwrap().to_string(), "ns/svc");
        for slice in [
            slice(&[("foo", "bar")]),
            slice(&[(SERVICE_NAME_LABEL, "")]),
            ObjectMeta::default(),
        ] {
            assert_eq!(Key::from_slice_labels(&slice), None, "{slice:?}");
        }
    }

    /// A Service and another owner of its name never share a key (G1).
    #[test]
    fn keys_with_different_scopes_differ() {
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
