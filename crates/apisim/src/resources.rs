//! The table of everything the server serves.

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Endpoints, Event, Namespace, Node, Pod, Service},
    discovery::v1::EndpointSlice,
    events::v1::Event as EventsV1Event,
};
use serde_json::Value;

use crate::{
    erased::AnyKind,
    kinds::{Kind, events},
    object::{Fields, Object},
    request::Verb,
    validation::FieldError,
};

/// Where objects are kept. Two resources can share one place (events).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Table {
    Namespaces,
    Nodes,
    Services,
    Pods,
    Endpoints,
    EndpointSlices,
    Leases,
    Events,
}

impl Table {
    pub(crate) const ALL: [Self; 8] = [
        Self::Namespaces,
        Self::Nodes,
        Self::Services,
        Self::Pods,
        Self::Endpoints,
        Self::EndpointSlices,
        Self::Leases,
        Self::Events,
    ];
}

/// One resource: its names, what can be done to it, and how its objects are read and shown.
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// Parts with an address of their own, and what can be done to them.
    pub(crate) subresources: &'static [(&'static str, &'static [Verb])],
    /// Whether the whole collection can be deleted at once.
    pub(crate) delete_collection: bool,
    /// Whether a deletion answers the object rather than a `Status`.
    pub(crate) answers_deleted: bool,
    /// Fields that are null, not absent, when there is nothing in them (R148).
    pub(crate) null_when_empty: &'static [&'static str],
    /// Where objects carry times to the microsecond, which must be written with all six digits.
    pub(crate) micro_times: &'static [&'static str],
    /// What every client is told, whatever it asks for.
    pub(crate) deprecation: Option<&'static str>,
    pub(crate) table: Table,
    pub(crate) codec: Codec,
}

/// How objects of a resource come in and go out.
pub(crate) struct Codec {
    /// Reads an object in the form of this resource into the form in which it is kept.
    pub(crate) decode: fn(&[u8]) -> serde_json::Result<Box<dyn AnyKind>>,
    /// Reads an object and writes it again: what remains is what this server knows.
    pub(crate) known: fn(&[u8]) -> serde_json::Result<Value>,
    /// Whether a PUT creates what is not there.
    pub(crate) update_creates: fn() -> bool,
    /// Whether a PUT may leave the resourceVersion out (R142).
    pub(crate) update_is_unconditional: fn() -> bool,
    /// What is wrong with a new object.
    pub(crate) errors: fn(&dyn AnyKind) -> Vec<FieldError>,
    /// What is wrong with a changed object, which comes first.
    pub(crate) update_errors: fn(&dyn AnyKind, &dyn AnyKind) -> Vec<FieldError>,
    /// For a resource that shows objects in another form than they are kept in.
    pub(crate) view: Option<View>,
}

/// Another form of objects that are kept elsewhere.
pub(crate) struct View {
    pub(crate) show: fn(&Resource, &Object) -> serde_json::Result<Fields>,
    /// Names of selectable fields in this form and in the kept one.
    pub(crate) selectable: &'static [(&'static str, &'static str)],
}

impl Codec {
    const fn of<K: Kind>() -> Self {
        Self {
            decode: decode::<K>,
            known: |text| serde_json::to_value(serde_json::from_slice::<K>(text)?),
            update_creates: K::update_creates,
            update_is_unconditional: K::update_is_unconditional,
            errors: |object| object.errors(),
            update_errors: |new, old| new.update_errors(old),
            view: None,
        }
    }

    /// Events as `events.k8s.io` sees them: it asks for more than the core group.
    const EVENTS_V1: Self = Self {
        decode: |text| Ok(Box::new(events::from_events_v1(serde_json::from_slice(text)?))),
        known: |text| serde_json::to_value(serde_json::from_slice::<EventsV1Event>(text)?),
        errors: |object| object.as_any().downcast_ref().map(events::validate).unwrap_or_default(),
        update_errors: |new, old| match (new.as_any().downcast_ref(), old.as_any().downcast_ref()) {
            (Some(new), Some(old)) => events::validate_update(new, old),
            _ => Vec::new(),
        },
        view: Some(View {
            show: |resource, object| {
                let event = serde_json::from_str::<Event>(&serde_json::to_string(&object.fields)?)?;
                Fields::new(&serde_json::to_string(&events::to_events_v1(event))?, resource)
            },
            selectable: &events::FIELD_NAMES,
        }),
        ..Self::of::<Event>()
    };
}

