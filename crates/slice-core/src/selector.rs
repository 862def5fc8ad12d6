//! Evaluation of label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Whether a label selector matches these labels, for owners that select by more than equality (G61). As everywhere in
/// Kubernetes, an empty selector matches everything; check for it first where it should match nothing (G65).
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
/// use slice_core::label_selector_matches;
///
/// let selector: LabelSelector = serde_json::from_value(serde_json::json!({
///     "matchLabels": {"app": "db"},
///     "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["test"]}],
/// }))?;
/// let labels = [("app".to_owned(), "db".to_owned())].into();
/// assert_eq!(label_selector_matches(&selector, &labels), Ok(true));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn label_selector_matches(
    selector: &LabelSelector,
    labels: &BTreeMap<String, String>,
) -> Result<bool, InvalidSelector> {
    let mut equal = selector.match_labels.iter().flatten();
    let mut matches = equal.all(|(key, value)| labels.get(key) == Some(value));
    // No short circuit: an invalid requirement is an error for all labels.
    for requirement in selector.match_expressions.iter().flatten() {
        matches &= requirement_matches(requirement, labels)?;
    }
    Ok(matches)
}

/// An invalid label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    /// An unknown operator.
    #[error("operator {operator:?} for label {key:?} is none of In, NotIn, Exists, DoesNotExist")]
    Operator {
        /// The label.
        key: String,
        /// The operator.
        operator: String,
    },
    /// Values where the operator has none, or no values where it needs some.
    #[error("operator {operator:?} for label {key:?}: In and NotIn require values, Exists and DoesNotExist take none")]
    Values {
        /// The label.
        key: String,
        /// The operator.
        operator: String,
    },
}

fn requirement_matches(
    requirement: &LabelSelectorRequirement,
    labels: &BTreeMap<String, String>,
) -> Result<bool, InvalidSelector> {
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let values = values.as_deref().unwrap_or_default();
    let value = labels.get(key);
    let matches = match operator.as_str() {
        "In" | "NotIn" if !values.is_empty() => value.is_some_and(|value| values.contains(value)) == (operator == "In"),
        "Exists" | "DoesNotExist" if values.is_empty() => value.is_some() == (operator == "Exists"),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {
            let (key, operator) = (key.clone(), operator.clone());
            return Err(InvalidSelector::Values { key, operator });
        }
        _ => {
            let (key, operator) = (key.clone(), operator.clone());
            return Err(InvalidSelector::Operator { key, operator });
        }
    };
    Ok(matches)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn matches(selector: Value) -> Result<bool, String> {
        let labels = [("app", "db"), ("tier", "prod"), ("empty", "")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        label_selector_matches(&serde_json::from_value(selector).unwrap(), &labels).map_err(|error| error.to_string())
    }

    /// Every operator; an empty selector matches everything (G61, G65).
    #[test]
    fn g61_selector_matches_when_all_requirements_match() {
        let one = |key: &str, operator: &str, values: Value| {
            matches(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
        };
        assert_eq!(matches(json!({})), Ok(true));
        assert_eq!(matches(json!({"matchLabels": {"app": "db", "tier": "prod"}})), Ok(true));
        assert_eq!(
            matches(json!({"matchLabels": {"app": "db", "tier": "test"}})),
            Ok(false)
        );
        assert_eq!(matches(json!({"matchLabels": {"missing": ""}})), Ok(false));
        for (key, operator, values, expected) in [
            ("app", "In", json!(["web", "db"]), true),
            ("app", "In", json!(["web"]), false),
            ("missing", "In", json!(["web"]), false),
            ("app", "NotIn", json!(["web"]), true),
            ("app", "NotIn", json!(["db"]), false),
            ("missing", "NotIn", json!(["db"]), true),
            ("empty", "Exists", Value::Null, true),
            ("missing", "Exists", Value::Null, false),
            ("missing", "DoesNotExist", json!([]), true),
            ("app", "DoesNotExist", Value::Null, false),
        ] {
            assert_eq!(one(key, operator, values), Ok(expected), "{key} {operator}");
        }
        for (operator, values, error) in [
            (
                "In",
                json!([]),
                "operator \"In\" for label \"app\": In and NotIn require values, Exists and DoesNotExist take none",
            ),
            (
                "Exists",
                json!(["a"]),
                "operator \"Exists\" for label \"app\": In and NotIn require values, Exists and DoesNotExist take none",
            ),
            (
                "Gt",
                json!(["1"]),
                "operator \"Gt\" for label \"app\" is none of In, NotIn, Exists, DoesNotExist",
            ),
        ] {
            assert_eq!(one("app", operator, values), Err(error.to_owned()));
        }
        let both = json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "?"}]});
        assert!(
            matches(both).is_err(),
            "an invalid requirement is an error for all labels"
        );
    }
}
