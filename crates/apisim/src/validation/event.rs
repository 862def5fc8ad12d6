//! Validation of Events of the core group and of `events.k8s.io`.

use k8s_openapi::api::core::v1::{Event, EventSeries};

use super::{FieldError, immutable, invalid_each, metadata::MetaRules, names, path::Path};

const META: MetaRules = MetaRules::new(true, names::dns1123_subdomain);
const TEXT_BYTES_MAX: usize = 128;
const NOTE_BYTES_MAX: usize = 1024;

/// Validates a new Event of the core group.
pub(crate) fn validate(event: &Event) -> Vec<FieldError> {
    META.created(&event.metadata, validate_both(event, "reportingComponent"))
}

/// Validates an update of an Event of the core group.
pub(crate) fn validate_update(new: &Event, old: &Event) -> Vec<FieldError> {
    META.updated(&new.metadata, &old.metadata, validate_both(new, "reportingComponent"))
}

/// Validates a new Event of `events.k8s.io`.
pub(crate) fn validate_events_v1(event: &Event) -> Vec<FieldError> {
    let mut errors = validate_both(event, "reportingController");
    errors.extend(META.validate(&event.metadata));
    errors.extend(validate_series(event.series.as_ref()));
    if event.event_time.is_none() {
        errors.push(FieldError::required(&Path::new("eventTime")));
    }
    if !matches!(event.type_.as_deref(), Some("Normal" | "Warning")) {
        errors.push(FieldError::invalid(&Path::new("type"), "", "must be Normal or Warning"));
    }
    let source = event
        .source
        .iter()
        .flat_map(|source| [&source.component, &source.host])
        .flatten();
    for (field, set) in [
        ("firstTimestamp", event.first_timestamp.is_some()),
        ("lastTimestamp", event.last_timestamp.is_some()),
        ("count", event.count.is_some_and(|count| count != 0)),
        ("source", source.into_iter().any(|text| !text.is_empty())),
    ] {
        if set {
            errors.push(FieldError::invalid(&Path::new(field), "", "may not be set"));
        }
    }
    META.created(&event.metadata, errors)
}

/// Validates an update of an Event of `events.k8s.io`: only the series may change.
pub(crate) fn validate_events_v1_update(new: &Event, old: &Event) -> Vec<FieldError> {
    let mut errors = validate_both(new, "reportingController");
    errors.extend(META.validate_update(&new.metadata, &old.metadata));
    if new.series != old.series {
        errors.extend(validate_series(new.series.as_ref()));
    }
    let field = Path::new;
    let changed = [
        immutable(&field("involvedObject"), &new.involved_object, &old.involved_object),
        immutable(&field("reason"), &new.reason, &old.reason),
        immutable(&field("message"), &new.message, &old.message),
        immutable(&field("source"), &new.source, &old.source),
        immutable(&field("firstTimestamp"), &new.first_timestamp, &old.first_timestamp),
        immutable(&field("lastTimestamp"), &new.last_timestamp, &old.last_timestamp),
        immutable(&field("count"), &new.count, &old.count),
        immutable(&field("reason"), &new.reason, &old.reason),
        immutable(&field("type"), &new.type_, &old.type_),
        immutable(&field("eventTime"), &new.event_time, &old.event_time),
        immutable(&field("action"), &new.action, &old.action),
        immutable(&field("related"), &new.related, &old.related),
        immutable(
            &field("reportingController"),
            &new.reporting_component,
            &old.reporting_component,
        ),
        immutable(
            &field("reportingInstance"),
            &new.reporting_instance,
            &old.reporting_instance,
        ),
    ];
    errors.extend(changed.into_iter().flatten());
    META.updated(&new.metadata, &old.metadata, errors)
}

fn validate_both(event: &Event, controller_field: &str) -> Vec<FieldError> {
    let mut errors: Vec<_> = validate_namespaces(event).into_iter().collect();
    if event.event_time.is_some() {
        errors.extend(validate_reporter(event, controller_field));
    }
    let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
    let messages = names::dns1123_subdomain(namespace);
    errors.extend(invalid_each(&Path::new("namespace"), namespace, messages));
    errors
}

/// An Event must be in the namespace of its object; events of cluster-scoped objects are in `default`.
fn validate_namespaces(event: &Event) -> Option<FieldError> {
    let own = event.metadata.namespace.as_deref().unwrap_or_default();
    let involved = event.involved_object.namespace.as_deref().unwrap_or_default();
    let valid = match (involved, event.event_time.is_some()) {
        ("", true) => ["default", "kube-system"].contains(&own),
        ("", false) => ["", "default"].contains(&own),
        (_, true) => true,
        (_, false) => involved == own,
    };
    let object = Path::new("involvedObject");
    let path = object.child("namespace");
    (!valid).then(|| FieldError::invalid(&path, involved, "must be the namespace of the event"))
}

fn validate_reporter(event: &Event, controller_field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = Path::new(controller_field);
    let controller = event.reporting_component.as_deref().unwrap_or_default();
    if controller.is_empty() {
        errors.push(FieldError::required(&path));
    }
    errors.extend(invalid_each(&path, controller, names::qualified_name(controller)));
    for (field, value) in [
        ("reportingInstance", &event.reporting_instance),
        ("action", &event.action),
        ("reason", &event.reason),
    ] {
        let value = value.as_deref().unwrap_or_default();
        if value.is_empty() {
            errors.push(FieldError::required(&Path::new(field)));
        }
        errors.extend(too_long(field, value, TEXT_BYTES_MAX));
    }
    let note = event.message.as_deref().unwrap_or_default();
    errors.extend(too_long("message", note, NOTE_BYTES_MAX));
    errors
}

fn too_long(field: &str, value: &str, bytes_max: usize) -> Option<FieldError> {
    let detail = || format!("may not be longer than {bytes_max} bytes");
    (value.len() > bytes_max).then(|| FieldError::invalid(&Path::new(field), "", detail()))
}

fn validate_series(series: Option<&EventSeries>) -> Vec<FieldError> {
    let Some(series) = series else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if series.count.unwrap_or_default() < 2 {
        errors.push(FieldError::invalid(
            &Path::new("series.count"),
            "",
            "must be at least 2",
        ));
    }
    if series.last_observed_time.is_none() {
        errors.push(FieldError::required(&Path::new("series.lastObservedTime")));
    }
    errors
}
