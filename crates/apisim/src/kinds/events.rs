//! The other face of Events: the group `events.k8s.io`.

use k8s_openapi::{
    api::{
        core::v1::{Event, EventSeries},
        events::v1 as events,
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};

use crate::validation::{FieldError, event};

/// An Event as clients of `events.k8s.io/v1` see it.
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

/// An Event that a client of `events.k8s.io/v1` wrote, as it is stored.
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

/// What is wrong with an Event that came through `events.k8s.io/v1`, which asks for more than the core group.
pub(crate) fn validate(event: &Event) -> Vec<FieldError> {
    event::validate_events_v1(event)
}

/// What is wrong with the change of an Event that came through `events.k8s.io/v1`.
pub(crate) fn validate_update(new: &Event, old: &Event) -> Vec<FieldError> {
    event::validate_events_v1_update(new, old)
}

/// The field selectors of `events.k8s.io/v1`, by the names that the stored form has for them.
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

/// What an absent time is read as where the field must have one.
const NEVER: MicroTime = MicroTime(Timestamp::UNIX_EPOCH);

#[cfg(test)]
mod tests;
