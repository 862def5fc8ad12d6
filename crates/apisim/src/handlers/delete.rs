//! DELETE: delete one object or a collection.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ListMeta, Status, StatusDetails};

use super::{Call, options};
use crate::{
    deletion::{self, DeleteOutcome},
    object::Object,
    response::{self, Response},
    selectors::Selector,
    status::ApiError,
    store::codec_error,
    validation::{FieldError, FieldErrorKind},
};

pub(super) fn one(call: &Call<'_>) -> Result<Response, ApiError> {
    let (options, dry_run) = parse(call)?;
    let mut store = call.store();
    let deleted = if dry_run {
        let existing = call.existing(&store)?;
        deletion::check_preconditions(call.resource, &existing, &options)?;
        DeleteOutcome::Removed(existing)
    } else {
        let deleted = deletion::delete(&mut store, call.resource, &call.key(), &options)?;
        store.process_deletions()?;
        deleted
    };
    drop(store);
    match deleted {
        DeleteOutcome::Removed(object) if !call.resource.returns_deleted_object => {
            response::json(200, &success(call, &object))
        }
        DeleteOutcome::Removed(object) | DeleteOutcome::Terminating(object) => Ok(response::encoded(
            200,
            call.negotiated.object(&object).map_err(codec_error)?,
        )),
    }
}

pub(super) fn collection(call: &Call<'_>) -> Result<Response, ApiError> {
    let (options, dry_run) = parse(call)?;
    let selector = Selector::parse(call.resource, call.request.namespace.as_deref(), &call.query)?;
    let mut store = call.store();
    let revision = store.revision;
    let mut objects = store.snapshot(call.resource.table, &selector.key_prefix(), revision);
    objects.retain(|object| selector.matches(object));
    if !dry_run {
        for object in &objects {
            deletion::delete(&mut store, call.resource, &object.key(), &options)?;
        }
        store.process_deletions()?;
    }
    drop(store);
    let metadata = ListMeta {
        resource_version: Some(revision.to_string()),
        ..ListMeta::default()
    };
    Ok(response::encoded(
        200,
        call.negotiated.list(&objects, &metadata).map_err(codec_error)?,
    ))
}

fn success(call: &Call<'_>, object: &Object) -> Status {
    Status {
        status: Some("Success".into()),
        details: Some(StatusDetails {
            name: Some(object.name.to_string()),
            group: Some(call.resource.group.to_owned()).filter(|group| !group.is_empty()),
            kind: Some(call.resource.plural.to_owned()),
            uid: Some(object.uid.to_string()),
            ..StatusDetails::default()
        }),
        ..Status::default()
    }
}

/// The options, from the body or the query, and whether it is a dry run.
fn parse(call: &Call<'_>) -> Result<(DeleteOptions, bool), ApiError> {
    let options = if call.body.is_empty() {
        from_query(call)?
    } else {
        from_body(call)?
    };
    let invalid = |error| Err(ApiError::invalid_options("DeleteOptions", error));
    let policy = options.propagation_policy.clone().unwrap_or_default();
    let error = |kind, detail: &str| FieldError {
        field: "propagationPolicy".into(),
        kind,
        detail: detail.into(),
    };
    if !matches!(policy.as_str(), "" | "Background" | "Foreground" | "Orphan") {
        let supported = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        return invalid(error(
            FieldErrorKind::NotSupported(serde_json::Value::from(policy).to_string()),
            supported,
        ));
    }
    if options.orphan_dependents.is_some() && options.propagation_policy.is_some() {
        let both = "not together with orphanDependents";
        return invalid(error(
            FieldErrorKind::Invalid(serde_json::Value::from(policy).to_string()),
            both,
        ));
    }
    let dry_run = match options.dry_run.as_deref() {
        None | Some([]) => false,
        Some([all]) if all == "All" => true,
        Some([other, ..]) => return invalid(options::unknown_dry_run(other)),
    };
    Ok((options, dry_run))
}

fn from_body(call: &Call<'_>) -> Result<DeleteOptions, ApiError> {
    if !matches!(call.media_type(), "" | "application/json") {
        return Err(ApiError::unsupported_body());
    }
    let options: DeleteOptions = serde_json::from_slice(&call.body)
        .map_err(|error| ApiError::bad_request(format!("the options are not readable: {error}")))?;
    match options.kind.as_deref() {
        None | Some("" | "DeleteOptions") => Ok(options),
        Some(kind) => Err(ApiError::bad_request(format!(
            "no kind {kind:?} is known as the options of a deletion"
        ))),
    }
}

fn from_query(call: &Call<'_>) -> Result<DeleteOptions, ApiError> {
    let text = |name| call.query.get(name).filter(|text| !text.is_empty());
    Ok(DeleteOptions {
        grace_period_seconds: options::number(&call.query, "gracePeriodSeconds")?,
        propagation_policy: text("propagationPolicy").map(Into::into),
        orphan_dependents: text("orphanDependents").map(|_| call.query.flag("orphanDependents")),
        dry_run: text("dryRun").map(|value| vec![value.to_owned()]),
        ..DeleteOptions::default()
    })
}
