//! `labelSelector=app=web,tier in (a, b),!old`

use std::collections::BTreeMap;

/// A label selector: all requirements must match.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug)]
enum Operator {
    Exists,
    DoesNotExist,
    In(Vec<String>),
    NotIn(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = Tokens::new(text);
        let mut requirements = Vec::new();
        if tokens.peek().is_none() {
            return Ok(Self(requirements));
        }
        loop {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                None => return Ok(Self(requirements)),
                Some(token) if token == "," => {}
                Some(token) => {
                    return Err(format!("found '{token}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    pub(super) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::In(values) => value.is_some_and(|value| values.contains(value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Operator::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
                Operator::LessThan(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let negated = tokens.consume("!");
    let key = tokens.word()?;
    if !is_qualified_name(&key) {
        return Err(format!("unable to parse requirement: {key:?} is not a label's name"));
    }
    let bare = matches!(tokens.peek().as_deref(), None | Some(","));
    let operator = if negated || bare {
        if negated {
            Operator::DoesNotExist
        } else {
            Operator::Exists
        }
    } else {
        operator(tokens)?
    };
    Ok(Requirement { key, operator })
}

fn operator(tokens: &mut Tokens<'_>) -> Result<Operator, String> {
    let token = tokens.next().unwrap_or_default();
    Ok(match token.as_str() {
        "=" | "==" => Operator::In(vec![tokens.value()?]),
        "!=" => Operator::NotIn(vec![tokens.value()?]),
        "in" => Operator::In(tokens.values()?),
        "notin" => Operator::NotIn(tokens.values()?),
        ">" => Operator::GreaterThan(tokens.number()?),
        "<" => Operator::LessThan(tokens.number()?),
        _ => {
            return Err(format!(
                "unable to parse requirement: found '{token}', expected: in, notin, =, ==, !=, >, <"
            ));
        }
    })
}

/// A name with an optional prefix and slash.
fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(|prefix| !prefix.is_empty()) && !name.is_empty() && name.len() <= 63 && is_name(name)
}

fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}

/// Tokenizer of a selector.
struct Tokens<'a> {
    rest: &'a str,
}

const OPERATORS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn peek(&self) -> Option<String> {
        Self { rest: self.rest }.next()
    }

    fn next(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let operator = OPERATORS.into_iter().find(|operator| self.rest.starts_with(operator));
        let end = match operator {
            Some(operator) => operator.len(),
            None => self
                .rest
                .find(|character: char| character.is_whitespace() || "=!(),><".contains(character))
                .unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!token.is_empty()).then(|| token.to_owned())
    }

    fn consume(&mut self, operator: &str) -> bool {
        let found = self.peek().as_deref() == Some(operator);
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self) -> Result<String, String> {
        match self.next() {
            Some(word) if !OPERATORS.contains(&word.as_str()) => Ok(word),
            other => {
                let found = other.unwrap_or_default();
                Err(format!(
                    "unable to parse requirement: found '{found}', expected: identifier"
                ))
            }
        }
    }

    /// A missing value is empty: `a=` selects the empty value.
    fn value(&mut self) -> Result<String, String> {
        match self.peek().as_deref() {
            None | Some("," | ")") => Ok(String::new()),
            _ => {
                let value = self.word()?;
                if value.len() <= 63 && is_name(&value) {
                    Ok(value)
                } else {
                    Err(format!("unable to parse requirement: {value:?} is not a label's value"))
                }
            }
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        if !self.consume("(") {
            let found = self.next().unwrap_or_default();
            return Err(format!("unable to parse requirement: found '{found}' expected: '('"));
        }
        let mut values = vec![self.value()?];
        while self.consume(",") {
            values.push(self.value()?);
        }
        if self.consume(")") {
            Ok(values)
        } else {
            let found = self.next().unwrap_or_default();
            Err(format!(
                "unable to parse requirement: found '{found}', expected: ',' or ')'"
            ))
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.value()?;
        let invalid = |_| format!("unable to parse requirement: {value:?} is not a whole number");
        value.parse().map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str) -> Result<bool, String> {
        let labels = [("app", "web"), ("tier", "a"), ("n", "5"), ("empty", "")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Ok(LabelSelector::parse(selector)?.matches(&labels))
    }

    #[test]
    fn requirements_match_labels() {
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("nope", false),
            ("!nope", true),
            ("app=web", true),
            ("app == web,tier=a", true),
            ("app=web,tier=b", false),
            ("app!=web", false),
            ("nope!=web", true),
            ("tier in (a, b)", true),
            ("tier in (b)", false),
            ("tier notin (a)", false),
            ("nope notin (a),app", true),
            ("empty=", true),
            ("app=", false),
            ("n>4,n<6", true),
            ("n>5", false),
            ("in in (a)", false),
        ] {
            assert_eq!(matches(selector), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn malformed_selectors_are_rejected() {
        for selector in ["a in x", "-", "a=b=c", "a in (b", ",", "a,,b", "a>x", "!a=b", "a b"] {
            assert!(matches(selector).is_err(), "{selector}");
        }
    }
}
