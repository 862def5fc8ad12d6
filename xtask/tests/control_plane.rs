//! The commands that need Go, because they ask upstream.

mod acts;

use std::{collections::BTreeSet, ffi::OsStr, fs, process::Command};

use serde_json::Value;

/// Every case runs on both sides and comes to the same writes; how long it takes is no matter here.
#[test]
fn the_library_is_timed_beside_upstream() {
    let home = tempfile::tempdir().unwrap();
    let figures = home.path().join("figures.json");
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

/// Chains that nobody has looked at yet are answered as upstream does, too.
#[test]
fn chains_recorded_anew_are_answered_as_upstream_does() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&OsStr]| {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("vectors")
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{complaints}");
        text
    };
    for kind in ["service", "mirroring"] {
        let file = home.path().join(format!("{kind}.jsonl"));
        let mut arguments = ["--record", "--kind", kind, "--seed", "7", "--count", "20", "--output"]
            .map(OsStr::new)
            .to_vec();
        arguments.push(file.as_os_str());
        run(&arguments);
        let recorded = fs::read_to_string(&file).unwrap();
        let steps: usize = recorded
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["steps"]
                    .as_array()
                    .unwrap()
                    .len()
            })
            .sum();
        assert_eq!(recorded.lines().count(), 20);
        let text = run(&[file.as_os_str()]);
        let closing = text.lines().last().unwrap();
        assert!(closing.starts_with(&format!("vectors: {steps} steps, ")), "{closing}");
        assert!(closing.ends_with(" excused, 0 failed"), "{closing}");
    }
}

/// The demo with real Deployments, whose pods the small cluster runs.
#[test]
fn the_demo_plays_on_the_real_cluster() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["demo", "--real", "--once"])
        .output()
        .unwrap();
    let said = acts::said(output);
    acts::assert_played(&said);
    acts::assert_verified(&said);
}
