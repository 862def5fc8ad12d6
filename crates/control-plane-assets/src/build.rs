//! Runs `go build`, one program after the other, one builder at a time.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Program;
use super::error::{AssetsError, io_error};
use super::module::{Module, package};

/// Begins the name of a directory in which a build is under way.
const UNFINISHED: &str = ".unfinished-";
/// How much of go's output an error carries.
const LINES_OF_OUTPUT: usize = 12;

/// Builds what of `wanted` is still missing once no other builder is at work.
pub(super) fn build(
    go: &OsStr,
    cache: &Path,
    wanted: &[(Program, Module)],
    progress: &mut dyn FnMut(&str),
) -> Result<(), AssetsError> {
    fs::create_dir_all(cache).map_err(io_error("create", cache))?;
    // Held until the end of this function; the system frees it should we die.
    let _lock = lock(cache, progress)?;
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(program, module)| !module.directory(cache).join(program.name()).is_file())
        .collect();
    for (index, (program, module)) in missing.iter().enumerate() {
        let name = program.name();
        let (number, count) = (index + 1, missing.len());
        progress(&format!("building {name} ({number} of {count}), this takes minutes …"));
        let begin = Instant::now();
        build_one(go, &module.directory(cache), *program, module)?;
        let seconds = begin.elapsed().as_secs();
        progress(&format!("built {name} in {seconds} s"));
    }
    Ok(())
}

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

/// Builds into a directory of its own next to the place and moves the finished
/// file there, so that what is in place is always whole.
fn build_one(go: &OsStr, directory: &Path, program: Program, module: &Module) -> Result<(), AssetsError> {
    fs::create_dir_all(directory).map_err(io_error("create", directory))?;
    remove_unfinished(directory).map_err(io_error("tidy", directory))?;
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(directory)
        .map_err(io_error("create a directory in", directory))?;
    let name = program.name();
    let output = unfinished.path().join(name);
    run_go(go, &output, program, module)?;
    let place = directory.join(name);
    fs::rename(&output, &place).map_err(io_error("create", place))
}

/// What a killed builder left. Only the holder of the lock builds, so nobody
/// is at work there.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
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
        // The module decides, not a workspace around it, flags for another
        // project, or a cross build under way.
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
        output: end_of(&String::from_utf8_lossy(&result.stderr)),
    })
}

/// The last lines on one line, which is what an error is.
fn end_of(output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_OF_OUTPUT)..].join(" | ")
}
