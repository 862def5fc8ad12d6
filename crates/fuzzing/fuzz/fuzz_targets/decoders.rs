//! See the crate `fuzzing`; `cargo xtask fuzz` runs it.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| fuzzing::check(input));

// Mostly as JSON; sometimes by the fuzzer's own means, which know what the program compares with.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = fuzzing::mutate(&data[..size], seed.into());
    if seed % 4 == 0 || mutated.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..mutated.len()].copy_from_slice(&mutated);
    mutated.len()
});
