//! The representation as a `Table`, which `kubectl get` requests.

mod age;
mod cells;

use std::borrow::Borrow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    object::{Fields, Object, Typed},
    resources::{Resource, Table as StoreTable},
};

/// A `meta.k8s.io/v1` Table.
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
    /// Columns with a priority above 0 are for wide output only.
    priority: i32,
}

#[derive(Serialize)]
struct Row {
    cells: Vec<Value>,
    #[serde(serialize_with = "as_partial_metadata")]
    object: Fields,
}

const META: &str = "meta.k8s.io/v1";

/// Creates a table, optionally with the column definitions.
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

/// All columns, and the columns for wide output only.
#[rustfmt::skip]
fn names(table: StoreTable) -> (&'static [&'static str], &'static [&'static str]) {
    match table {
        StoreTable::Namespaces => (&["Name", "Status", "Age"], &[]),
        StoreTable::Nodes => (
            &["Name", "Status", "Roles", "Age", "Version", "Internal-IP", "External-IP", "OS-Image", "Kernel-Version",
              "Container-Runtime"],
            &["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
        ),
        StoreTable::Services => (
            &["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"],
            &["Selector"],
        ),
        StoreTable::Pods => (
            &["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"],
            &["IP", "Node", "Nominated Node", "Readiness Gates"],
        ),
        StoreTable::Endpoints => (&["Name", "Endpoints", "Age"], &[]),
        StoreTable::EndpointSlices => (&["Name", "AddressType", "Ports", "Endpoints", "Age"], &[]),
        StoreTable::Leases => (&["Name", "Holder", "Age"], &[]),
        StoreTable::Events => (
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
        for table in StoreTable::ALL {
            let resource = stored_in(table);
            let cells = cells::of(table, &Value::Null);
            assert_eq!(cells.len(), columns(resource).len(), "{}", resource.plural);
        }
    }
}
