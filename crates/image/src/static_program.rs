//! Builds the programs for a musl target: statically linked, without paths of this machine.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail, ensure};
use devtools::cargo;
use oci_spec::image::Arch;

use crate::workspace::Workspace;

/// The platform of the images: that of this machine.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name of the Rust target.
    pub triple: &'static str,
    /// The architecture in the image.
    pub architecture: Arch,
}

impl Target {
    /// The target of this machine.
    pub fn host() -> anyhow::Result<Self> {
        Self::of(env::consts::OS, env::consts::ARCH)
    }

    fn of(os: &str, arch: &str) -> anyhow::Result<Self> {
        let (triple, architecture) = match (os, arch) {
            ("linux", "x86_64") => ("x86_64-unknown-linux-musl", Arch::Amd64),
            ("linux", "aarch64") => ("aarch64-unknown-linux-musl", Arch::ARM64),
            _ => bail!(
                "no image for {os} on {arch}: run this command on Linux on x86_64 or aarch64, or use deploy/Containerfile"
            ),
        };
        Ok(Self { triple, architecture })
    }
}

/// Builds the programs with a profile of the workspace. Returns their paths in the order of `programs`.
pub fn build(workspace: &Workspace, target: &Target, profile: &str, programs: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let compiler = Compiler::read()?;
    install_standard_library(&compiler, target)?;
    let cargo_home = cargo_home()?;
    let mut command = cargo();
    command
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            compiler.flags(workspace, &cargo_home).join("\x1f"),
        )
        // The program has no time in it. Build scripts depend on the variable, so another time would compile `ring` again.
        .env_remove("SOURCE_DATE_EPOCH");
    // `ring` has C code, which needs no C library: the compiler of this machine suffices, without musl's headers.
    let variable = |name: &str| format!("{name}_{}", target.triple.replace('-', "_"));
    if env::var_os(variable("CC")).is_none() {
        command.env(variable("CC"), "cc").env(
            variable("CFLAGS"),
            // The checks of _FORTIFY_SOURCE, a default of some distributions, call functions that only glibc has.
            format!("-U_FORTIFY_SOURCE -ffile-prefix-map={}=/cargo", cargo_home.display()),
        );
    }
    let mut selection = vec!["--locked", "--profile", profile, "--target", target.triple];
    selection.extend(programs.iter().flat_map(|program| ["--package", program]));
    devtools::build_with(command, &selection, programs)
        .with_context(|| format!("cannot build {} for {}", programs.join(" and "), target.triple))
}

/// The Rust compiler.
#[derive(Debug)]
struct Compiler {
    sysroot: PathBuf,
    commit: String,
}

impl Compiler {
    fn read() -> anyhow::Result<Self> {
        let sysroot = rustc(&["--print", "sysroot"])?;
        let version = rustc(&["--version", "--verbose"])?;
        let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
        Ok(Self {
            sysroot: PathBuf::from(sysroot.trim()),
            commit: commit.unwrap_or("unknown").to_owned(),
        })
    }

    /// Flags that replace the paths of this machine in the programs. Of several prefixes that match, the last one is used.
    fn flags(&self, workspace: &Workspace, cargo_home: &Path) -> Vec<String> {
        // Without the component rust-src, the compiler itself writes this path for the standard library.
        let library = format!("/rustc/{}", self.commit);
        [
            (self.sysroot.join("lib/rustlib/src/rust").as_path(), library.as_str()),
            (cargo_home, "/cargo"),
            (&workspace.workspace_root, "/src"),
            (&workspace.target_directory, "/src/target"),
        ]
        .map(|(path, replacement)| format!("--remap-path-prefix={}={replacement}", path.display()))
        .into()
    }
}

/// Adds the standard library of the target to the toolchain if it is missing.
fn install_standard_library(compiler: &Compiler, target: &Target) -> anyhow::Result<()> {
    let triple = target.triple;
    if compiler.sysroot.join("lib/rustlib").join(triple).join("lib").is_dir() {
        return Ok(());
    }
    eprintln!("installing the Rust standard library for {triple} …");
    let status = Command::new("rustup").args(["target", "add", triple]).status();
    ensure!(
        status.is_ok_and(|status| status.success()),
        "the Rust target {triple} is missing and `rustup target add {triple}` failed: install its standard library as you \
         installed Rust, or use deploy/Containerfile"
    );
    Ok(())
}

fn rustc(arguments: &[&str]) -> anyhow::Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(&rustc).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {}", rustc.display()))?;
    ensure!(
        output.status.success(),
        "`{} {}` failed: {}",
        rustc.display(),
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).context("the output of rustc is not UTF-8")
}

fn cargo_home() -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os("CARGO_HOME") {
        return Ok(PathBuf::from(path));
    }
    let home = env::home_dir().context("no home directory: set HOME or CARGO_HOME")?;
    Ok(home.join(".cargo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platform_without_image_is_an_error_that_names_the_containerfile() {
        let error = Target::of("macos", "aarch64").unwrap_err().to_string();
        assert!(
            error.starts_with("no image for macos on aarch64: ") && error.ends_with("deploy/Containerfile"),
            "{error}"
        );
        assert_eq!(
            Target::of("linux", "aarch64").unwrap().triple,
            "aarch64-unknown-linux-musl"
        );
    }
}
