//! The target of an endpoint (`targetRef`): nearly always a pod, with no fields besides its identity.

use std::{fmt, ptr, sync::Arc};

use k8s_openapi::api::core::v1::ObjectReference;
use serde::{Serialize, Serializer};

use crate::Interner;

const POD: &str = "Pod";

/// Namespace, name and uid of a target. An absent field differs from an empty one (R79).
///
/// An [`Interner`] shares equal identities between a pod, its endpoints and their slices, so that they are compared by pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TargetIdentity {
    /// The namespace; part of an endpoint's identity.
    pub namespace: Option<Arc<str>>,
    /// The name; part of an endpoint's identity.
    pub name: Option<Arc<str>>,
    /// The uid.
    pub uid: Option<Arc<str>>,
}

impl TargetIdentity {
    pub(crate) fn fields(&self) -> [Option<&str>; 3] {
        [&self.namespace, &self.name, &self.uid].map(Option::as_deref)
    }
}

/// The target of an endpoint: the object behind it.
///
/// ```
/// use k8s_openapi::api::core::v1::ObjectReference;
/// use slice_core::Target;
///
/// let reference = ObjectReference { kind: Some("Pod".into()), name: Some("web-0".into()), ..ObjectReference::default() };
/// let target = Target::from(&reference);
/// assert_eq!(target.view().name(), Some("web-0"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    identity: Arc<TargetIdentity>,
    /// All other fields, unless the kind is Pod and the rest is absent.
    extra: Option<Box<ExtraFields>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ExtraFields {
    kind: Option<Arc<str>>,
    api_version: Option<Arc<str>>,
    field_path: Option<Arc<str>>,
    resource_version: Option<Arc<str>>,
}

impl Target {
    /// A target of kind Pod.
    #[must_use]
    #[inline]
    pub fn pod(identity: Arc<TargetIdentity>) -> Self {
        Self { identity, extra: None }
    }

    /// The compact form of an object reference, with interned strings.
    pub fn from_k8s(reference: &ObjectReference, interner: &mut Interner) -> Self {
        let ObjectReference {
            kind,
            api_version,
            field_path,
            resource_version,
            namespace,
            name,
            uid,
        } = reference;
        let is_plain_pod = kind.as_deref() == Some(POD)
            && [api_version, field_path, resource_version]
                .iter()
                .all(|field| field.is_none());
        let mut intern = |field: &Option<String>| field.as_deref().map(|text| interner.intern(text));
        let extra = (!is_plain_pod).then(|| {
            Box::new(ExtraFields {
                kind: intern(kind),
                api_version: intern(api_version),
                field_path: intern(field_path),
                resource_version: intern(resource_version),
            })
        });
        let identity = interner.intern_identity(namespace.as_deref(), name.as_deref(), uid.as_deref());
        Self { identity, extra }
    }

    /// Namespace, name and uid.
    #[must_use]
    #[inline]
    pub fn identity(&self) -> &Arc<TargetIdentity> {
        &self.identity
    }

    /// The borrowed form.
    #[must_use]
    #[inline]
    pub fn view(&self) -> TargetView<'_> {
        TargetView {
            identity: &self.identity,
            extra: self.extra.as_deref(),
        }
    }
}

impl From<&ObjectReference> for Target {
    fn from(reference: &ObjectReference) -> Self {
        Self::from_k8s(reference, &mut Interner::default())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Reference<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            api_version: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            field_path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            kind: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            namespace: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            resource_version: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            uid: Option<&'a str>,
        }
        let target = self.view();
        let reference = Reference {
            api_version: target.api_version(),
            field_path: target.field_path(),
            kind: target.kind(),
            name: target.name(),
            namespace: target.namespace(),
            resource_version: target.resource_version(),
            uid: target.uid(),
        };
        reference.serialize(serializer)
    }
}

/// The borrowed form of a [`Target`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TargetView<'a> {
    identity: &'a TargetIdentity,
    extra: Option<&'a ExtraFields>,
}

impl<'a> TargetView<'a> {
    /// A target of kind Pod.
    #[must_use]
    #[inline]
    pub fn pod(identity: &'a TargetIdentity) -> Self {
        Self { identity, extra: None }
    }

    /// The kind; `Pod`, usually.
    #[must_use]
    #[inline]
    pub fn kind(self) -> Option<&'a str> {
        match self.extra {
            None => Some(POD),
            Some(extra) => extra.kind.as_deref(),
        }
    }

    /// The namespace; part of an endpoint's identity.
    #[must_use]
    #[inline]
    pub fn namespace(self) -> Option<&'a str> {
        self.identity.namespace.as_deref()
    }

    /// The name; part of an endpoint's identity.
    #[must_use]
    #[inline]
    pub fn name(self) -> Option<&'a str> {
        self.identity.name.as_deref()
    }

    /// The uid.
    #[must_use]
    #[inline]
    pub fn uid(self) -> Option<&'a str> {
        self.identity.uid.as_deref()
    }

    /// The API version.
    #[must_use]
    #[inline]
    pub fn api_version(self) -> Option<&'a str> {
        self.extra?.api_version.as_deref()
    }

    /// The path of a field inside the object.
    #[must_use]
    #[inline]
    pub fn field_path(self) -> Option<&'a str> {
        self.extra?.field_path.as_deref()
    }

    /// The resourceVersion; never compared, because it changes with every write of the object.
    #[must_use]
    #[inline]
    pub fn resource_version(self) -> Option<&'a str> {
        self.extra?.resource_version.as_deref()
    }

    /// Whether both identities are one allocation, so that they are equal.
    #[inline]
    pub(crate) fn same_identity_ptr(self, other: TargetView<'_>) -> bool {
        ptr::eq(self.identity, other.identity)
    }
}

impl fmt::Debug for TargetView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("kind", &self.kind())
            .field("namespace", &self.namespace())
            .field("name", &self.name())
            .field("uid", &self.uid())
            .field("extra", &self.extra)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_keeps_every_field_of_the_reference() {
        let pod = ObjectReference {
            kind: Some("Pod".into()),
            name: Some("web-0".into()),
            ..ObjectReference::default()
        };
        for reference in [
            ObjectReference::default(),
            pod.clone(),
            ObjectReference {
                kind: None,
                ..pod.clone()
            },
            ObjectReference {
                kind: Some("Node".into()),
                ..pod.clone()
            },
            ObjectReference {
                uid: Some("1".into()),
                namespace: Some("ns".into()),
                ..pod.clone()
            },
            ObjectReference {
                api_version: Some("v1".into()),
                ..pod.clone()
            },
            ObjectReference {
                field_path: Some("spec".into()),
                ..pod.clone()
            },
            ObjectReference {
                resource_version: Some("7".into()),
                ..pod.clone()
            },
        ] {
            let target = Target::from(&reference);
            assert_eq!(
                serde_json::to_value(&target).unwrap(),
                serde_json::to_value(&reference).unwrap()
            );
            assert_eq!(target == Target::from(&pod), reference == pod);
        }
    }

    #[test]
    fn clone_shares_the_identity() {
        let target = Target::from(&ObjectReference::default());
        assert!(Arc::ptr_eq(target.identity(), target.clone().identity()));
    }
}
