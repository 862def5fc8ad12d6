//! Where the programs of the control plane are, building what is missing.
//!
//! The programs come from `KUBEBUILDER_ASSETS` for what that directory holds
//! and otherwise from a cache of the user, which [`ensure`] fills with
//! `go build` from the Go modules that pin their versions.

mod build;
mod error;
mod module;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use self::error::AssetsError;
use self::module::Module;

/// The environment variable that names a directory with ready-made programs.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The store behind the API server.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The controllers that come with Kubernetes.
    KubeControllerManager,
    /// Assigns pods to nodes.
    KubeScheduler,
    /// The command line client.
    Kubectl,
    /// The fake kubelet: runs pods on nodes that do not exist.
    Kwok,
}

impl Program {
    /// Every program, in the order in which they are built.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kwok,
    ];

    /// The name of its file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
        }
    }
}

/// Where each of the programs asked for is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    paths: BTreeMap<Program, PathBuf>,
}

impl Assets {
    /// The file of a program.
    ///
    /// # Panics
    ///
    /// When the program was not among those asked for.
    #[must_use]
    pub fn path(&self, program: Program) -> &Path {
        &self.paths[&program]
    }
}

/// Finds the programs, building those that are missing.
///
/// Blocks: at once when everything is there, for minutes when `go` has to
/// build. `progress` gets a line for a person at every step that takes time.
pub fn ensure(programs: &[Program], progress: &mut dyn FnMut(&str)) -> Result<Assets, AssetsError> {
    Sources::from_environment()?.ensure(programs, progress)
}

/// The places that programs come from.
struct Sources {
    /// The Go modules.
    upstream: PathBuf,
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

    /// What `KUBEBUILDER_ASSETS` holds. A directory with nothing in it is a
    /// mistake in the variable, not a reason to build for minutes.
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

    fn module(&self, program: Program) -> Result<Module, AssetsError> {
        let directory = match program {
            Program::Kwok => self.upstream.join("kwok"),
            _ => self.upstream.clone(),
        };
        Module::read(directory)
    }
}

#[cfg(test)]
mod tests;
