//! Options of write requests.

use serde_json::Value;

use crate::{
    request::Query,
    resources::Resource,
    status::ApiError,
    validation::{FieldError, FieldErrorKind},
};

/// Whether the request is a dry run (`dryRun=All`).
pub(super) fn dry_run(query: &Query, options: &str) -> Result<bool, ApiError> {
    match query.get("dryRun") {
        None | Some("") => Ok(false),
        Some("All") => Ok(true),
        Some(other) => Err(ApiError::invalid_options(options, unknown_dry_run(other))),
    }
}

/// The error for a `dryRun` value other than `All`.
pub(super) fn unknown_dry_run(value: &str) -> FieldError {
    FieldError {
        field: "dryRun".into(),
        kind: FieldErrorKind::NotSupported(Value::from(vec![value]).to_string()),
        detail: "supported values: \"All\"".into(),
    }
}

/// An integer query parameter.
pub(super) fn number(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.parse();
    number
        .map(Some)
        .map_err(|_| ApiError::bad_request(format!("{name}: {text:?} is not a whole number")))
}

/// Strict field validation: returns an error for the first unknown field of the body.
pub(super) fn check_strict(resource: &Resource, body: &[u8]) -> Result<(), String> {
    let (Ok(given), Ok(known)) = (
        serde_json::from_slice::<Value>(body),
        (resource.codec.known_fields)(body),
    ) else {
        return Ok(());
    };
    match unknown_field(&given, &known, "") {
        Some(path) => Err(format!("strict decoding error: unknown field \"{path}\"")),
        None => Ok(()),
    }
}

/// Returns an error for the first `MicroTime` without six fractional digits.
pub(super) fn check_micro_times(resource: &Resource, body: &[u8]) -> Result<(), String> {
    if resource.micro_times.is_empty() {
        return Ok(());
    }
    let given: Value = serde_json::from_slice(body).unwrap_or_default();
    for pointer in resource.micro_times {
        let Some(time) = given.pointer(pointer).and_then(Value::as_str) else {
            continue;
        };
        let fraction = time.split_once('.').map_or("", |(_, fraction)| fraction);
        if fraction.bytes().take_while(u8::is_ascii_digit).count() != 6 {
            return Err(format!("{time:?} is not a time with six digits behind the point"));
        }
    }
    Ok(())
}

/// The path of the first field that is missing after decoding. A null is ignored.
fn unknown_field(given: &Value, known: &Value, path: &str) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(name, value)| {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            match known.get(name) {
                Some(known) => unknown_field(value, known, &path),
                None => (!value.is_null()).then_some(path),
            }
        }),
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known).enumerate();
            pairs.find_map(|(index, (given, known))| unknown_field(given, known, &format!("{path}[{index}]")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{Table, stored_in};

    #[test]
    fn strict_decoding_reports_the_unknown_field() {
        let slices = stored_in(Table::EndpointSlices);
        for (body, unknown) in [
            (
                r#"{"metadata":{"name":"a","labels":{"x":"y"}},"addressType":"IPv4","ports":null}"#,
                None,
            ),
            (r#"{"foo":1}"#, Some("foo")),
            (r#"{"metadata":{"nam":"a"}}"#, Some("metadata.nam")),
            (
                r#"{"endpoints":[{"addresses":[]},{"address":"x","addresses":[]}]}"#,
                Some("endpoints[1].address"),
            ),
        ] {
            let expected = unknown.map(|path| format!("strict decoding error: unknown field \"{path}\""));
            assert_eq!(check_strict(slices, body.as_bytes()).err(), expected, "{body}");
        }
    }
}
