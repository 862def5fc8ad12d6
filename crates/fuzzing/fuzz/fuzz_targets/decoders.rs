//! The fuzz target of the crate `fuzzing`, run by `cargo xtask fuzz`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| fuzzing::check(input));

// Three of four mutations are of JSON values; the others are the fuzzer's own, which use the program's comparisons.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = fuzzing::mutate(&data[..size], seed.into());
    if seed % 4 == 0 || mutated.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..mutated.len()].copy_from_slice(&mutated);
    mutated.len()
});
