//! Tests with a script as a fake `go`, so that nothing is built.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// Writes the package name to the output file of `go build … -o OUTPUT PACKAGE`, and logs the call.
const SUCCEEDING_GO: &str = r#"
for last; do :; done
while [ "$1" != -o ]; do shift; done
echo "$last" >"$2"
echo "$GOFLAGS $GOWORK $PWD" >>"${0%/*}/calls"
"#;
const FAILING_GO: &str = "echo first >&2; echo 'no required module' >&2; exit 1";

/// Installs a script by a child process. A file that this process opens for writing could be inherited by a process that another
/// test starts at that moment; executing it would then fail (ETXTBSY).
fn install(directory: &Path, script: &str) -> PathBuf {
    let (source, path) = (directory.join("go.sh"), directory.join("go"));
    fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
    let status = Command::new("install")
        .arg("-m755")
        .arg(source)
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    path
}

struct Fixture {
    root: TempDir,
    sources: Sources,
}

impl Fixture {
    fn new(go: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        for (module, require) in [("upstream", "k8s.io/kubernetes v1.36.4"), ("upstream/kwok", "")] {
            let module = path.join(module);
            fs::create_dir_all(&module).unwrap();
            fs::write(module.join("go.mod"), format!("go 1.26.0\n{require}\n")).unwrap();
            fs::write(module.join("go.sum"), "").unwrap();
            fs::write(module.join("tools.go"), "").unwrap();
        }
        let script = install(path, go);
        let sources = Sources {
            upstream: path.join("upstream"),
            cache: path.join("cache"),
            provided: None,
            go: script.into(),
        };
        Self { root, sources }
    }

    fn ensure(&self, programs: &[Program]) -> (Result<Assets, AssetsError>, Vec<String>) {
        let mut lines = Vec::new();
        let result = self.sources.ensure(programs, &mut |line| lines.push(line.to_owned()));
        (result, lines)
    }

    fn error(&self, programs: &[Program]) -> String {
        self.ensure(programs).0.unwrap_err().to_string()
    }

    fn in_cache(&self, program: Program) -> PathBuf {
        let module = self.sources.module(program).unwrap();
        module.directory(&self.sources.cache).join(program.name())
    }

    fn calls_of_go(&self) -> usize {
        fs::read_to_string(self.root.path().join("calls")).map_or(0, |calls| calls.lines().count())
    }
}

#[test]
fn missing_programs_are_built_and_reported() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    let (assets, lines) = fixture.ensure(&[Program::Etcd, Program::Kwok]);
    let assets = assets.unwrap();
    for program in [Program::Etcd, Program::Kwok] {
        let path = fixture.in_cache(program);
        assert_eq!(assets.path(program), path);
        assert_eq!(fs::read_to_string(path).unwrap().trim(), module::package(program));
    }
    let steps: Vec<_> = lines.iter().map(|line| line.split(" in ").next().unwrap()).collect();
    assert_eq!(
        steps,
        [
            "building etcd (1 of 2), this takes minutes …",
            "built etcd",
            "building kwok (2 of 2), this takes minutes …",
            "built kwok",
        ]
    );
}

#[test]
fn each_module_has_its_own_cache_directory() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    assert_ne!(
        fixture.in_cache(Program::Etcd).parent(),
        fixture.in_cache(Program::Kwok).parent()
    );
}

#[test]
fn go_runs_in_the_module_with_fixed_flags() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    fixture.ensure(&[Program::Kwok]).0.unwrap();
    let calls = fs::read_to_string(fixture.root.path().join("calls")).unwrap();
    let module = fixture.root.path().join("upstream/kwok").canonicalize().unwrap();
    assert_eq!(
        calls,
        format!("-mod=readonly -buildvcs=false off {}\n", module.display())
    );
}

#[test]
fn go_is_not_called_if_all_programs_are_cached() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    fixture.ensure(&[Program::Etcd]).0.unwrap();
    let (assets, lines) = fixture.ensure(&[Program::Etcd]);
    assert!(assets.is_ok());
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(fixture.calls_of_go(), 1);
}

#[test]
fn a_failed_build_is_a_one_line_error_and_leaves_no_files() {
    let fixture = Fixture::new(FAILING_GO);
    assert_eq!(
        fixture.error(&[Program::Etcd]),
        "building etcd failed (exit status: 1); the last output of go: first | no required module"
    );
    let directory = fixture.in_cache(Program::Etcd).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
}

#[test]
fn directories_of_killed_builds_are_removed() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    let directory = fixture.in_cache(Program::Etcd).parent().unwrap().to_owned();
    fs::create_dir_all(directory.join(".unfinished-1/etcd")).unwrap();
    fixture.ensure(&[Program::Etcd]).0.unwrap();
    let left: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["etcd"]);
}

#[test]
fn waits_for_a_concurrent_build_and_uses_its_result() {
    let fixture = Fixture::new(SUCCEEDING_GO);
    fs::create_dir_all(&fixture.sources.cache).unwrap();
    let other = fs::File::create(fixture.sources.cache.join("build.lock")).unwrap();
    other.lock().unwrap();
    let mut other = Some(other);
    let mut lines = Vec::new();
    let result = fixture.sources.ensure(&[Program::Etcd], &mut |line| {
        lines.push(line.to_owned());
        if let Some(lock) = other.take() {
            let path = fixture.in_cache(Program::Etcd);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            drop(lock);
        }
    });
    assert!(result.is_ok());
    assert_eq!(lines, ["waiting for another build …"]);
    assert_eq!(fixture.calls_of_go(), 0);
}

#[test]
fn without_go_the_error_names_the_version_to_install() {
    let mut fixture = Fixture::new(SUCCEEDING_GO);
    fixture.sources.go = "/nonexistent/go".into();
    assert_eq!(
        fixture.error(&[Program::KubeApiserver]),
        "cannot build kube-apiserver, Go is not installed: install Go 1.26.0 or newer, \
         or set KUBEBUILDER_ASSETS to a directory that contains kube-apiserver"
    );
}

#[test]
fn provided_programs_are_used_and_the_others_built() {
    let mut fixture = Fixture::new(SUCCEEDING_GO);
    let provided = fixture.root.path().join("provided");
    fs::create_dir(&provided).unwrap();
    fs::write(provided.join("etcd"), "").unwrap();
    fixture.sources.provided = Some(provided.clone());
    let assets = fixture.ensure(&[Program::Etcd, Program::Kubectl]).0.unwrap();
    assert_eq!(assets.path(Program::Etcd), provided.join("etcd"));
    assert_eq!(assets.path(Program::Kubectl), fixture.in_cache(Program::Kubectl));
    assert_eq!(fixture.calls_of_go(), 1);
}

#[test]
fn a_missing_or_empty_assets_directory_is_an_error() {
    let mut fixture = Fixture::new(SUCCEEDING_GO);
    let provided = fixture.root.path().join("provided");
    fixture.sources.provided = Some(provided.clone());
    assert_eq!(
        fixture.error(&[Program::Etcd]),
        format!(
            "KUBEBUILDER_ASSETS is {}, which is not a directory: correct or unset it",
            provided.display()
        )
    );
    fs::create_dir(&provided).unwrap();
    assert_eq!(
        fixture.error(&[Program::Etcd]),
        format!(
            "KUBEBUILDER_ASSETS is {}, which contains no control-plane program: correct or unset it",
            provided.display()
        )
    );
    assert_eq!(fixture.calls_of_go(), 0);
}
