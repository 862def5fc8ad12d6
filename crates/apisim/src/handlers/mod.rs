//! What is done with a request for a resource.

mod create;
mod delete;
mod metadata;
mod options;
mod patch;
mod read;
mod strategic;
mod update;
mod watch;

use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use http::{HeaderMap, header};
use serde::Deserialize;

use crate::{
    answer::{self, Response},
    erased::AnyKind,
    object::Object,
    present::Presentation,
    request::{Query, ResourceRequest, Verb},
    resources::Resource,
    server::Server,
    status::ApiError,
    store::{Store, key_of, unreadable},
};

pub(crate) use create::install;
pub(crate) use metadata::now;

/// One request for a resource, taken apart.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) resource: &'static Resource,
    pub(crate) presentation: Presentation,
    pub(crate) request: ResourceRequest,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The part of an object that a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Status,
    Finalize,
}

/// What a write left behind.
struct Written {
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

/// Does what a request asks for.
pub(crate) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    call.check_address()?;
    match call.request.verb {
        Verb::Create => create::handle(call),
        Verb::Get => read::get(call),
        // A watch of a name is answered with the object, once.
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

    /// The stored object that the request names.
    fn stored(&self, store: &Store) -> Result<Arc<Object>, ApiError> {
        let found = store.get(self.resource.table, &self.key());
        found.ok_or_else(|| ApiError::not_found(self.resource, self.name()))
    }

    fn part(&self) -> Part {
        match self.request.subresource.as_deref() {
            Some("status") => Part::Status,
            Some("finalize") => Part::Finalize,
            _ => Part::Whole,
        }
    }

    /// Whether the address exists, and the method with it.
    fn check_address(&self) -> Result<(), ApiError> {
        let request = &self.request;
        let named = request.name.is_some();
        let misplaced = if self.resource.namespaced {
            named && request.namespace.is_none()
        } else {
            request.namespace.is_some()
        };
        if misplaced {
            return Err(ApiError::unknown_resource());
        }
        if let Some(part) = &request.subresource {
            let found = self.resource.subresources.iter().find(|(name, _)| name == part);
            let (_, verbs) = found.ok_or_else(ApiError::unknown_resource)?;
            return if verbs.contains(&request.verb) {
                Ok(())
            } else {
                Err(ApiError::method_not_allowed())
            };
        }
        let everywhere = self.resource.namespaced && request.namespace.is_none();
        let allowed = match request.verb {
            Verb::Get | Verb::List | Verb::Watch => true,
            Verb::Create => !named && !everywhere,
            Verb::Update | Verb::Patch | Verb::Delete => named,
            Verb::DeleteCollection => !everywhere && self.resource.delete_collection,
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

    /// The object in the body.
    fn decode_body(&self) -> Result<Box<dyn AnyKind>, ApiError> {
        if !matches!(self.media_type(), "" | "application/json") {
            return Err(ApiError::unsupported_body());
        }
        let kind = self.resource.kind;
        let meta: TypeMeta = serde_json::from_slice(&self.body)
            .map_err(|error| ApiError::bad_request(format!("the body is no {kind} in JSON: {error}")))?;
        let expected = |given: &str, expected: &str| given.is_empty() || given == expected;
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
        options::check_micro_times(self.resource, &self.body).map_err(|short| undecodable(&short))?;
        if self.query.get("fieldValidation") == Some("Strict") {
            options::check_strict(self.resource, &self.body).map_err(|unknown| undecodable(&unknown))?;
        }
        Ok(object)
    }

    /// The namespace of an object must be the one in the address; an object may leave it out.
    fn place(&self, object: &mut dyn AnyKind) -> Result<(), ApiError> {
        let expected = self.request.namespace.clone().unwrap_or_default();
        let metadata = object.metadata_mut();
        let given = metadata.namespace.clone().unwrap_or_default();
        if !given.is_empty() && given != expected {
            return Err(ApiError::bad_request(
                "the object names another namespace than the address",
            ));
        }
        metadata.namespace = Some(expected).filter(|namespace| !namespace.is_empty());
        Ok(())
    }

    fn answer_written(&self, written: &Written) -> Result<Response, ApiError> {
        let code = if written.created { 201 } else { 200 };
        let text = self.presentation.one(&written.object).map_err(unreadable)?;
        let mut response = answer::encoded(code, text);
        answer::warn(&mut response, &written.warnings);
        Ok(response)
    }
}
