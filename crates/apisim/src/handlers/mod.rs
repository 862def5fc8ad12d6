//! Handlers of resource requests, one file per verb.

mod create;
mod delete;
mod metadata;
mod options;
mod patch;
mod read;
mod strategic_merge;
mod update;
mod watch;

use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use http::{HeaderMap, header};
use serde::Deserialize;

use crate::{
    any_kind::AnyKind,
    object::Object,
    representation::Negotiated,
    request::{Query, ResourceRequest, Verb},
    resources::Resource,
    response::{self, Response},
    server::Server,
    status::ApiError,
    store::{Store, codec_error, key_of},
};

pub(crate) use create::seed;
pub(crate) use metadata::now;

/// One resource request with its server.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) resource: &'static Resource,
    pub(crate) negotiated: Negotiated,
    pub(crate) request: ResourceRequest,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The object or subresource that a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteTarget {
    Object,
    Status,
    Finalize,
}

/// Result of a write request.
struct WriteResult {
    object: Arc<Object>,
    warnings: Vec<String>,
    created: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

/// Dispatches a request by verb.
pub(crate) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    call.check_path()?;
    match call.request.verb {
        Verb::Create => create::handle(call),
        Verb::Get => read::get(call),
        // As in kube-apiserver, a watch request for one name returns the object once.
        Verb::Watch if call.request.name.is_some() => read::get(call),
        Verb::List => read::list(call),
        Verb::Watch => watch::handle(call),
        Verb::Update => update::handle(call),
        Verb::Patch => patch::handle(call),
        Verb::Delete => delete::one(call),
        Verb::DeleteCollection => delete::collection(call),
    }
}

impl Call<'_> {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.server.store()
    }

    fn name(&self) -> &str {
        self.request.name.as_deref().unwrap_or_default()
    }

    fn key(&self) -> String {
        key_of(self.resource, self.request.namespace.as_deref(), self.name())
    }

    /// The stored object with the name in the request.
    fn existing(&self, store: &Store) -> Result<Arc<Object>, ApiError> {
        let found = store.get(self.resource.table, &self.key());
        found.ok_or_else(|| ApiError::not_found(self.resource, self.name()))
    }

    fn write_target(&self) -> WriteTarget {
        match self.request.subresource.as_deref() {
            Some("status") => WriteTarget::Status,
            Some("finalize") => WriteTarget::Finalize,
            _ => WriteTarget::Object,
        }
    }

    /// Checks that the resource supports this path and verb.
    fn check_path(&self) -> Result<(), ApiError> {
        let request = &self.request;
        let named = request.name.is_some();
        let wrong_scope = if self.resource.namespaced {
            named && request.namespace.is_none()
        } else {
            request.namespace.is_some()
        };
        if wrong_scope {
            return Err(ApiError::unknown_resource());
        }
        if let Some(subresource) = &request.subresource {
            let found = self.resource.subresources.iter().find(|(name, _)| name == subresource);
            let (_, verbs) = found.ok_or_else(ApiError::unknown_resource)?;
            return if verbs.contains(&request.verb) {
                Ok(())
            } else {
                Err(ApiError::method_not_allowed())
            };
        }
        let all_namespaces = self.resource.namespaced && request.namespace.is_none();
        let allowed = match request.verb {
            Verb::Get | Verb::List | Verb::Watch => true,
            Verb::Create => !named && !all_namespaces,
            Verb::Update | Verb::Patch | Verb::Delete => named,
            Verb::DeleteCollection => !all_namespaces && self.resource.delete_collection,
        };
        if allowed {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed())
        }
    }

    fn media_type(&self) -> &str {
        let value = self
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        value.unwrap_or_default().split(';').next().unwrap_or_default().trim()
    }

    /// Decodes the object in the body.
    fn decode_body(&self) -> Result<Box<dyn AnyKind>, ApiError> {
        if !matches!(self.media_type(), "" | "application/json") {
            return Err(ApiError::unsupported_body());
        }
        let kind = self.resource.kind;
        let meta: TypeMeta = serde_json::from_slice(&self.body)
            .map_err(|error| ApiError::bad_request(format!("the body is no {kind} in JSON: {error}")))?;
        let expected = |value: &str, expected: &str| value.is_empty() || value == expected;
        if !expected(&meta.kind, kind) || !expected(&meta.api_version, &self.resource.api_version()) {
            let version = meta.api_version.rsplit('/').next().unwrap_or_default();
            return Err(ApiError::bad_request(format!(
                "{} in version \"{version}\" cannot be handled as a {kind}",
                meta.kind
            )));
        }
        let undecodable = |error: &dyn std::fmt::Display| {
            let version = self.resource.version;
            ApiError::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"
            ))
        };
        let object = (self.resource.codec.decode)(&self.body).map_err(|error| undecodable(&error))?;
        options::check_micro_times(self.resource, &self.body).map_err(|error| undecodable(&error))?;
        if self.query.get("fieldValidation") == Some("Strict") {
            options::check_strict(self.resource, &self.body).map_err(|error| undecodable(&error))?;
        }
        Ok(object)
    }

    /// Sets the namespace of an object from the path. A namespace in the object must be the same.
    fn set_namespace(&self, object: &mut dyn AnyKind) -> Result<(), ApiError> {
        let expected = self.request.namespace.clone().unwrap_or_default();
        let metadata = object.metadata_mut();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        if !namespace.is_empty() && namespace != expected {
            return Err(ApiError::bad_request(
                "the object names another namespace than the address",
            ));
        }
        metadata.namespace = Some(expected).filter(|namespace| !namespace.is_empty());
        Ok(())
    }

    fn write_response(&self, result: &WriteResult) -> Result<Response, ApiError> {
        let code = if result.created { 201 } else { 200 };
        let text = self.negotiated.object(&result.object).map_err(codec_error)?;
        let mut response = response::encoded(code, text);
        response::add_warnings(&mut response, &result.warnings);
        Ok(response)
    }
}
