//! Validation of Pod spec updates.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::Value;

use super::{FieldError, path::Path};

const SPEC: Path<'static> = Path::new("spec");

/// Whether two specs are semantically equal: zero, false and empty values equal absent ones.
pub(crate) fn same_spec(one: &PodSpec, other: &PodSpec) -> bool {
    one == other || normalized(one) == normalized(other)
}

fn normalized(spec: &PodSpec) -> Option<Value> {
    serde_json::to_value(spec).ok().and_then(drop_zero_values)
}

fn drop_zero_values(value: Value) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Number(number) => (number.as_i64() != Some(0)).then_some(Value::Number(number)),
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(items) => {
            let items: Vec<Value> = items
                .into_iter()
                .map(|item| drop_zero_values(item).unwrap_or(Value::Null))
                .collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(fields) => {
            let fields: serde_json::Map<_, _> = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, drop_zero_values(value)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Bool(true) => Some(value),
    }
}

/// Validates a spec update. Images, the deadline and tolerations may change; scheduling gates may be removed.
pub(super) fn validate(new: &PodSpec, old: &PodSpec) -> Vec<FieldError> {
    let init = |spec: &PodSpec| spec.init_containers.clone().unwrap_or_default();
    for (field, is, was) in [
        ("containers", new.containers.len(), old.containers.len()),
        ("initContainers", init(new).len(), init(old).len()),
    ] {
        if is != was {
            let path = SPEC.child(field);
            return vec![FieldError::forbidden(&path, "cannot be added or removed")];
        }
    }
    let mut errors = validate_changed_lists(new, old);
    let mut rest = new.clone();
    for (container, was) in rest.containers.iter_mut().zip(&old.containers) {
        container.image.clone_from(&was.image);
    }
    for (container, was) in rest.init_containers.iter_mut().flatten().zip(init(old)) {
        container.image.clone_from(&was.image);
    }
    rest.active_deadline_seconds = old.active_deadline_seconds;
    rest.scheduling_gates.clone_from(&old.scheduling_gates);
    rest.tolerations.clone_from(&old.tolerations);
    if !same_spec(&rest, old) {
        let detail = "only images, activeDeadlineSeconds and added tolerations can change";
        errors.push(FieldError::forbidden(&SPEC, detail));
    }
    errors
}

fn validate_changed_lists(new: &PodSpec, old: &PodSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = SPEC.child("activeDeadlineSeconds");
    match (new.active_deadline_seconds, old.active_deadline_seconds) {
        (Some(is), Some(was)) if is > was => {
            errors.push(FieldError::invalid(&path, is, "can only become shorter"));
        }
        (None, Some(_)) => errors.push(FieldError::invalid(&path, Value::Null, "cannot be taken away")),
        _ => {}
    }
    let tolerations_kept = old.tolerations.iter().flatten().all(|was| {
        new.tolerations.iter().flatten().any(|is| {
            let mut was = was.clone();
            was.toleration_seconds = is.toleration_seconds;
            was == *is
        })
    });
    if !tolerations_kept {
        errors.push(FieldError::forbidden(&SPEC.child("tolerations"), "can only be added"));
    }
    let path = SPEC.child("schedulingGates");
    for (i, gate) in new.scheduling_gates.iter().flatten().enumerate() {
        if !old.scheduling_gates.iter().flatten().any(|was| was.name == gate.name) {
            let path = path.index(i);
            errors.push(FieldError::forbidden(&path.child("name"), "can only be removed"));
        }
    }
    errors
}
