//! Selection of objects by namespace, labelSelector and fieldSelector.

mod fields;
mod labels;

use crate::{object::Object, request::Query, resources::Resource, status::ApiError};

use fields::FieldSelector;
use labels::LabelSelector;

/// Namespace, label selector and field selector of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    /// `None` selects all namespaces.
    namespace: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// Parses the selectors of a request.
    pub(crate) fn parse(resource: &Resource, namespace: Option<&str>, query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            namespace: namespace.map(Into::into),
            labels: LabelSelector::parse(query.get("labelSelector").unwrap_or_default())
                .map_err(ApiError::bad_request)?,
            fields: FieldSelector::parse(resource, query.get("fieldSelector").unwrap_or_default())
                .map_err(ApiError::bad_request)?,
        })
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|namespace| namespace == &*object.namespace)
            && self.labels.matches(&object.labels)
            && self.fields.matches(object)
    }

    /// The key prefix of the namespace.
    pub(crate) fn key_prefix(&self) -> String {
        self.namespace
            .as_deref()
            .map(|namespace| format!("{namespace}/"))
            .unwrap_or_default()
    }

    /// Whether the label and field selectors are empty.
    pub(crate) fn matches_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}
