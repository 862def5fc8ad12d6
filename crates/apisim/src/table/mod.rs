//! Objects as rows of a table, as `kubectl get` asks for them.

mod age;
mod cells;

use std::borrow::Borrow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    object::{Fields, Object, Typed},
    resources::{Resource, Table as Place},
};

/// A table of some objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Table<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: &'a ListMeta,
    column_definitions: Option<Vec<Column>>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    r#type: &'static str,
    format: &'static str,
    description: &'static str,
    /// Columns above 0 are only shown in wide output.
    priority: i32,
}

#[derive(Serialize)]
struct Row {
    cells: Vec<Value>,
    #[serde(serialize_with = "as_partial_metadata")]
    object: Fields,
}

const META: &str = "meta.k8s.io/v1";

/// Makes a table, with or without the description of its columns.
pub(crate) fn of<'a, O: Borrow<Object>>(
    resource: &Resource,
    objects: &[O],
    metadata: &'a ListMeta,
    with_columns: bool,
) -> serde_json::Result<Table<'a>> {
    let rows = objects.iter().map(|object| row(resource, object.borrow()));
    Ok(Table {
        kind: "Table",
        api_version: META,
        metadata,
        column_definitions: with_columns.then(|| columns(resource)),
        rows: rows.collect::<serde_json::Result<_>>()?,
    })
}

fn row(resource: &Resource, object: &Object) -> serde_json::Result<Row> {
    let value = serde_json::to_value(&object.fields)?;
    Ok(Row {
        cells: cells::of(resource.table, &value),
        object: object.fields.metadata_only(),
    })
}

fn as_partial_metadata<S: Serializer>(fields: &Fields, serializer: S) -> Result<S::Ok, S::Error> {
    let kind = "PartialObjectMetadata";
    let api_version = META;
    Typed {
        kind,
        api_version,
        fields,
    }
    .serialize(serializer)
}

fn columns(resource: &Resource) -> Vec<Column> {
    let (names, wide) = names(resource.table);
    let column = |name: &&'static str| Column {
        name,
        r#type: "string",
        format: if *name == "Name" { "name" } else { "" },
        description: "",
        priority: i32::from(wide.contains(name)),
    };
    names.iter().map(column).collect()
}

/// All columns, and those of them that only wide output shows.
#[rustfmt::skip]
fn names(place: Place) -> (&'static [&'static str], &'static [&'static str]) {
    match place {
        Place::Namespaces => (&["Name", "Status", "Age"], &[]),
        Place::Nodes => (
            &["Name", "Status", "Roles", "Age", "Version", "Internal-IP", "External-IP", "OS-Image", "Kernel-Version",
              "Container-Runtime"],
            &["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
        ),
        Place::Services => (
            &["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"],
            &["Selector"],
        ),
        Place::Pods => (
            &["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"],
            &["IP", "Node", "Nominated Node", "Readiness Gates"],
        ),
        Place::Endpoints => (&["Name", "Endpoints", "Age"], &[]),
        Place::EndpointSlices => (&["Name", "AddressType", "Ports", "Endpoints", "Age"], &[]),
        Place::Leases => (&["Name", "Holder", "Age"], &[]),
        Place::Events => (
            &["Last Seen", "Type", "Reason", "Object", "Subobject", "Source", "Message", "First Seen", "Count", "Name"],
            &["Subobject", "Source", "First Seen", "Count", "Name"],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::stored_in;

    #[test]
    fn every_row_has_a_cell_for_every_column() {
        for place in Place::ALL {
            let resource = stored_in(place);
            let cells = cells::of(place, &Value::Null);
            assert_eq!(cells.len(), columns(resource).len(), "{}", resource.plural);
        }
    }
}
