//! `fieldSelector=metadata.name=a,spec.nodeName!=b`

use crate::{object::Object, resources::Resource};

/// What fields must be equal to, or must not.
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

/// The name under which the field is kept, if it can be selected by.
fn stored_name(resource: &Resource, field: &str) -> Result<String, String> {
    if matches!(field, "metadata.name" | "metadata.namespace") {
        return Ok(field.to_owned());
    }
    let view = resource.codec.view.as_ref();
    let renamed = view.and_then(|view| view.selectable.iter().find(|(shown, _)| *shown == field));
    if let Some((_, stored)) = renamed {
        return Ok((*stored).to_owned());
    }
    if view.is_some_and(|view| view.selectable.iter().any(|(_, stored)| *stored == field)) {
        return Err(format!("field label not supported: {field}"));
    }
    // An empty object has all the fields, without their values.
    let known = (resource.codec.decode)(b"{}")
        .map(|empty| empty.selectable())
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

/// Splits at commas that no backslash protects.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut protected = false;
    for character in text.chars() {
        match terms.last_mut() {
            Some(term) if protected || character != ',' => term.push(character),
            _ => terms.push(String::new()),
        }
        protected = character == '\\' && !protected;
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
    let mut protected = false;
    let mut plain = String::new();
    for character in value.chars() {
        if character == '\\' && !protected {
            protected = true;
        } else {
            plain.push(character);
            protected = false;
        }
    }
    plain
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
    fn fields_equal_or_not() {
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
    fn unknown_fields_and_broken_terms_are_refused() {
        for selector in ["spec.nope=1", "metadata.name", "metadata.name!a"] {
            assert!(matches(selector, "{}").is_err(), "{selector}");
        }
    }
}
