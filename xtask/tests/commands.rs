//! The commands as a person runs them: what they print, and how they end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

/// `cargo xtask control-plane` where nothing is cached and `PATH` holds only `path`.
fn control_plane(cache: &Path, path: &Path) -> Output {
    xtask()
        .arg("control-plane")
        .env("XDG_CACHE_HOME", cache)
        .env("PATH", path)
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap()
}

/// The one line that a failing command says.
fn one_line(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let complaints: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(complaints.len(), 1, "{text}");
    assert!(text.trim_end().ends_with(complaints[0]), "{text}");
    complaints[0].to_owned()
}

#[test]
fn an_unknown_command_or_none_is_one_line() {
    let output = xtask().arg("tset").output().unwrap();
    assert_eq!(
        one_line(&output),
        "error: unrecognized subcommand 'tset'; `cargo xtask --help` lists what there is"
    );
    let output = xtask().output().unwrap();
    assert_eq!(
        one_line(&output),
        "error: a command is needed; `cargo xtask --help` lists what there is"
    );
}

#[test]
fn a_missing_argument_is_named_in_one_line() {
    let line = one_line(&xtask().args(["vectors", "--record", "--seed", "1"]).output().unwrap());
    for missing in ["--kind", "--count", "--output"] {
        assert!(line.contains(missing), "{line}");
    }
}

#[test]
fn help_lists_the_commands() {
    let output = xtask().arg("--help").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for command in ["test", "demo", "catalogue", "control-plane", "fuzz"] {
        assert!(text.contains(command), "{command} is missing in:\n{text}");
    }
}

#[test]
fn without_go_the_command_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let line = one_line(&control_plane(empty.path(), empty.path()));
    assert!(line.contains("Go") && line.contains("KUBEBUILDER_ASSETS"), "{line}");
}

#[test]
fn without_cargo_fuzz_the_command_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let line = one_line(&xtask().arg("fuzz").env("PATH", empty.path()).output().unwrap());
    assert!(line.contains("cargo install cargo-fuzz"), "{line}");
}

#[test]
fn a_build_that_fails_is_one_line_and_leaves_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    let go = bin.path().join("go");
    fs::write(&go, "#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
    let line = one_line(&control_plane(cache.path(), bin.path()));
    assert!(
        line.contains("etcd") && line.contains("no space left on device"),
        "{line}"
    );
    let programs: Vec<_> = files_below(cache.path())
        .into_iter()
        .filter(|name| name.contains("etcd"))
        .collect();
    assert_eq!(programs, Vec::<String>::new());
}

#[test]
fn assets_that_are_not_there_are_named() {
    let empty = tempfile::tempdir().unwrap();
    for directory in [empty.path().to_owned(), empty.path().join("missing")] {
        let output = xtask()
            .arg("control-plane")
            .env("KUBEBUILDER_ASSETS", &directory)
            .output()
            .unwrap();
        let line = one_line(&output);
        assert!(
            line.contains("KUBEBUILDER_ASSETS") && line.contains(directory.to_str().unwrap()),
            "{line}"
        );
    }
}

/// The numbers of steps in the closing line of `cargo xtask vectors`: all, equal, excused, failed.
fn counts(text: &str) -> [u64; 4] {
    let closing = text.lines().last().unwrap();
    let numbers: Vec<u64> = closing
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    let [steps, equal, excused, failed] = numbers[..] else {
        panic!("{closing}");
    };
    assert_eq!(
        closing,
        format!("vectors: {steps} steps, {equal} equal, {excused} excused, {failed} failed")
    );
    [steps, equal, excused, failed]
}

/// What we would do about recorded steps equals what upstream did, but for documented deviations (at most a fifth). G-35: so do
/// the numbers of writes.
#[test]
fn the_vectors_are_answered_as_upstream_does() {
    let output = xtask().arg("vectors").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let [steps, _, excused, failed] = counts(&text);
    assert_eq!((steps, failed), (2220, 0));
    assert!(excused * 5 <= steps, "{text}");
}

/// A step to which upstream answered otherwise fails, and is printed with what differs.
#[test]
fn a_vector_that_is_answered_otherwise_fails() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let recorded = fs::File::open(root.join("crates/slice-reconciler/tests/vectors/service.jsonl.gz")).unwrap();
    let mut lines = BufReader::new(MultiGzDecoder::new(recorded))
        .lines()
        .map(Result::unwrap);
    let mut chain: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    let steps = chain["steps"].as_array().unwrap().len() as u64;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("chain.jsonl");
    let replay = |chain: &Value| {
        fs::write(&file, chain.to_string()).unwrap();
        let output = xtask().arg("vectors").arg(&file).output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        (output, text)
    };

    let (output, text) = replay(&chain);
    assert!(output.status.success(), "{text}");
    assert_eq!(counts(&text), [steps, steps, 0, 0]);

    let address = &mut chain["steps"][0]["expect"]["creates"][0]["endpoints"][0]["addresses"][0];
    assert!(address.is_string(), "{address}");
    *address = "10.99.99.99".into();
    let (output, text) = replay(&chain);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        one_line(&output),
        "error: 1 steps differ from upstream, or have no answer"
    );
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    let name = chain["name"].as_str().unwrap();
    assert!(text.contains(&format!("{name} step 0 (")), "{text}");
    assert!(text.contains("\nendpoints of "), "{text}");
    let upstreams = text.lines().filter(|line| line.contains("10.99.99.99"));
    assert_eq!(upstreams.count(), 1, "{text}");

    // A step that cannot be answered does not keep the others from being counted.
    chain["steps"][0]["service"]["metadata"]["uid"] = Value::Null;
    let (output, text) = replay(&chain);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    assert!(text.contains("\nno answer: Service "), "{text}");
}

/// Every test case and every rule of the specifications is shown or left out for a reason, and deviations lead to their
/// tests.
#[test]
fn the_catalogue_is_complete() {
    let output = xtask().args(["catalogue", "--left-out"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nT-EP-01: the legacy Endpoints controller"), "{text}");
    assert!(text.contains("\nM35: a key is a type here"), "{text}");
    assert!(
        text.lines().last().unwrap().ends_with(" left out, 0 complaints"),
        "{text}"
    );
}

/// Every command in README.md exists: ours are tried here, those of the programs by their own tests
/// (`testenv::documented`).
#[test]
fn documented_commands_exist() {
    let readme = testenv::documented::readme().unwrap();
    let blocks = readme
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let (ours, programs): (Vec<&str>, Vec<&str>) = blocks
        .flat_map(str::lines)
        .partition(|line| line.starts_with("cargo xtask "));
    assert!(
        ours.contains(&"cargo xtask test") && ours.contains(&"cargo xtask demo"),
        "{ours:?}"
    );
    for command in ours {
        let arguments = command.split_whitespace().skip(2);
        let output = xtask().args(arguments).arg("--help").output().unwrap();
        assert!(output.status.success(), "{command}");
    }
    let packages = ["endpointslice-controller", "endpointslice-mirroring-controller"];
    let known = packages.map(|package| format!("cargo run --release -p {package} -- "));
    for command in programs {
        assert!(known.iter().any(|known| command.starts_with(known)), "{command}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let ci = fs::read_to_string(root.join(".ci/run")).unwrap();
    assert_eq!(ci.lines().last(), Some("exec cargo xtask test"));
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}
