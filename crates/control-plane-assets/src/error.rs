use std::path::PathBuf;
use std::process::ExitStatus;

use super::ASSETS_VARIABLE;

/// Why the programs of the control plane are not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetsError {
    /// `KUBEBUILDER_ASSETS` names nothing.
    #[error("{ASSETS_VARIABLE} is {}, which is not a directory: correct or unset it", .0.display())]
    ProvidedMissing(PathBuf),
    /// `KUBEBUILDER_ASSETS` names a directory without programs.
    #[error(
        "{ASSETS_VARIABLE} is {}, which holds none of the control plane's programs: correct or unset it",
        .0.display()
    )]
    ProvidedEmpty(PathBuf),
    /// There is no home to keep a cache in.
    #[error("no directory for caches: set HOME or XDG_CACHE_HOME")]
    NoCacheDirectory,
    /// Something has to be built, and there is no Go.
    #[error(
        "{program} has to be built and there is no Go: install Go {version} or newer, \
         or set {ASSETS_VARIABLE} to a directory that holds {program}"
    )]
    NoGo {
        /// What is missing.
        program: &'static str,
        /// The oldest Go that the module builds with.
        version: String,
    },
    /// `go build` said no.
    #[error("building {program} failed ({status}); the end of what go says: {output}")]
    Build {
        /// What was being built.
        program: &'static str,
        /// How `go` ended.
        status: ExitStatus,
        /// The last lines of its output.
        output: String,
    },
    /// A Go module lacks something that every module of ours has.
    #[error("{} does not say {what}", .path.display())]
    Module {
        /// The `go.mod`.
        path: PathBuf,
        /// What it lacks.
        what: &'static str,
    },
    /// A file or directory could not be used.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it did not work.
        #[source]
        source: std::io::Error,
    },
}

/// For `map_err`: an [`AssetsError::Io`] with this action and path.
pub(super) fn io_error(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> AssetsError {
    let path = path.into();
    move |source| AssetsError::Io { action, path, source }
}
