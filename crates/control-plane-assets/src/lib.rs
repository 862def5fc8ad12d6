//! Finds the programs of the control plane and builds missing ones.
//!
//! Programs in the directory `KUBEBUILDER_ASSETS` are used as they are. All others come from a cache per user, which [`ensure`]
//! fills by `go build`, from Go modules that pin the versions.

mod build;
mod error;
mod module;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::error::AssetsError;
use self::module::Module;

/// Environment variable with the path of a directory with prebuilt programs.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The storage of the API server.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The built-in controllers of Kubernetes.
    KubeControllerManager,
    /// The scheduler.
    KubeScheduler,
    /// The command line client.
    Kubectl,
    /// The fake kubelet: simulates nodes and their pods.
    Kwok,
    /// The package manager, which renders charts.
    Helm,
    /// Validates container images; no part of the control plane.
    Crane,
}

impl Program {
    /// All programs, in build order.
    pub const ALL: [Self; 8] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kwok,
        Self::Helm,
        Self::Crane,
    ];

    /// The file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Helm => "helm",
            Self::Crane => "crane",
        }
    }
}

/// Paths of the requested programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    paths: BTreeMap<Program, PathBuf>,
}

impl Assets {
    /// The path of a program.
    ///
    /// # Panics
    ///
    /// If the program was not requested.
    #[must_use]
    pub fn path(&self, program: Program) -> &Path {
        &self.paths[&program]
    }
}

/// Finds the programs and builds missing ones.
///
/// Blocks for minutes if `go` has to build; `progress` is called with a line of text at every slow step.
pub fn ensure(programs: &[Program], progress: &mut dyn FnMut(&str)) -> Result<Assets, AssetsError> {
    Sources::from_environment()?.ensure(programs, progress)
}

/// Configuration of the lookup.
struct Sources {
    /// Directory of the Go modules.
    upstream: PathBuf,
    /// Cache directory of the user.
    cache: PathBuf,
    /// The value of `KUBEBUILDER_ASSETS`.
    provided: Option<PathBuf>,
    /// The `go` command.
    go: OsString,
}

impl Sources {
    fn from_environment() -> Result<Self, AssetsError> {
        let cache = dirs::cache_dir().ok_or(AssetsError::NoCacheDirectory)?;
        Ok(Self {
            upstream: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/upstream"),
            cache: cache.join("endpointslice-rs").join("control-plane"),
            provided: std::env::var_os(ASSETS_VARIABLE)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from),
            go: OsString::from("go"),
        })
    }

    fn ensure(&self, programs: &[Program], progress: &mut dyn FnMut(&str)) -> Result<Assets, AssetsError> {
        let provided = self.provided()?;
        let mut paths = BTreeMap::new();
        let mut missing = Vec::new();
        for &program in programs {
            if let Some(path) = provided.get(&program) {
                paths.insert(program, path.clone());
                continue;
            }
            let module = self.module(program)?;
            let path = module.directory(&self.cache).join(program.name());
            if !path.is_file() && !missing.iter().any(|(p, _)| *p == program) {
                missing.push((program, module));
            }
            paths.insert(program, path);
        }
        if !missing.is_empty() {
            build::build(&self.go, &self.cache, &missing, progress)?;
        }
        Ok(Assets { paths })
    }

    /// The programs in `KUBEBUILDER_ASSETS`. A directory without programs is an error: the variable is probably wrong, and a
    /// build would take minutes.
    fn provided(&self) -> Result<BTreeMap<Program, PathBuf>, AssetsError> {
        let Some(directory) = &self.provided else {
            return Ok(BTreeMap::new());
        };
        if !directory.is_dir() {
            return Err(AssetsError::ProvidedMissing(directory.clone()));
        }
        let found: BTreeMap<_, _> = Program::ALL
            .into_iter()
            .map(|program| (program, directory.join(program.name())))
            .filter(|(_, path)| path.is_file())
            .collect();
        if found.is_empty() {
            return Err(AssetsError::ProvidedEmpty(directory.clone()));
        }
        Ok(found)
    }

    /// The Go module that pins a program.
    fn module(&self, program: Program) -> Result<Module, AssetsError> {
        let directory = match program {
            Program::Kwok | Program::Helm | Program::Crane => self.upstream.join(program.name()),
            _ => self.upstream.clone(),
        };
        Module::read(directory)
    }
}

#[cfg(test)]
mod tests;
