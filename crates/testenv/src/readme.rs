//! The commands in README.md.

use std::path::Path;

use tempfile::TempDir;

use crate::{error::Error, sim::SimServer, test_process::TestProcess};

/// The text of README.md.
pub fn text() -> Result<String, Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    std::fs::read_to_string(&path).map_err(Error::system(format!("read {}", path.display())))
}

/// The arguments of a package's process in README.md.
pub fn arguments(package: &str) -> Result<Vec<String>, Error> {
    let start = format!("cargo run --release -p {package} -- ");
    let readme = text()?;
    let line = readme.lines().find_map(|line| line.strip_prefix(&start));
    let missing = || Error::System {
        action: format!("find `{start}…` in README.md"),
        source: std::io::ErrorKind::NotFound.into(),
    };
    let line = line.ok_or_else(missing)?;
    Ok(line.split_whitespace().map(ToOwned::to_owned).collect())
}

/// Starts a package's process with the arguments in README.md and a kubeconfig of the server. The kubeconfig is removed
/// with the returned directory.
pub fn start(program: impl AsRef<Path>, package: &str, server: &SimServer) -> Result<(TestProcess, TempDir), Error> {
    let directory = tempfile::tempdir().map_err(Error::system("make a temporary directory"))?;
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig()).map_err(Error::system("write a kubeconfig"))?;
    let arguments = arguments(package)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kubeconfig = kubeconfig.to_string_lossy();
    let process = TestProcess::start(program, &arguments, &[("KUBECONFIG", &*kubeconfig)])?;
    Ok((process, directory))
}
