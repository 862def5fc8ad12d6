//! GET: read one object, or a list with paging.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;

use super::{Call, options};
use crate::{
    object::Object,
    response::{self, Response},
    selectors::Selector,
    status::ApiError,
    store::{Store, codec_error},
    validation::{FieldError, FieldErrorKind},
};

pub(super) fn get(call: &Call<'_>) -> Result<Response, ApiError> {
    let version = call.query.get("resourceVersion").unwrap_or_default();
    let version = parse_version(version).map_err(ApiError::internal)?;
    let store = call.store();
    if version > store.revision {
        return Err(ApiError::too_large_version(version, store.revision));
    }
    let object = call.existing(&store)?;
    drop(store);
    Ok(response::encoded(
        200,
        call.negotiated.object(&object).map_err(codec_error)?,
    ))
}

/// Parses a resourceVersion; an empty one is 0.
pub(super) fn parse_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse()
        .map_err(|_| format!("resourceVersion: Invalid value: {text:?}: not a number"))
}

pub(super) fn list(call: &Call<'_>) -> Result<Response, ApiError> {
    let selector = Selector::parse(call.resource, call.request.namespace.as_deref(), &call.query)?;
    let options = ListOptions::parse(call)?;
    let store = call.store();
    let (revision, after) = options.position(call, &store)?;
    let mut objects = store.snapshot(call.resource.table, &selector.key_prefix(), revision);
    drop(store);
    objects.retain(|object| selector.matches(object) && after.as_deref().is_none_or(|after| *object.key() > *after));
    let metadata = options.paginate(&mut objects, revision, selector.matches_everything());
    Ok(response::encoded(
        200,
        call.negotiated.list(&objects, &metadata).map_err(codec_error)?,
    ))
}

/// Options of a list request.
struct ListOptions {
    /// `None` for no limit.
    limit: Option<usize>,
    version: u64,
    exact: bool,
    token: Option<ContinueToken>,
}

/// The continue token, which is opaque to clients.
struct ContinueToken {
    /// The revision of the list; 0 to continue inconsistently at the current revision.
    revision: u64,
    /// The last key of the previous page.
    after: String,
}

impl ListOptions {
    fn parse(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let version = query.get("resourceVersion").unwrap_or_default();
        let version_match = query.get("resourceVersionMatch").unwrap_or_default();
        let limit = options::number(query, "limit")?.and_then(|limit| usize::try_from(limit).ok());
        // kube-apiserver serves resourceVersion 0 from its cache and ignores the limit there.
        let limit = limit.filter(|limit| *limit > 0 && version != "0");
        let token = query.get("continue").filter(|token| !token.is_empty());
        if query.get("sendInitialEvents").is_some() {
            return Err(forbidden_option("sendInitialEvents", "means nothing to a list"));
        }
        check_version_match(version, version_match, token.is_some())?;
        let number = parse_version(version)
            .map_err(|error| ApiError::bad_request(format!("invalid resource version: {error}")))?;
        let token = token.map(ContinueToken::parse).transpose()?;
        if token.is_some() && number > 0 {
            return Err(ApiError::bad_request(
                "resourceVersion cannot be combined with continue",
            ));
        }
        Ok(Self {
            limit,
            version: number,
            // A limit with a resourceVersion implies an exact match.
            exact: version_match == "Exact" || (version_match.is_empty() && limit.is_some() && number > 0),
            token,
        })
    }

    /// The revision of the list, and the key after which the page starts.
    fn position(&self, call: &Call<'_>, store: &Store) -> Result<(u64, Option<String>), ApiError> {
        let oldest = store.oldest_revision(call.resource.table);
        if let Some(token) = &self.token {
            let after = Some(token.after.clone());
            return match token.revision {
                0 => Ok((store.revision, after)),
                revision if revision < oldest => {
                    let message = "The continue token is too old for a consistent list. Start again without it, or go \
                                   on inconsistently with the token in this answer.";
                    let token = ContinueToken {
                        revision: 0,
                        after: token.after.clone(),
                    };
                    Err(ApiError::expired(message).with_continue(token.to_string()))
                }
                revision => Ok((revision, after)),
            };
        }
        if self.version > store.revision {
            Err(ApiError::too_large_version(self.version, store.revision))
        } else if !self.exact {
            Ok((store.revision, None))
        } else if self.version < oldest {
            Err(ApiError::expired("the list at this resourceVersion is gone"))
        } else {
            Ok((self.version, None))
        }
    }

    /// Truncates the list to a page. `remainingItemCount` is only set for lists without selectors.
    fn paginate(&self, objects: &mut Vec<Arc<Object>>, revision: u64, countable: bool) -> ListMeta {
        let mut metadata = ListMeta {
            resource_version: Some(revision.to_string()),
            ..ListMeta::default()
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        if objects.len() > limit {
            let remaining = objects.len() - limit;
            objects.truncate(limit);
            let after = objects.last().map(|object| object.key()).unwrap_or_default();
            metadata.continue_ = Some(ContinueToken { revision, after }.to_string());
            metadata.remaining_item_count = i64::try_from(remaining).ok().filter(|_| countable);
        }
        metadata
    }
}

impl ContinueToken {
    fn parse(text: &str) -> Result<Self, ApiError> {
        let parts = text
            .split_once(':')
            .and_then(|(revision, after)| Some((revision.parse().ok()?, after)));
        let (revision, after) = parts.ok_or_else(|| ApiError::bad_request("invalid continue token"))?;
        Ok(Self {
            revision,
            after: after.to_owned(),
        })
    }
}

impl std::fmt::Display for ContinueToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.revision, self.after)
    }
}

fn check_version_match(version: &str, version_match: &str, continues: bool) -> Result<(), ApiError> {
    let field = "resourceVersionMatch";
    match version_match {
        "Exact" | "NotOlderThan" if continues => Err(forbidden_option(field, "cannot go with continue")),
        "Exact" | "NotOlderThan" if version.is_empty() => Err(forbidden_option(field, "needs a resourceVersion")),
        "Exact" if version == "0" => Err(forbidden_option(field, "no list is exactly at resourceVersion 0")),
        "" | "Exact" | "NotOlderThan" => Ok(()),
        other => Err(ApiError::invalid_options(
            "ListOptions",
            FieldError {
                field: field.into(),
                kind: FieldErrorKind::NotSupported(serde_json::Value::from(other).to_string()),
                detail: "supported values: \"Exact\", \"NotOlderThan\", \"\"".into(),
            },
        )),
    }
}

/// The error for a forbidden option of a list or watch.
pub(super) fn forbidden_option(field: &str, detail: &str) -> ApiError {
    ApiError::invalid_options(
        "ListOptions",
        FieldError {
            field: field.into(),
            kind: FieldErrorKind::Forbidden,
            detail: detail.into(),
        },
    )
}
