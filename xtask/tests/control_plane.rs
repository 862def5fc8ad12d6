//! Commands that need Go, because they run upstream's code. Times are not checked.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

/// Runs a command that succeeds; returns its output.
fn xtask(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Runs a benchmark of the controllers, in a debug build; returns its output.
fn bench_controllers(arguments: &[&str]) -> String {
    bench(&[arguments, &["--profile", "dev"]].concat())
}

/// Runs a benchmark; returns its output.
fn bench(arguments: &[&str]) -> String {
    xtask(&[&["bench"], arguments].concat())
}

#[test]
fn control_plane_prints_the_directory_of_its_binaries() {
    let text = xtask(&["control-plane", "--print-path"]);
    let [directory] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert!(Path::new(directory).join("kube-apiserver").is_file(), "{text}");
}

/// As CONTRIBUTING.md shows it: a past failure that does not depend on timing, with both implementations.
#[test]
fn upstream_failures_has_a_row_with_the_result_of_each_implementation() {
    let text = xtask(&["upstream-failures", "141592"]);
    let row = text.lines().find(|line| line.starts_with("| 141592 | "));
    let cells: Vec<&str> = row.unwrap_or_else(|| panic!("{text}")).split(" | ").collect();
    assert_eq!(cells[2], "ok", "{text}");
    assert!(cells[3].starts_with("fails: no publication"), "{text}");
}

/// A restart writes nothing, which the benchmark checks, and every figure is printed for both protocols.
#[test]
fn bench_cold_start_measures_both_protocols() {
    let text = bench_controllers(&["cold-start", "--pods", "60", "--rounds", "1"]);
    for figure in ["synced, s", "CPU, s", "CPU of kube-apiserver, s", "peak memory, MiB"] {
        let line = text.lines().find_map(|line| line.strip_prefix(figure));
        let line = line.unwrap_or_else(|| panic!("no {figure} in {text}"));
        let numbers = line.split_whitespace().map(|number| number.parse::<f64>().unwrap());
        assert_eq!(numbers.count(), 6, "{text}");
    }
}

#[test]
fn bench_memory_measures_both_implementations() {
    let text = bench_controllers(&["memory", "--pods", "60"]);
    for name in ["kube-controller-manager", "both programs here"] {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        let numbers = line.split_whitespace().map(|number| number.parse::<f64>().unwrap());
        assert_eq!(numbers.count(), 3, "{text}");
    }
}

/// The benchmark fails unless the slices converge after the outage.
#[test]
fn bench_outage_measures_both_controllers() {
    let text = bench_controllers(&["outage", "--services", "10", "--minutes", "0.05"]);
    assert!(text.contains("after the API server was ready"), "{text}");
    for controller in ["endpointslice-controller", "endpointslice-mirroring-controller"] {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(controller));
        assert_eq!(line.map(|line| line.split_whitespace().count()), Some(8), "{text}");
    }
}

/// Every case runs with upstream and with our crates, and both plan the same writes.
#[test]
fn bench_library_times_every_case() {
    let directory = tempfile::tempdir().unwrap();
    let figures = directory.path().join("figures.json");
    let text = bench(&["library", "--n", "100", "--output", figures.to_str().unwrap()]);
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