fn decode<K: Kind>(text: &[u8]) -> serde_json::Result<Box<dyn AnyKind>> {
    Ok(Box::new(serde_json::from_slice::<K>(text)?))
}

const STATUS: (&str, &[Verb]) = ("status", &[Verb::Get, Verb::Patch, Verb::Update]);

const EVENT_TIMES: [&str; 2] = ["/eventTime", "/series/lastObservedTime"];

/// What most resources of the core group have in common.
const fn core(
    table: Table,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    codec: Codec,
) -> Resource {
    Resource {
        group: "",
        version: "v1",
        plural,
        singular,
        kind,
        short_names: &[],
        categories: &[],
        namespaced: true,
        subresources: &[],
        delete_collection: true,
        answers_deleted: false,
        null_when_empty: &[],
        micro_times: &[],
        deprecation: None,
        table,
        codec,
    }
}

static RESOURCES: [Resource; 9] = [
    Resource {
        short_names: &["ns"],
        namespaced: false,
        subresources: &[("finalize", &[Verb::Update]), STATUS],
        delete_collection: false,
        answers_deleted: true,
        ..core(
            Table::Namespaces,
            "namespaces",
            "namespace",
            "Namespace",
            Codec::of::<Namespace>(),
        )
    },
    Resource {
        short_names: &["no"],
        namespaced: false,
        subresources: &[STATUS],
        ..core(Table::Nodes, "nodes", "node", "Node", Codec::of::<Node>())
    },
    Resource {
        short_names: &["svc"],
        categories: &["all"],
        subresources: &[STATUS],
        answers_deleted: true,
        ..core(
            Table::Services,
            "services",
            "service",
            "Service",
            Codec::of::<Service>(),
        )
    },
    Resource {
        short_names: &["po"],
        categories: &["all"],
        subresources: &[STATUS],
        answers_deleted: true,
        ..core(Table::Pods, "pods", "pod", "Pod", Codec::of::<Pod>())
    },
    Resource {
        short_names: &["ep"],
        deprecation: Some("v1 Endpoints is deprecated: use discovery.k8s.io/v1 EndpointSlice"),
        ..core(
            Table::Endpoints,
            "endpoints",
            "endpoints",
            "Endpoints",
            Codec::of::<Endpoints>(),
        )
    },
    Resource {
        group: "discovery.k8s.io",
        null_when_empty: &["endpoints", "ports"],
        ..core(
            Table::EndpointSlices,
            "endpointslices",
            "endpointslice",
            "EndpointSlice",
            Codec::of::<EndpointSlice>(),
        )
    },
    Resource {
        group: "coordination.k8s.io",
        micro_times: &["/spec/acquireTime", "/spec/renewTime"],
        ..core(Table::Leases, "leases", "lease", "Lease", Codec::of::<Lease>())
    },
    Resource {
        short_names: &["ev"],
        null_when_empty: &["eventTime", "firstTimestamp", "lastTimestamp"],
        micro_times: &EVENT_TIMES,
        ..core(Table::Events, "events", "event", "Event", Codec::of::<Event>())
    },
    Resource {
        group: "events.k8s.io",
        short_names: &["ev"],
        null_when_empty: &["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"],
        micro_times: &EVENT_TIMES,
        ..core(Table::Events, "events", "event", "Event", Codec::EVENTS_V1)
    },
];

/// Everything that is stored, in the order in which discovery lists it.
pub(crate) fn all() -> &'static [Resource] {
    &RESOURCES
}

/// The resource at an address.
pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|resource| resource.group == group && resource.version == version && resource.plural == plural)
}

/// The resource in whose form the objects of a table are kept.
pub(crate) fn stored_in(table: Table) -> &'static Resource {
    // Resources stand in the order of tables; a second view of a table comes last.
    &RESOURCES[table as usize]
}

impl Resource {
    /// `v1`, `discovery.k8s.io/v1`
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods`, `endpointslices.discovery.k8s.io`
    pub(crate) fn qualified(&self) -> String {
        qualify(self.plural, self.group)
    }

    /// `Pod`, `EndpointSlice.discovery.k8s.io`
    pub(crate) fn qualified_kind(&self) -> String {
        qualify(self.kind, self.group)
    }
}

fn qualify(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_the_resource_it_is_kept_as() {
        for table in Table::ALL {
            assert_eq!(stored_in(table).table, table);
            assert!(stored_in(table).codec.view.is_none());
        }
    }
}
