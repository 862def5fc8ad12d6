//! `fieldSelector=metadata.name=a,spec.nodeName!=b`

use crate::{object::Object, resources::Resource};

/// A field selector: all terms must match.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    pub(super) fn parse(resource: &Resource, text: &str) -> Result<Self, String> {
        let terms = split_terms(text).into_iter().map(|term| {
            let (field, equal, value) = split_operator(&term)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
            Ok(Term {
                field: stored_name(resource, field)?,
                equal,
                value: unescape(value),
            })
        });
        Ok(Self(terms.collect::<Result<_, String>>()?))
    }

    pub(super) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|term| {
            let value = match term.field.as_str() {
                "metadata.name" => &*object.name,
                "metadata.namespace" => &*object.namespace,
                field => {
                    let found = object.selectable.iter().find(|(name, _)| *name == field);
                    found.map_or("", |(_, value)| value.as_str())
                }
            };
            (value == term.value) == term.equal
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The field's name in the storage kind, if the resource supports it in selectors.
fn stored_name(resource: &Resource, field: &str) -> Result<String, String> {
    if matches!(field, "metadata.name" | "metadata.namespace") {
        return Ok(field.to_owned());
    }
    let view = resource.codec.view.as_ref();
    let renamed = view.and_then(|view| view.selectable.iter().find(|(name, _)| *name == field));
    if let Some((_, stored)) = renamed {
        return Ok((*stored).to_owned());
    }
    if view.is_some_and(|view| view.selectable.iter().any(|(_, stored)| *stored == field)) {
        return Err(format!("field label not supported: {field}"));
    }
    // An empty object has all selectable fields, with empty values.
    let known = (resource.codec.decode)(b"{}")
        .map(|empty| empty.selectable_fields())
        .unwrap_or_default();
    if known.iter().any(|(name, _)| *name == field) {
        Ok(field.to_owned())
    } else if known.is_empty() {
        Err(format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ))
    } else {
        Err(format!("field label not supported: {field}"))
    }
}

/// Splits at commas that are not escaped with a backslash.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for character in text.chars() {
        match terms.last_mut() {
            Some(term) if escaped || character != ',' => term.push(character),
            _ => terms.push(String::new()),
        }
        escaped = character == '\\' && !escaped;
    }
    terms.retain(|term| !term.is_empty());
    terms
}

fn split_operator(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find(['=', '!'])?;
    let (field, rest) = term.split_at(at);
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some(value) = rest.strip_prefix(operator) {
            return Some((field, equal, value));
        }
    }
    None
}

fn unescape(value: &str) -> String {
    let mut escaped = false;
    let mut unescaped = String::new();
    for character in value.chars() {
        if character == '\\' && !escaped {
            escaped = true;
        } else {
            unescaped.push(character);
            escaped = false;
        }
    }
    unescaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{self, Table};

    fn matches(selector: &str, pod: &str) -> Result<bool, String> {
        let resource = resources::stored_in(Table::Pods);
        let mut kind = (resource.codec.decode)(pod.as_bytes()).unwrap();
        let object = Object::new(&mut *kind, resource, 1).unwrap();
        Ok(FieldSelector::parse(resource, selector)?.matches(&object))
    }

    #[test]
    fn terms_match_equal_and_unequal_fields() {
        let pod = r#"{"metadata":{"name":"a","namespace":"n"},"spec":{"containers":[],"nodeName":"one"}}"#;
        for (selector, expected) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=n", true),
            ("metadata.name!=a", false),
            ("spec.nodeName=one", true),
            ("spec.nodeName!=", true),
            ("spec.nodeName=", false),
            ("metadata.name=a\\,b", false),
        ] {
            assert_eq!(matches(selector, pod), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn unknown_fields_and_malformed_terms_are_rejected() {
        for selector in ["spec.nope=1", "metadata.name", "metadata.name!a"] {
            assert!(matches(selector, "{}").is_err(), "{selector}");
        }
    }
}
