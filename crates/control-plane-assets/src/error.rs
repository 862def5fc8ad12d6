use std::path::PathBuf;
use std::process::ExitStatus;

use super::ASSETS_VARIABLE;

/// Why a control-plane program is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetsError {
    /// `KUBEBUILDER_ASSETS` is not a directory.
    #[error("{ASSETS_VARIABLE} is {}, which is not a directory: correct or unset it", .0.display())]
    ProvidedMissing(PathBuf),
    /// `KUBEBUILDER_ASSETS` is a directory without control-plane programs.
    #[error(
        "{ASSETS_VARIABLE} is {}, which contains no control-plane program: correct or unset it",
        .0.display()
    )]
    ProvidedEmpty(PathBuf),
    /// The user has no cache directory.
    #[error("no cache directory: set HOME or XDG_CACHE_HOME")]
    NoCacheDirectory,
    /// A program must be built, and Go is not installed.
    #[error(
        "cannot build {program}, Go is not installed: install Go {version} or newer, \
         or set {ASSETS_VARIABLE} to a directory that contains {program}"
    )]
    NoGo {
        /// The program to build.
        program: &'static str,
        /// The oldest Go version that the module supports.
        version: String,
    },
    /// `go build` failed.
    #[error("building {program} failed ({status}); the last output of go: {output}")]
    Build {
        /// The program that was built.
        program: &'static str,
        /// The exit status of `go`.
        status: ExitStatus,
        /// The last lines of its output.
        output: String,
    },
    /// A `go.mod` lacks a required directive.
    #[error("{} has no directive {directive:?}", .path.display())]
    Module {
        /// The `go.mod`.
        path: PathBuf,
        /// The missing directive.
        directive: &'static str,
    },
    /// An operation on a file or directory failed.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// Returns a function for `map_err` that creates an [`AssetsError::Io`].
pub(super) fn io_error(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> AssetsError {
    let path = path.into();
    move |source| AssetsError::Io { action, path, source }
}
