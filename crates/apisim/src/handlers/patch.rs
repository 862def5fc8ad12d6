//! PATCH: JSON patch, merge patch and strategic merge patch.

use serde_json::Value;

use super::{Call, options, strategic_merge, update};
use crate::{
    any_kind::AnyKind,
    object::Object,
    response::Response,
    status::ApiError,
    store::codec_error,
    validation::{FieldError, FieldErrorKind},
};

/// A decoded patch.
enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
}

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let patch = Patch::parse(call)?;
    let dry_run = options::dry_run(&call.query, "PatchOptions")?;
    let mut store = call.store();
    let existing = call.existing(&store)?;
    let mut object = apply(call, &patch, &existing)?;
    update::check_name(call, &*object)?;
    call.set_namespace(&mut *object)?;
    let result = update::replace(&mut store, call, object, &existing, dry_run)?;
    call.write_response(&result)
}

impl Patch {
    fn parse(call: &Call<'_>) -> Result<Self, ApiError> {
        let undecodable = |error| ApiError::bad_request(format!("error decoding patch: {error}"));
        let object = || {
            let patch: serde_json::Map<String, Value> = serde_json::from_slice(&call.body).map_err(undecodable)?;
            Ok(Value::Object(patch))
        };
        match call.media_type() {
            "application/json-patch+json" => {
                let operations: Vec<Value> = serde_json::from_slice(&call.body).map_err(undecodable)?;
                let patch = serde_json::from_value(Value::Array(operations));
                patch.map(Self::Json).map_err(|_| ApiError::patch_does_not_apply())
            }
            "application/merge-patch+json" => object().map(Self::Merge),
            "application/strategic-merge-patch+json" => object().map(Self::Strategic),
            _ => Err(ApiError::unsupported_patch()),
        }
    }
}

/// Applies a patch to the existing object.
fn apply(call: &Call<'_>, patch: &Patch, existing: &Object) -> Result<Box<dyn AnyKind>, ApiError> {
    let mut document = call.negotiated.full(existing).map_err(codec_error)?;
    match patch {
        Patch::Json(patch) => {
            json_patch::patch(&mut document, patch).map_err(|_| ApiError::patch_does_not_apply())?;
        }
        Patch::Merge(patch) => json_patch::merge(&mut document, patch),
        Patch::Strategic(patch) => {
            strategic_merge::merge(&mut document, patch);
            // The kind comes from the URL, not from the patch.
            document["kind"] = call.resource.kind.into();
            document["apiVersion"] = call.resource.api_version().into();
        }
    }
    let text = serde_json::to_vec(&document).map_err(codec_error)?;
    (call.resource.codec.decode)(&text).map_err(|error| {
        let error = FieldError {
            field: "patch".into(),
            kind: FieldErrorKind::Invalid(Value::from(String::from_utf8_lossy(&text)).to_string()),
            detail: error.to_string(),
        };
        ApiError::invalid("", "", "", &[error])
    })
}
