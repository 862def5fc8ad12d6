//! The resources that the server stores.

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Endpoints, Event, Namespace, Node, Pod, Service},
    discovery::v1::EndpointSlice,
    events::v1::Event as EventsV1Event,
};
use serde_json::Value;

use crate::{
    any_kind::AnyKind,
    kinds::{Kind, events_v1},
    object::{Fields, Object},
    request::Verb,
    validation::FieldError,
};

/// A table of the store. The two resources for events share one table.
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

/// One resource: names, verbs, and the codec of its objects.
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// Subresources and their verbs.
    pub(crate) subresources: &'static [(&'static str, &'static [Verb])],
    /// Whether `deletecollection` is supported.
    pub(crate) delete_collection: bool,
    /// Whether a delete request returns the object instead of a `Status`.
    pub(crate) returns_deleted_object: bool,
    /// Fields that are null instead of absent when they are empty (R148).
    pub(crate) null_when_empty: &'static [&'static str],
    /// JSON pointers of the `MicroTime` fields, which must have six fractional digits.
    pub(crate) micro_times: &'static [&'static str],
    /// A `Warning` for every request, because the resource is deprecated.
    pub(crate) deprecation: Option<&'static str>,
    pub(crate) table: Table,
    pub(crate) codec: Codec,
}

/// Decoding, validation and update rules of a resource.
pub(crate) struct Codec {
    /// Decodes an object of this resource as the storage kind.
    pub(crate) decode: fn(&[u8]) -> serde_json::Result<Box<dyn AnyKind>>,
    /// Decodes and encodes an object, which drops unknown fields.
    pub(crate) known_fields: fn(&[u8]) -> serde_json::Result<Value>,
    /// Whether a PUT creates a missing object.
    pub(crate) update_creates: fn() -> bool,
    /// Whether a PUT may omit the resourceVersion (R142).
    pub(crate) update_is_unconditional: fn() -> bool,
    /// Validates a new object.
    pub(crate) validate: fn(&dyn AnyKind) -> Vec<FieldError>,
    /// Validates an update. The arguments are the new and the old object.
    pub(crate) validate_update: fn(&dyn AnyKind, &dyn AnyKind) -> Vec<FieldError>,
    /// The conversion, for a resource that is not the storage kind of its table.
    pub(crate) view: Option<View>,
}

/// Conversion from the storage kind of a table to another resource.
pub(crate) struct View {
    pub(crate) convert: fn(&Resource, &Object) -> serde_json::Result<Fields>,
    /// Names of selectable fields in this resource and in the storage kind.
    pub(crate) selectable: &'static [(&'static str, &'static str)],
}

impl Codec {
    const fn of<K: Kind>() -> Self {
        Self {
            decode: decode::<K>,
            known_fields: |text| serde_json::to_value(serde_json::from_slice::<K>(text)?),
            update_creates: K::update_creates,
            update_is_unconditional: K::update_is_unconditional,
            validate: |object| object.validate(),
            validate_update: |new, old| new.validate_update(old),
            view: None,
        }
    }

    /// Events of `events.k8s.io`, with stricter validation than the core group.
    const EVENTS_V1: Self = Self {
        decode: |text| Ok(Box::new(events_v1::from_events_v1(serde_json::from_slice(text)?))),
        known_fields: |text| serde_json::to_value(serde_json::from_slice::<EventsV1Event>(text)?),
        validate: |object| {
            let event = object.as_any().downcast_ref();
            event.map(events_v1::validate).unwrap_or_default()
        },
        validate_update: |new, old| match (new.as_any().downcast_ref(), old.as_any().downcast_ref()) {
            (Some(new), Some(old)) => events_v1::validate_update(new, old),
            _ => Vec::new(),
        },
        view: Some(View {
            convert: |resource, object| {
                let event = serde_json::from_str::<Event>(&serde_json::to_string(&object.fields)?)?;
                Fields::new(&serde_json::to_string(&events_v1::to_events_v1(event))?, resource)
            },
            selectable: &events_v1::FIELD_NAMES,
        }),
        ..Self::of::<Event>()
    };
}

fn decode<K: Kind>(text: &[u8]) -> serde_json::Result<Box<dyn AnyKind>> {
    Ok(Box::new(serde_json::from_slice::<K>(text)?))
}

const STATUS: (&str, &[Verb]) = ("status", &[Verb::Get, Verb::Patch, Verb::Update]);

const EVENT_TIMES: [&str; 2] = ["/eventTime", "/series/lastObservedTime"];

/// A resource with the common settings of the core group.
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
        returns_deleted_object: false,
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
        returns_deleted_object: true,
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
        returns_deleted_object: true,
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
        returns_deleted_object: true,
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

/// All stored resources.
pub(crate) fn all() -> &'static [Resource] {
    &RESOURCES
}

/// The resource with a group, version and plural name.
pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|resource| resource.group == group && resource.version == version && resource.plural == plural)
}

/// The resource whose kind is the storage kind of a table.
pub(crate) fn stored_in(table: Table) -> &'static Resource {
    // `RESOURCES` has the order of `Table`; a second view of a table comes last.
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
    fn every_table_has_a_storage_kind() {
        for table in Table::ALL {
            assert_eq!(stored_in(table).table, table);
            assert!(stored_in(table).codec.view.is_none());
        }
    }
}
