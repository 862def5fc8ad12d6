//! What the fuzz target does, without a fuzzer.

use std::panic::catch_unwind;

use fuzzing::{check, mutate, seeds};

/// A fuzzer takes millions; these are enough to notice that the target has rotted, and often that what it checks is broken.
const SEEDS: usize = 250;
const MUTATIONS_PER_SEED: usize = 5;

/// Bad input: arbitrary objects never panic.
#[test]
fn recorded_steps_and_mutations_of_them_are_survived() {
    let seeds = seeds().unwrap();
    assert!(seeds.len() > SEEDS, "{}", seeds.len());
    let mut mutations = 0..;
    for seed in seeds.iter().step_by(seeds.len() / SEEDS) {
        survive(seed);
        for mutation in mutations.by_ref().take(MUTATIONS_PER_SEED) {
            survive(&mutate(seed, mutation));
        }
    }
}

#[test]
fn what_is_no_json_is_survived() {
    for input in [
        &b""[..],
        b"null",
        b"[]",
        b"\xff",
        b"10.0.0.1",
        b"2026-01-02T03:04:05Z",
        b"{\"pods\": 1}",
    ] {
        survive(input);
    }
}

fn survive(input: &[u8]) {
    assert!(
        catch_unwind(|| check(input)).is_ok(),
        "the panic above comes from this input:\n{}",
        String::from_utf8_lossy(input)
    );
}
