//! What is behind an endpoint: nearly always a pod, of which nobody says more than its names.

use std::{fmt, sync::Arc};

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{Share, Text};

const POD: &str = "Pod";

/// The names of an object, as they are said: absent is not empty (R79).
///
/// Where strings are shared these are too, all at once: between an object, the endpoints made of it and the slices that hold
/// them. Then they are equal without a look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName<T> {
    /// Its namespace; part of an endpoint's identity.
    pub namespace: Option<T>,
    /// Its name; part of an endpoint's identity.
    pub name: Option<T>,
    /// Its uid.
    pub uid: Option<T>,
}

impl<T> ObjectName<T> {
    /// The same names in other strings.
    #[inline]
    pub fn map<'a, U>(&'a self, mut to: impl FnMut(&'a T) -> U) -> ObjectName<U> {
        ObjectName {
            namespace: self.namespace.as_ref().map(&mut to),
            name: self.name.as_ref().map(&mut to),
            uid: self.uid.as_ref().map(&mut to),
        }
    }
}

/// What is behind an endpoint, as it is kept.
///
/// ```
/// use slice_core::{Target, TargetRef};
///
/// let pod = TargetRef { kind: Some("Pod"), namespace: Some("shop"), name: Some("web-0"), ..TargetRef::default() };
/// let kept: Target = pod.into();
/// assert_eq!(kept.view(), pod);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Target<T: Text = Arc<str>> {
    object: T::Held<ObjectName<T>>,
    /// What is to be said besides that it is a pod.
    other: Option<Box<Other<T>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Other<T> {
    kind: Option<T>,
    api_version: Option<T>,
    field_path: Option<T>,
    resource_version: Option<T>,
}

impl<T: Text> Target<T> {
    /// A pod.
    #[inline]
    pub fn pod(object: T::Held<ObjectName<T>>) -> Self {
        Self { object, other: None }
    }

    /// Which object it is.
    #[inline]
    pub fn object(&self) -> &T::Held<ObjectName<T>> {
        &self.object
    }

    /// The same, borrowed.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn view(&self) -> TargetRef<'_> {
        let pod = TargetRef::pod(&self.object);
        match &self.other {
            None => pod,
            Some(other) => TargetRef {
                kind: other.kind.as_deref(),
                api_version: other.api_version.as_deref(),
                field_path: other.field_path.as_deref(),
                resource_version: other.resource_version.as_deref(),
                ..pod
            },
        }
    }

    /// The same target in other strings.
    pub fn map<'a, U: Text>(&'a self, share: &mut impl Share<&'a T, U>) -> Target<U> {
        Target {
            object: share.object(self.object.map(|text| text)),
            other: self.other.as_ref().map(|other| {
                let mut text = |text: &'a Option<T>| text.as_ref().map(|text| share.text(text));
                Box::new(Other {
                    kind: text(&other.kind),
                    api_version: text(&other.api_version),
                    field_path: text(&other.field_path),
                    resource_version: text(&other.resource_version),
                })
            }),
        }
    }
}

impl<T: Text> fmt::Debug for Target<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl<'a, T: Text + From<&'a str>> From<TargetRef<'a>> for Target<T> {
    fn from(target: TargetRef<'a>) -> Self {
        target.to_target(&mut T::from)
    }
}

/// What is behind an endpoint, borrowed from wherever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetRef<'a> {
    /// `Pod`, usually.
    pub kind: Option<&'a str>,
    /// Its namespace; part of the endpoint's identity.
    pub namespace: Option<&'a str>,
    /// Its name; part of the endpoint's identity.
    pub name: Option<&'a str>,
    /// Its uid.
    pub uid: Option<&'a str>,
    /// Its API version.
    pub api_version: Option<&'a str>,
    /// A part of it.
    pub field_path: Option<&'a str>,
    /// The version that was seen; never compared, because it changes with everything.
    pub resource_version: Option<&'a str>,
}

impl<'a> TargetRef<'a> {
    /// A pod.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn pod<T: Text>(object: &'a ObjectName<T>) -> Self {
        Self {
            kind: Some(POD),
            namespace: object.namespace.as_deref(),
            name: object.name.as_deref(),
            uid: object.uid.as_deref(),
            ..Self::default()
        }
    }

    /// A target to keep.
    #[inline]
    pub fn to_target<T: Text>(self, share: &mut impl Share<&'a str, T>) -> Target<T> {
        let names = ObjectName {
            namespace: self.namespace,
            name: self.name,
            uid: self.uid,
        };
        let said = (self.kind, self.api_version, self.field_path, self.resource_version);
        Target {
            object: share.object(names),
            other: (said != (Some(POD), None, None, None)).then(|| {
                let mut text = |text: Option<&'a str>| text.map(|text| share.text(text));
                Box::new(Other {
                    kind: text(self.kind),
                    api_version: text(self.api_version),
                    field_path: text(self.field_path),
                    resource_version: text(self.resource_version),
                })
            }),
        }
    }
}

impl<'a> From<&'a ObjectReference> for TargetRef<'a> {
    #[inline]
    fn from(target: &'a ObjectReference) -> Self {
        Self {
            kind: target.kind.as_deref(),
            namespace: target.namespace.as_deref(),
            name: target.name.as_deref(),
            uid: target.uid.as_deref(),
            api_version: target.api_version.as_deref(),
            field_path: target.field_path.as_deref(),
            resource_version: target.resource_version.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_says_what_it_was_made_of() {
        let pod = TargetRef {
            kind: Some("Pod"),
            name: Some("web-0"),
            ..TargetRef::default()
        };
        for target in [
            TargetRef::default(),
            pod,
            TargetRef { kind: None, ..pod },
            TargetRef {
                kind: Some("Node"),
                ..pod
            },
            TargetRef {
                uid: Some("1"),
                namespace: Some("ns"),
                ..pod
            },
            TargetRef {
                api_version: Some("v1"),
                ..pod
            },
            TargetRef {
                field_path: Some("spec"),
                ..pod
            },
            TargetRef {
                resource_version: Some("7"),
                ..pod
            },
        ] {
            let (kept, borrowed): (Target, Target<&str>) = (target.into(), target.into());
            assert_eq!(kept.view(), target);
            assert_eq!(borrowed.view(), target);
            assert_eq!(borrowed.map(&mut |text: &&str| Arc::from(*text)), kept);
            assert_eq!(kept == Target::from(pod), target == pod);
        }
    }

    #[test]
    fn a_copy_shares_the_names() {
        let target: Target = Target::from(TargetRef {
            name: Some("web-0"),
            ..TargetRef::default()
        });
        assert!(Arc::ptr_eq(target.object(), target.clone().object()));
    }
}
