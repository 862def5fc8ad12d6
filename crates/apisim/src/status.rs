//! Refusals: the `Status` objects the server answers instead of what was asked for.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};

use crate::{
    resources::{Resource, Table},
    validation::FieldError,
};

/// A request that is refused, with the `Status` that says why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError(pub(crate) Box<Status>);

impl ApiError {
    /// A refusal without details. An empty reason is left out, as the real server does for errors it did not foresee.
    pub(crate) fn new(code: i32, reason: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Status {
            code: Some(code),
            message: Some(message.into()),
            reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
            status: Some("Failure".into()),
            ..Status::default()
        }))
    }

    fn with(mut self, details: StatusDetails) -> Self {
        self.0.details = Some(details);
        self
    }

    /// With the token from which the rest of a list can be read, although no longer consistently.
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
        Self::new(404, "NotFound", "there is no such resource at this address").with(StatusDetails::default())
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "this resource does not know this method";
        Self::new(405, "MethodNotAllowed", message).with(StatusDetails::default())
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only application/json can be had here";
        Self::new(406, "NotAcceptable", message).with(StatusDetails::default())
    }

    pub(crate) fn unsupported_body() -> Self {
        let message = "the body must be application/json";
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn unsupported_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with(StatusDetails::default())
    }

    /// A JSON patch that cannot be applied; the real server gives no reason either.
    pub(crate) fn patch_does_not_apply() -> Self {
        let message = "the patch does not apply to the object";
        Self::new(422, "Invalid", message).with(StatusDetails::default())
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::new(404, "NotFound", message).with(about(resource.group, resource.plural, name))
    }

    /// The name is taken, if only by an object that is being deleted.
    pub(crate) fn already_exists(resource: &Resource, name: &str, deleting: bool) -> Self {
        let going = if deleting { "object is being deleted: " } else { "" };
        let message = format!("{going}{} \"{name}\" already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).with(about(resource.group, resource.plural, name))
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            resource.qualified()
        );
        Self::new(409, "Conflict", message).with(about(resource.group, resource.plural, name))
    }

    /// The object is not at the version that the client saw.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why = "another write came first: read the object again and repeat the change";
        Self::conflict(resource, name, why)
    }

    /// A precondition of a deletion does not hold. Here the real server names the kind where it elsewhere names the
    /// resource, except for namespaces.
    pub(crate) fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        if resource.table == Table::Namespaces {
            return Self::conflict(resource, name, why);
        }
        let kind = resource.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}");
        Self::new(409, "Conflict", message).with(about(resource.group, resource.kind, name))
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::new(403, "Forbidden", message).with(about(resource.group, resource.plural, name))
    }

    /// Nothing new is created in a namespace that is going away.
    pub(crate) fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!("namespace {namespace} is being terminated and takes nothing new");
        let mut refusal = Self::forbidden(resource, name, &why);
        if let Some(details) = &mut refusal.0.details {
            details.causes = Some(vec![StatusCause {
                field: Some("metadata.namespace".into()),
                message: Some(format!("namespace {namespace} is being terminated")),
                reason: Some("NamespaceTerminating".into()),
            }]);
        }
        refusal
    }

    /// What is asked for, or something it says about itself, is invalid field by field.
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
        Self::new(422, "Invalid", format!("{subject} \"{name}\" is invalid: {list}")).with(details)
    }

    /// The options of a request are invalid.
    pub(crate) fn invalid_options(options: &str, error: FieldError) -> Self {
        Self::invalid("meta.k8s.io", options, "", &[error])
    }

    /// The client has seen a version that this server has not reached.
    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message).with(StatusDetails {
            causes: Some(vec![StatusCause {
                field: None,
                message: Some("Too large resource version".into()),
                reason: Some("ResourceVersionTooLarge".into()),
            }]),
            retry_after_seconds: Some(1),
            ..StatusDetails::default()
        })
    }

    /// The history from which the request would have to be answered is gone.
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
    fn a_missing_object_is_named_with_its_group() {
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
        let refusal = ApiError::invalid(
            "discovery.k8s.io",
            "EndpointSlice",
            "x",
            &[
                error("a", FieldErrorKind::Required, ""),
                error("b", FieldErrorKind::Invalid("5".into()), "too odd"),
            ],
        );
        assert_eq!(
            json(&refusal),
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
    fn one_invalid_field_needs_no_brackets() {
        let refusal = ApiError::invalid("", "Pod", "x", &[error("a", FieldErrorKind::Forbidden, "no")]);
        assert_eq!(
            refusal.0.message.as_deref(),
            Some("Pod \"x\" is invalid: a: Forbidden: no")
        );
    }
}
