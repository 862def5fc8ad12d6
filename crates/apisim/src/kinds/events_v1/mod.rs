//! Conversion of Events between the core group and `events.k8s.io/v1`.

use k8s_openapi::{
    api::{
        core::v1::{Event, EventSeries},
        events::v1 as events,
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};

use crate::validation::{FieldError, event};

/// Converts a stored Event to `events.k8s.io/v1`.
pub(crate) fn to_events_v1(event: Event) -> events::Event {
    events::Event {
        action: event.action,
        deprecated_count: event.count,
        deprecated_first_timestamp: event.first_timestamp,
        deprecated_last_timestamp: event.last_timestamp,
        deprecated_source: event.source,
        event_time: event.event_time,
        metadata: event.metadata,
        note: event.message,
        reason: event.reason,
        regarding: Some(event.involved_object),
        related: event.related,
        reporting_controller: event.reporting_component.filter(|name| !name.is_empty()),
        reporting_instance: event.reporting_instance.filter(|name| !name.is_empty()),
        series: event.series.map(|series| events::EventSeries {
            count: series.count.unwrap_or_default(),
            last_observed_time: series.last_observed_time.unwrap_or(NEVER),
        }),
        type_: event.type_,
    }
}

/// Converts an Event of `events.k8s.io/v1` to the storage kind.
pub(crate) fn from_events_v1(event: events::Event) -> Event {
    Event {
        action: event.action,
        count: event.deprecated_count,
        event_time: event.event_time,
        first_timestamp: event.deprecated_first_timestamp,
        involved_object: event.regarding.unwrap_or_default(),
        last_timestamp: event.deprecated_last_timestamp,
        message: event.note,
        metadata: event.metadata,
        reason: event.reason,
        related: event.related,
        reporting_component: event.reporting_controller,
        reporting_instance: event.reporting_instance,
        series: event.series.map(|series| EventSeries {
            count: Some(series.count),
            last_observed_time: Some(series.last_observed_time).filter(|time| *time != NEVER),
        }),
        source: event.deprecated_source,
        type_: event.type_,
    }
}

/// Validates a new Event of `events.k8s.io/v1`, which is stricter than the core group.
pub(crate) fn validate(event: &Event) -> Vec<FieldError> {
    event::validate_events_v1(event)
}

/// Validates an update of an Event of `events.k8s.io/v1`.
pub(crate) fn validate_update(new: &Event, old: &Event) -> Vec<FieldError> {
    event::validate_events_v1_update(new, old)
}

/// The selectable fields of `events.k8s.io/v1` and their names in the storage kind.
pub(crate) const FIELD_NAMES: [(&str, &str); 8] = [
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reportingController", "reportingComponent"),
];

/// The value of an absent time in a required field.
const NEVER: MicroTime = MicroTime(Timestamp::UNIX_EPOCH);

#[cfg(test)]
mod tests;
