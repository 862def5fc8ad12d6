//! Whatever an API server sends: it is read, judged, and nothing panics.
//!
//! Two programs share this crate: the fuzz target in `fuzz/`, for which `cargo xtask fuzz` fetches the recorded steps as
//! seeds, and an ordinary test that goes through the same steps and a bounded number of mutations of them, so that the
//! target cannot rot where there is no fuzzer. The mutations also serve `slice-runtime`, for the lines and pages around objects.

mod controllers;
mod mutate;
mod objects;
mod plans;
mod seeds;
mod texts;

pub use mutate::mutate;
pub use seeds::seeds;

use std::num::NonZeroUsize;

use serde_json::Value;

/// Reads the input as the JSON of a recorded step: all texts in it as addresses and times, its objects as what they claim to
/// be. What cannot be read is left out, the rest goes all the way to plans of writes for the Service and the Endpoints object.
/// The same objects, and the input itself, go to both controllers as the bytes that a watch sends.
///
/// # Panics
///
/// When something is wrong with our code, never because something is wrong with the input.
pub fn check(input: &[u8]) {
    let Ok(step) = serde_json::from_slice::<Value>(input) else {
        texts::check(&String::from_utf8_lossy(input));
        return controllers::check(&[input.to_vec()], &[], NonZeroUsize::MIN);
    };
    check_texts(&step);
    let mut objects = objects::written(&step);
    objects.push(input.to_vec());
    let step = objects::Step::read(&step);
    controllers::check(&objects, &step.existing, step.max);
    plans::check(&step);
}

fn check_texts(value: &Value) {
    match value {
        Value::String(text) => texts::check(text),
        Value::Array(items) => items.iter().for_each(check_texts),
        Value::Object(fields) => fields.values().for_each(check_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
