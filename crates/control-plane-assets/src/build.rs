//! Builds missing programs by `go build`, one at a time. A lock file excludes concurrent builds.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Program;
use super::error::{AssetsError, io_error};
use super::module::{Module, package};

/// Name prefix of the directory of an unfinished build.
const UNFINISHED_PREFIX: &str = ".unfinished-";
/// Lines of go's output in an error.
const OUTPUT_LINES_MAX: usize = 12;

/// Takes the build lock, then builds those of `programs` that are still missing from the cache.
pub(super) fn build(
    go: &OsStr,
    cache: &Path,
    programs: &[(Program, Module)],
    progress: &mut dyn FnMut(&str),
) -> Result<(), AssetsError> {
    fs::create_dir_all(cache).map_err(io_error("create", cache))?;
    // Dropped at the end of this function; the operating system releases it if this process is killed.
    let _lock = lock(cache, progress)?;
    let missing: Vec<_> = programs
        .iter()
        .filter(|(program, module)| !module.directory(cache).join(program.name()).is_file())
        .collect();
    for (index, (program, module)) in missing.iter().enumerate() {
        let name = program.name();
        let (number, count) = (index + 1, missing.len());
        progress(&format!("building {name} ({number} of {count}), this takes minutes …"));
        let start = Instant::now();
        build_one(go, &module.directory(cache), *program, module)?;
        let seconds = start.elapsed().as_secs();
        progress(&format!("built {name} in {seconds} s"));
    }
    Ok(())
}

/// Takes the build lock of the cache; waits for another build if necessary.
fn lock(cache: &Path, progress: &mut dyn FnMut(&str)) -> Result<File, AssetsError> {
    let path = cache.join("build.lock");
    let file = File::create(&path).map_err(io_error("create", &path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => progress("waiting for another build …"),
        Err(TryLockError::Error(source)) => return Err(io_error("lock", path)(source)),
    }
    file.lock().map_err(io_error("lock", path))?;
    Ok(file)
}

/// Builds into a temporary directory and renames the finished file, so that the cache never holds an incomplete program.
fn build_one(go: &OsStr, directory: &Path, program: Program, module: &Module) -> Result<(), AssetsError> {
    fs::create_dir_all(directory).map_err(io_error("create", directory))?;
    remove_unfinished(directory).map_err(io_error("remove unfinished builds in", directory))?;
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED_PREFIX)
        .tempdir_in(directory)
        .map_err(io_error("create a directory in", directory))?;
    let name = program.name();
    let output = unfinished.path().join(name);
    run_go(go, &output, program, module)?;
    let path = directory.join(name);
    fs::rename(&output, &path).map_err(io_error("create", path))
}

/// Removes directories of killed builds. The caller holds the build lock, so that no build uses them.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED_PREFIX.as_bytes())
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn run_go(go: &OsStr, output: &Path, program: Program, module: &Module) -> Result<(), AssetsError> {
    let result = Command::new(go)
        .arg("build")
        .args(&module.flags)
        .arg("-o")
        .arg(output)
        .arg(package(program))
        .current_dir(&module.directory)
        // Ignore Go workspaces, flags and cross-compilation settings of the user's environment.
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .stdin(Stdio::null())
        .output();
    let result = match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AssetsError::NoGo {
                program: program.name(),
                version: module.go_version.clone(),
            });
        }
        other => other.map_err(io_error("run", go))?,
    };
    if result.status.success() {
        return Ok(());
    }
    Err(AssetsError::Build {
        program: program.name(),
        status: result.status,
        output: last_lines(&String::from_utf8_lossy(&result.stderr)),
    })
}

/// The last lines of the output, joined to one line for an error message.
fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..].join(" | ")
}
