//! The checks of the fuzz target on recorded steps and mutations of them, without a fuzzer.

use std::panic::catch_unwind;

use fuzzing::{check, mutate, seeds};

/// A fuzzer runs millions of inputs; these suffice to notice a broken target and many defects.
const SEEDS: usize = 250;
const MUTATIONS_PER_SEED: usize = 5;

/// Bad input: arbitrary objects never cause a panic.
#[test]
fn recorded_steps_and_their_mutations_do_not_panic() {
    let seeds = seeds().unwrap();
    assert!(seeds.len() > SEEDS, "{}", seeds.len());
    let mut mutations = 0..;
    for seed in seeds.iter().step_by(seeds.len() / SEEDS) {
        assert_no_panic(seed);
        for mutation in mutations.by_ref().take(MUTATIONS_PER_SEED) {
            assert_no_panic(&mutate(seed, mutation));
        }
    }
}

#[test]
fn invalid_json_does_not_panic() {
    for input in [
        &b""[..],
        b"null",
        b"[]",
        b"\xff",
        b"10.0.0.1",
        b"2026-01-02T03:04:05Z",
        b"{\"pods\": 1}",
    ] {
        assert_no_panic(input);
    }
}

fn assert_no_panic(input: &[u8]) {
    assert!(
        catch_unwind(|| check(input)).is_ok(),
        "this input caused the panic above:\n{}",
        String::from_utf8_lossy(input)
    );
}
