//! Mutations of JSON values. Mutations of bytes alone would hardly ever pass the parser.

use fastrand::Rng;
use serde_json::{Value, json};

/// The maximum number of mutations of one input.
const MUTATIONS_MAX: usize = 4;
/// Strings that are valid values of API fields, or nearly valid.
const STRINGS: [&str; 21] = [
    "",
    "0",
    "10.1.0.2",
    "010.1.0.2",
    "::ffff:10.1.0.2",
    "FD00::1",
    "fe80::1%eth0",
    "0.0.0.0",
    "a.example",
    "IPv4",
    "IPv6",
    "FQDN",
    "None",
    "Auto",
    "PreferSameNode",
    "True",
    "UDP",
    "18446744073709551615",
    "2026-01-02T03:04:05.5+02:00",
    "\u{1f980}\0%",
    "a name whose 58th byte is in the middle of a character: 1\u{1f980}",
];
const NUMBERS: [i64; 8] = [i64::MIN, i32::MIN as i64, -1, 0, 1, 65536, i32::MAX as i64, i64::MAX];

/// Returns a similar input. Equal seeds give equal results.
#[must_use]
pub fn mutate(input: &[u8], seed: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    let Ok(mut step) = serde_json::from_slice::<Value>(input) else {
        return mutate_bytes(input.to_vec(), &mut rng);
    };
    for _ in 0..rng.usize(1..=MUTATIONS_MAX) {
        let count = count(&step);
        let other = nth(&mut step, &mut rng.usize(..count)).cloned();
        if let Some(value) = nth(&mut step, &mut rng.usize(..count)) {
            mutate_value(value, other.unwrap_or_default(), &mut rng);
        }
    }
    let text = step.to_string().into_bytes();
    if rng.u8(..8) == 0 {
        mutate_bytes(text, &mut rng)
    } else {
        text
    }
}

/// The number of nested values, including the value itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The nth nested value in depth-first order. If there are fewer, `n` is reduced by their number.
fn nth<'v>(value: &'v mut Value, n: &mut usize) -> Option<&'v mut Value> {
    if *n == 0 {
        return Some(value);
    }
    *n -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, n)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, n)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Mutates a value; `other` is another value of the same input.
fn mutate_value(value: &mut Value, other: Value, rng: &mut Rng) {
    match (rng.u8(..4), &mut *value) {
        (0, Value::Array(items)) if !items.is_empty() => {
            items.remove(rng.usize(..items.len()));
        }
        (0, Value::Object(fields)) => {
            let key = fields.keys().nth(rng.usize(..=fields.len())).cloned();
            key.and_then(|key| fields.remove(&key));
        }
        (1, Value::Array(items)) => items.push(other),
        (0 | 1, Value::String(text)) => {
            let position = text
                .char_indices()
                .nth(rng.usize(..=text.len()))
                .map(|(position, _)| position);
            text.insert(
                position.unwrap_or(text.len()),
                rng.choice(['0', '.', ':', '%', '-', 'A', '\u{e9}']).unwrap_or('x'),
            );
        }
        (2, _) => *value = other,
        _ => *value = leaf(rng),
    }
}

fn leaf(rng: &mut Rng) -> Value {
    match rng.u8(..6) {
        0 => json!(rng.choice(NUMBERS)),
        1 => Value::Null,
        2 => json!(rng.bool()),
        _ => json!(rng.choice(STRINGS)),
    }
}

/// Truncates, inserts or replaces bytes, as a broken connection would.
fn mutate_bytes(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let position = rng.usize(..=bytes.len());
    match rng.u8(..3) {
        0 => bytes.truncate(position),
        1 => bytes.insert(position, rng.u8(..)),
        _ => bytes
            .iter_mut()
            .skip(position)
            .take(1)
            .for_each(|byte| *byte = rng.u8(..)),
    }
    bytes
}
