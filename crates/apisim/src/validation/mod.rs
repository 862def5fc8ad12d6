//! Validation of objects, and the field errors that it returns.

pub(crate) mod addresses;
pub(crate) mod endpoint_slice;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod lease;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod path;
pub(crate) mod pod;
pub(crate) mod pod_status;
pub(crate) mod pod_update;
pub(crate) mod ports;
pub(crate) mod service;
pub(crate) mod service_addresses;
pub(crate) mod service_ports;
pub(crate) mod service_update;

use serde::Serialize;

use self::path::Path;

/// One validation error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The path of the field, such as `endpoints[0].addresses`.
    pub(crate) field: String,
    pub(crate) kind: FieldErrorKind,
    /// Human-readable detail.
    pub(crate) detail: String,
}

/// The kind of a validation error, as in `field.Error` of apimachinery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorKind {
    Required,
    /// With the value as JSON.
    Invalid(String),
    /// With the value as JSON.
    NotSupported(String),
    /// With the value as JSON.
    Duplicate(String),
    Forbidden,
    TooLong,
    TooMany,
    /// An internal error.
    Internal,
}

impl FieldError {
    pub(crate) fn required(path: &Path<'_>) -> Self {
        Self::new(path, FieldErrorKind::Required, "")
    }

    pub(crate) fn invalid(path: &Path<'_>, value: impl Serialize, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Invalid(json(value)), detail)
    }

    pub(crate) fn not_supported(path: &Path<'_>, value: impl Serialize, supported: &[&str]) -> Self {
        let listed: Vec<String> = supported.iter().map(json).collect();
        let detail = format!("supported values: {}", listed.join(", "));
        Self::new(path, FieldErrorKind::NotSupported(json(value)), detail)
    }

    /// An error if the value is empty or not one of the supported values.
    pub(crate) fn one_of(path: &Path<'_>, value: &str, supported: &[&str]) -> Option<Self> {
        match value {
            "" => Some(Self::required(path)),
            known if supported.contains(&known) => None,
            unknown => Some(Self::not_supported(path, unknown, supported)),
        }
    }

    pub(crate) fn duplicate(path: &Path<'_>, value: impl Serialize) -> Self {
        Self::new(path, FieldErrorKind::Duplicate(json(value)), "")
    }

    pub(crate) fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Forbidden, detail)
    }

    pub(crate) fn too_long(path: &Path<'_>, max: usize) -> Self {
        let detail = format!("may not be more than {max} bytes");
        Self::new(path, FieldErrorKind::TooLong, detail)
    }

    pub(crate) fn too_many(path: &Path<'_>, count: usize, max: usize) -> Self {
        let detail = format!("{count}: must have at most {max} items");
        Self::new(path, FieldErrorKind::TooMany, detail)
    }

    pub(crate) fn internal(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Internal, detail)
    }

    fn new(path: &Path<'_>, kind: FieldErrorKind, detail: impl Into<String>) -> Self {
        Self {
            field: path.to_string(),
            kind,
            detail: detail.into(),
        }
    }

    /// The `reason` of the cause in a `Status`.
    pub(crate) fn cause_reason(&self) -> &'static str {
        match self.kind {
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Invalid(_) => "FieldValueInvalid",
            FieldErrorKind::NotSupported(_) => "FieldValueNotSupported",
            FieldErrorKind::Duplicate(_) => "FieldValueDuplicate",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::Internal => "InternalError",
        }
    }

    /// The `message` of the cause in a `Status`, without the field.
    pub(crate) fn cause_message(&self) -> String {
        let (title, value) = match &self.kind {
            FieldErrorKind::Required => ("Required value", None),
            FieldErrorKind::Invalid(value) => ("Invalid value", Some(value)),
            FieldErrorKind::NotSupported(value) => ("Unsupported value", Some(value)),
            FieldErrorKind::Duplicate(value) => ("Duplicate value", Some(value)),
            FieldErrorKind::Forbidden => ("Forbidden", None),
            FieldErrorKind::TooLong => ("Too long", None),
            FieldErrorKind::TooMany => ("Too many", None),
            FieldErrorKind::Internal => ("Internal error", None),
        };
        let mut message = title.to_owned();
        let detail = Some(&self.detail).filter(|detail| !detail.is_empty());
        for part in value.into_iter().chain(detail) {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }

    /// The full message with the field, as in the message of a `Status`.
    pub(crate) fn message(&self) -> String {
        format!("{}: {}", self.field, self.cause_message())
    }
}

/// One `Invalid` error per message about the same value.
pub(crate) fn invalid_each(path: &Path<'_>, value: &str, messages: Vec<String>) -> Vec<FieldError> {
    messages
        .into_iter()
        .map(|detail| FieldError::invalid(path, value, detail))
        .collect()
}

/// An error if an immutable field changed.
pub(crate) fn immutable<T: PartialEq + Serialize>(path: &Path<'_>, new: &T, old: &T) -> Option<FieldError> {
    (new != old).then(|| FieldError::invalid(path, new, "cannot be changed"))
}

fn json(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{FieldError, path::Path};

    #[test]
    fn messages_have_the_format_of_kube_apiserver() {
        let path = Path::new("spec");
        let ports = path.child("ports");
        let port = ports.index(2);
        let port = port.child("protocol");
        let check = |error: FieldError, reason: &str, message: &str| {
            assert_eq!((error.cause_reason(), error.message().as_str()), (reason, message));
        };
        check(
            FieldError::required(&path),
            "FieldValueRequired",
            "spec: Required value",
        );
        check(
            FieldError::invalid(&path, "x", "wrong"),
            "FieldValueInvalid",
            r#"spec: Invalid value: "x": wrong"#,
        );
        check(
            FieldError::not_supported(&port, "x", &["SCTP", "TCP"]),
            "FieldValueNotSupported",
            r#"spec.ports[2].protocol: Unsupported value: "x": supported values: "SCTP", "TCP""#,
        );
        check(
            FieldError::too_many(&path, 3, 2),
            "FieldValueTooMany",
            "spec: Too many: 3: must have at most 2 items",
        );
        check(
            FieldError::duplicate(&path.key("a/b"), 7),
            "FieldValueDuplicate",
            "spec[a/b]: Duplicate value: 7",
        );
        check(
            FieldError::forbidden(&path, "no"),
            "FieldValueForbidden",
            "spec: Forbidden: no",
        );
        check(
            FieldError::too_long(&path, 9),
            "FieldValueTooLong",
            "spec: Too long: may not be more than 9 bytes",
        );
    }
}
