//! GET: one object, or a list in pages.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;

use super::{Call, options};
use crate::{
    answer::{self, Response},
    object::Object,
    selectors::Selector,
    status::ApiError,
    store::{Store, unreadable},
    validation::{FieldError, FieldErrorKind},
};

pub(super) fn get(call: &Call<'_>) -> Result<Response, ApiError> {
    let version = call.query.get("resourceVersion").unwrap_or_default();
    let version = parse_version(version).map_err(ApiError::internal)?;
    let store = call.store();
    if version > store.revision {
        return Err(ApiError::too_large_version(version, store.revision));
    }
    let object = call.stored(&store)?;
    drop(store);
    Ok(answer::encoded(
        200,
        call.presentation.one(&object).map_err(unreadable)?,
    ))
}

/// Reads a resourceVersion; none is 0.
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
    let metadata = options.cut(&mut objects, revision, selector.takes_all());
    Ok(answer::encoded(
        200,
        call.presentation.list(&objects, &metadata).map_err(unreadable)?,
    ))
}

/// Which version of a list is asked for, and how much of it.
struct ListOptions {
    /// `None` is everything.
    limit: Option<usize>,
    version: u64,
    exact: bool,
    token: Option<Token>,
}

/// Where a page ended. It is opaque to clients.
struct Token {
    /// The version of the whole list; 0 for what remains of a list whose version is gone.
    revision: u64,
    after: String,
}

impl ListOptions {
    fn parse(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let version = query.get("resourceVersion").unwrap_or_default();
        let rule = query.get("resourceVersionMatch").unwrap_or_default();
        let limit = options::number(query, "limit")?.and_then(|limit| usize::try_from(limit).ok());
        // From version 0 on, the real server answers out of its cache, and there all at once.
        let limit = limit.filter(|limit| *limit > 0 && version != "0");
        let token = query.get("continue").filter(|token| !token.is_empty());
        if query.get("sendInitialEvents").is_some() {
            return Err(forbidden("sendInitialEvents", "means nothing to a list"));
        }
        check_match(version, rule, token.is_some())?;
        let number = parse_version(version)
            .map_err(|error| ApiError::bad_request(format!("invalid resource version: {error}")))?;
        let token = token.map(Token::parse).transpose()?;
        if token.is_some() && number > 0 {
            return Err(ApiError::bad_request(
                "the continue token says the version already: leave resourceVersion out",
            ));
        }
        Ok(Self {
            limit,
            version: number,
            // Pages of a given version have always been pages of exactly this version.
            exact: rule == "Exact" || (rule.is_empty() && limit.is_some() && number > 0),
            token,
        })
    }

    /// The revision to list at, and the key to list from.
    fn position(&self, call: &Call<'_>, store: &Store) -> Result<(u64, Option<String>), ApiError> {
        let oldest = store.oldest(call.resource.table);
        if let Some(token) = &self.token {
            let after = Some(token.after.clone());
            return match token.revision {
                0 => Ok((store.revision, after)),
                revision if revision < oldest => {
                    let message = "The continue token is too old for a consistent list. Start again without it, or go \
                                   on inconsistently with the token in this answer.";
                    let token = Token {
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

    /// Cuts the list to a page. How many are left is only said where it needs no counting.
    fn cut(&self, objects: &mut Vec<Arc<Object>>, revision: u64, countable: bool) -> ListMeta {
        let mut metadata = ListMeta {
            resource_version: Some(revision.to_string()),
            ..ListMeta::default()
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        if objects.len() > limit {
            let left = objects.len() - limit;
            objects.truncate(limit);
            let after = objects.last().map(|object| object.key()).unwrap_or_default();
            metadata.continue_ = Some(Token { revision, after }.to_string());
            metadata.remaining_item_count = i64::try_from(left).ok().filter(|_| countable);
        }
        metadata
    }
}

impl Token {
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

impl std::fmt::Display for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.revision, self.after)
    }
}

fn check_match(version: &str, rule: &str, continues: bool) -> Result<(), ApiError> {
    let field = "resourceVersionMatch";
    match rule {
        "Exact" | "NotOlderThan" if continues => Err(forbidden(field, "cannot go with continue")),
        "Exact" | "NotOlderThan" if version.is_empty() => Err(forbidden(field, "needs a resourceVersion")),
        "Exact" if version == "0" => Err(forbidden(field, "no list is exactly at resourceVersion 0")),
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

/// A refusal of an option of a list or a watch.
pub(super) fn forbidden(field: &str, detail: &str) -> ApiError {
    ApiError::invalid_options(
        "ListOptions",
        FieldError {
            field: field.into(),
            kind: FieldErrorKind::Forbidden,
            detail: detail.into(),
        },
    )
}
