//! Command lines of documents.

use std::{
    env,
    path::Path,
    process::{Output, Stdio},
};

use tokio::process::Command;

use crate::{assets::Program, error::Error, files::ensure_programs};

/// Executes a line in a shell, in the root of the repository: with the kubectl and Helm of the control plane, and without
/// configuration of the user but this kubeconfig.
pub async fn execute(line: &str, kubeconfig: &Path) -> Result<Output, Error> {
    const PROGRAMS: [Program; 2] = [Program::Kubectl, Program::Helm];
    let programs = ensure_programs(&PROGRAMS).await?;
    let directories = PROGRAMS.map(|program| programs.path(program).with_file_name(""));
    let inherited = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(directories.into_iter().chain(env::split_paths(&inherited)));
    let path = path.map_err(|error| Error::System {
        action: "put kubectl and helm on PATH".to_owned(),
        source: std::io::Error::other(error),
    })?;
    let home = tempfile::tempdir().map_err(Error::system("make a temporary directory"))?;
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_clear()
        .env("PATH", path)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output();
    output.await.map_err(Error::system(format!("execute `{line}`")))
}
