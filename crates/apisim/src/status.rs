//! API errors: the `Status` objects of failed requests.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};

use crate::{
    resources::{Resource, Table},
    validation::FieldError,
};

/// An API error with its `Status`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError(pub(crate) Box<Status>);

impl ApiError {
    /// An error without details. An empty reason is omitted, as in untyped errors of kube-apiserver.
    pub(crate) fn new(code: i32, reason: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Status {
            code: Some(code),
            message: Some(message.into()),
            reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
            status: Some("Failure".into()),
            ..Status::default()
        }))
    }

    fn with_details(mut self, details: StatusDetails) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Adds the continue token for an inconsistent read of the remaining list.
    pub(crate) fn with_continue(mut self, token: String) -> Self {
        self.0.metadata.continue_ = Some(token);
        self
    }

    /// The HTTP status code.
    pub(crate) fn code(&self) -> u16 {
        self.0.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "there is no such resource at this address").with_details(StatusDetails::default())
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "this resource does not know this method";
        Self::new(405, "MethodNotAllowed", message).with_details(StatusDetails::default())
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only application/json can be had here";
        Self::new(406, "NotAcceptable", message).with_details(StatusDetails::default())
    }

    pub(crate) fn unsupported_body() -> Self {
        let message = "the body must be application/json";
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn unsupported_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details(StatusDetails::default())
    }

    /// A JSON patch that cannot be applied. kube-apiserver gives no details either.
    pub(crate) fn patch_does_not_apply() -> Self {
        let message = "the patch does not apply to the object";
        Self::new(422, "Invalid", message).with_details(StatusDetails::default())
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::new(404, "NotFound", message).with_details(about(resource.group, resource.plural, name))
    }

    /// An object of this name exists, possibly a terminating one.
    pub(crate) fn already_exists(resource: &Resource, name: &str, deleting: bool) -> Self {
        let prefix = if deleting { "object is being deleted: " } else { "" };
        let message = format!("{prefix}{} \"{name}\" already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).with_details(about(resource.group, resource.plural, name))
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, reason: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {reason}",
            resource.qualified()
        );
        Self::new(409, "Conflict", message).with_details(about(resource.group, resource.plural, name))
    }

    /// The resourceVersion of the request is not that of the stored object.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let reason = "another write came first: read the object again and repeat the change";
        Self::conflict(resource, name, reason)
    }

    /// A precondition of a deletion failed. Like kube-apiserver, the message contains the kind instead of the resource,
    /// except for namespaces.
    pub(crate) fn precondition(resource: &Resource, name: &str, reason: &str) -> Self {
        if resource.table == Table::Namespaces {
            return Self::conflict(resource, name, reason);
        }
        let kind = resource.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {reason}");
        Self::new(409, "Conflict", message).with_details(about(resource.group, resource.kind, name))
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, reason: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {reason}", resource.qualified());
        Self::new(403, "Forbidden", message).with_details(about(resource.group, resource.plural, name))
    }

    /// The create is forbidden because the namespace is terminating.
    pub(crate) fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let reason = format!("namespace {namespace} is being terminated and takes nothing new");
        let mut error = Self::forbidden(resource, name, &reason);
        if let Some(details) = &mut error.0.details {
            details.causes = Some(vec![StatusCause {
                field: Some("metadata.namespace".into()),
                message: Some(format!("namespace {namespace} is being terminated")),
                reason: Some("NamespaceTerminating".into()),
            }]);
        }
        error
    }

    /// The object or the options of the request have invalid fields.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let causes: Vec<StatusCause> = errors.iter().map(cause).collect();
        let mut messages: Vec<String> = errors.iter().map(FieldError::message).collect();
        messages.dedup();
        let list = match messages.as_slice() {
            [message] => message.clone(),
            _ => format!("[{}]", messages.join(", ")),
        };
        let subject = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let mut details = about(group, kind, name);
        details.causes = Some(causes);
        Self::new(422, "Invalid", format!("{subject} \"{name}\" is invalid: {list}")).with_details(details)
    }

    /// The options of a request are invalid.
    pub(crate) fn invalid_options(options: &str, error: FieldError) -> Self {
        Self::invalid("meta.k8s.io", options, "", &[error])
    }

    /// The requested resourceVersion is higher than the current revision.
    pub(crate) fn too_large_version(requested: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        Self::new(504, "Timeout", message).with_details(StatusDetails {
            causes: Some(vec![StatusCause {
                field: None,
                message: Some("Too large resource version".into()),
                reason: Some("ResourceVersionTooLarge".into()),
            }]),
            retry_after_seconds: Some(1),
            ..StatusDetails::default()
        })
    }

    /// The history at the requested resourceVersion was compacted (410 Gone).
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }
}

fn about(group: &str, kind: &str, name: &str) -> StatusDetails {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    StatusDetails {
        group: some(group),
        kind: some(kind),
        name: some(name),
        ..StatusDetails::default()
    }
}

fn cause(error: &FieldError) -> StatusCause {
    StatusCause {
        field: Some(error.field.clone()),
        message: Some(error.cause_message()),
        reason: Some(error.cause_reason().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resources, validation::FieldErrorKind};

    fn error(field: &str, kind: FieldErrorKind, detail: &str) -> FieldError {
        FieldError {
            field: field.into(),
            kind,
            detail: detail.into(),
        }
    }

    fn json(error: &ApiError) -> serde_json::Value {
        serde_json::to_value(&error.0).unwrap()
    }

    #[test]
    fn not_found_contains_the_group() {
        assert_eq!(
            json(&ApiError::not_found(resources::stored_in(Table::EndpointSlices), "x")),
            serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound",
                "code": 404, "message": "endpointslices.discovery.k8s.io \"x\" not found",
                "details": {"name": "x", "group": "discovery.k8s.io", "kind": "endpointslices"},
            })
        );
    }

    #[test]
    fn several_invalid_fields_are_listed_in_brackets() {
        let error = ApiError::invalid(
            "discovery.k8s.io",
            "EndpointSlice",
            "x",
            &[
                error("a", FieldErrorKind::Required, ""),
                error("b", FieldErrorKind::Invalid("5".into()), "too odd"),
            ],
        );
        assert_eq!(
            json(&error),
            serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
                "message": "EndpointSlice.discovery.k8s.io \"x\" is invalid: [a: Required value, b: Invalid value: 5: too odd]",
                "details": {"name": "x", "group": "discovery.k8s.io", "kind": "EndpointSlice", "causes": [
                    {"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
                    {"reason": "FieldValueInvalid", "message": "Invalid value: 5: too odd", "field": "b"},
                ]},
            })
        );
    }

    #[test]
    fn one_invalid_field_has_no_brackets() {
        let error = ApiError::invalid("", "Pod", "x", &[error("a", FieldErrorKind::Forbidden, "no")]);
        assert_eq!(
            error.0.message.as_deref(),
            Some("Pod \"x\" is invalid: a: Forbidden: no")
        );
    }
}
