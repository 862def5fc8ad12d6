//! Fuzzing of decoders, controllers and planners: arbitrary API objects never cause a panic.
//!
//! [`check`] has two callers. `cargo xtask fuzz` runs the fuzz target in `fuzz/`, with the recorded steps as seeds. An ordinary
//! test checks some of these steps and a bounded number of mutations, so that the target stays correct where no fuzzer is
//! installed. `slice-runtime` uses [`mutate`] for its own tests of watch streams and list pages.

mod controllers;
mod mutate;
mod plans;
mod seeds;
mod step;
mod strings;

pub use mutate::mutate;
pub use seeds::seeds;

use std::num::NonZeroUsize;

use serde_json::Value;

/// Checks one input, the JSON of a recorded step. Each string is parsed as an address and a time. The objects are decoded, and
/// invalid ones are skipped; slices are planned for the Service and the Endpoints object. Both controllers handle the same
/// objects, and the input itself, as the bytes of watch events.
///
/// # Panics
///
/// If the code under test has a defect; never for invalid input alone.
pub fn check(input: &[u8]) {
    let Ok(step) = serde_json::from_slice::<Value>(input) else {
        strings::check(&String::from_utf8_lossy(input));
        return controllers::check(&[input.to_vec()], &[], NonZeroUsize::MIN);
    };
    check_strings(&step);
    let mut objects = step::encode_objects(&step);
    objects.push(input.to_vec());
    let step = step::Step::decode(&step);
    controllers::check(&objects, &step.existing, step.max);
    plans::check(&step);
}

fn check_strings(value: &Value) {
    match value {
        Value::String(text) => strings::check(text),
        Value::Array(items) => items.iter().for_each(check_strings),
        Value::Object(fields) => fields.values().for_each(check_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
