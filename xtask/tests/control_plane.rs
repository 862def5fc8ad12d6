//! Commands that need Go, because they run upstream's code.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::Value;

/// Every case runs with upstream and with our crates, and both plan the same writes. The times are not checked.
#[test]
fn bench_library_times_every_case() {
    let directory = tempfile::tempdir().unwrap();
    let figures = directory.path().join("figures.json");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["bench", "library", "--n", "100", "--output"])
        .arg(&figures)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figures: Vec<Value> = serde_json::from_slice(&fs::read(figures).unwrap()).unwrap();
    let found: BTreeSet<(&str, &str)> = figures
        .iter()
        .map(|figure| {
            let [upstream, ours, ratio] = ["upstream_ns", "ours_ns", "ratio"].map(|key| figure[key].as_f64().unwrap());
            assert!(upstream > 0.0 && ours > 0.0, "{figure}");
            assert!((upstream / ours - ratio).abs() < 1e-9 * ratio, "{figure}");
            assert_eq!(figure["n"], 100);
            (figure["case"].as_str().unwrap(), figure["path"].as_str().unwrap())
        })
        .collect();
    let cases = [
        "auto",
        "dualstack",
        "flip",
        "nothing",
        "replace10",
        "samezone",
        "scratch",
    ];
    let expected: BTreeSet<(&str, &str)> = cases
        .iter()
        .flat_map(|case| [(*case, "compact"), (*case, "public")])
        .collect();
    assert_eq!(found, expected);
    assert_eq!(figures.len(), found.len());
    for (case, path) in found {
        assert!(
            text.lines().any(|line| line.contains(case) && line.contains(path)),
            "{case}, {path}:\n{text}"
        );
    }
}
