//! Seeds of the fuzzer: the recorded steps.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// The input of every recorded step, one JSON object each, without the results of upstream.
pub fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slice-reconciler/tests/vectors");
    let mut seeds = Vec::new();
    for name in ["mirroring.jsonl.gz", "service.jsonl.gz"] {
        for line in BufReader::new(MultiGzDecoder::new(File::open(vectors.join(name))?)).lines() {
            let mut chain: Value = serde_json::from_str(&line?)?;
            let max = chain["maxEndpointsPerSlice"].take();
            for step in chain["steps"].as_array_mut().into_iter().flatten() {
                step["maxEndpointsPerSlice"] = max.clone();
                step["expect"].take();
                seeds.push(serde_json::to_vec(step)?);
            }
        }
    }
    Ok(seeds)
}
