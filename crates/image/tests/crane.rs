//! `cargo xtask image` as a process. crane validates the images; skopeo and Docker do where they are installed.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use control_plane_assets::{Program, ensure};
use flate2::read::GzDecoder;
use image::{PROGRAMS, SBOM_PATH};
use oci_spec::image::{ImageIndex, ImageManifest};
use serde_json::Value;
use tar::Archive;
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The images of both programs in a directory. The profile differs from that of a user: it compiles in a fraction of the time.
fn images() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_image"))
        .args(["--profile", "dev", "--output"])
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .arg(directory.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    for program in PROGRAMS {
        let archive = archive(directory.path(), program);
        let digest = digest(directory.path(), program);
        let load = format!("docker load --input {}", archive.display());
        for expected in [&*format!("{program}:{VERSION}\n"), &digest, &load] {
            assert!(output.contains(expected), "{expected} is missing in:\n{output}");
        }
    }
    directory
}

fn archive(directory: &Path, program: &str) -> PathBuf {
    directory.join(format!("{program}.tar"))
}

fn manifest_descriptor(directory: &Path, program: &str) -> oci_spec::image::Descriptor {
    let index = ImageIndex::from_file(directory.join(program).join("index.json")).unwrap();
    index.manifests()[0].clone()
}

fn digest(directory: &Path, program: &str) -> String {
    manifest_descriptor(directory, program).digest().to_string()
}

/// Runs a command and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// A registry in memory on the loopback interface; killed on drop.
struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    fn start(crane: &Path) -> Self {
        let mut process = Command::new(crane)
            .args(["registry", "serve", "--address", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let line = lines.find(|line| line.as_ref().unwrap().contains("serving on port "));
        let line = line.expect("crane reports its port").unwrap();
        let port = line.rsplit(' ').next().unwrap().to_owned();
        // Later lines of its log are dropped, so that the pipe never fills.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            address: format!("127.0.0.1:{port}"),
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Extracts the only layer of the layout.
fn extract(directory: &Path, program: &str) -> TempDir {
    let blobs = directory.join(program).join("blobs/sha256");
    let manifest = manifest_descriptor(directory, program);
    let manifest = ImageManifest::from_file(blobs.join(manifest.digest().digest())).unwrap();
    let layer = File::open(blobs.join(manifest.layers()[0].digest().digest())).unwrap();
    let root = tempfile::tempdir().unwrap();
    Archive::new(GzDecoder::new(layer)).unpack(root.path()).unwrap();
    root
}

/// Whether an optional program can be used; prints the reason if not.
fn available(command: &mut Command) -> bool {
    let reason = match command.output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    println!("skipped: {command:?}: {reason}");
    false
}

#[test]
fn images_are_valid_and_their_programs_run() {
    let assets = ensure(&[Program::Crane], &mut |line| eprintln!("{line}")).unwrap();
    let crane = assets.path(Program::Crane);
    let directory = images();
    let directory = directory.path();
    let registry = Registry::start(crane);
    let has_skopeo = available(Command::new("skopeo").arg("--version"));
    let has_docker = available(Command::new("docker").arg("version"));
    for program in PROGRAMS {
        let (layout, archive) = (directory.join(program), archive(directory, program));
        let digest = digest(directory, program);
        run(Command::new(crane).args(["validate", "--tarball"]).arg(&archive));
        let remote = format!("{}/{program}:{VERSION}", registry.address);
        run(Command::new(crane).arg("push").arg(&layout).arg(&remote));
        run(Command::new(crane).args(["validate", "--remote", &remote]));
        assert_eq!(run(Command::new(crane).args(["digest", &remote])).trim(), digest);
        if has_skopeo {
            for transport in ["oci-archive", "docker-archive"] {
                let source = format!("{transport}:{}", archive.display());
                run(Command::new("skopeo").args(["inspect", &source]));
            }
        }
        if has_docker {
            let loaded = run(Command::new("docker").arg("load").arg("--input").arg(&archive));
            assert!(loaded.contains(&format!("{program}:{VERSION}")), "{loaded}");
        }
        check_content(&extract(directory, program), program);
    }
}

/// The program runs without any other file, and neither it nor the SBOM has a path of this machine.
fn check_content(root: &TempDir, program: &str) {
    let path = root.path().join(program);
    assert_eq!(
        run(Command::new(&path).arg("--version")).trim(),
        format!("{program} {VERSION}")
    );
    let mut isolated = Command::new("unshare");
    isolated
        .args(["--map-root-user", "--root"])
        .arg(root.path())
        .arg(format!("/{program}"))
        .arg("--help");
    if available(Command::new("unshare").args(["--map-root-user", "true"])) {
        assert!(run(&mut isolated).contains("--kubeconfig"));
    }
    let content = fs::read(&path).unwrap();
    let content = String::from_utf8_lossy(&content);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = std::env::home_dir().unwrap().join(".cargo");
    for private in [workspace.canonicalize().unwrap(), home] {
        assert!(!content.contains(private.to_str().unwrap()), "{}", private.display());
    }
    let sbom: Value = serde_json::from_slice(&fs::read(root.path().join(SBOM_PATH)).unwrap()).unwrap();
    let purls: Vec<_> = sbom["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["purl"].as_str().unwrap())
        .collect();
    assert!(
        purls.iter().any(|purl| purl.starts_with("pkg:cargo/ring@")),
        "{purls:?}"
    );
    assert!(
        !purls
            .iter()
            .any(|purl| purl.contains("/apisim@") || purl.contains("/syn@")),
        "{purls:?}"
    );
}
