use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Program;
use super::error::{AssetsError, io_error};

/// The files that determine the build result of a module.
const FILES: [&str; 3] = ["go.mod", "go.sum", "tools.go"];

/// A Go module that pins the versions of programs.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) directory: PathBuf,
    pub(super) go_version: String,
    /// Flags of `go build`.
    pub(super) flags: Vec<String>,
    /// Cache key: a hash of files, flags and platform.
    key: String,
}

impl Module {
    pub(super) fn read(directory: PathBuf) -> Result<Self, AssetsError> {
        let mut contents = Vec::new();
        for name in FILES {
            let path = directory.join(name);
            let content = std::fs::read_to_string(&path).map_err(io_error("read", path))?;
            contents.push((name, content));
        }
        let go_mod = contents[0].1.as_str();
        let go_version = word_after(go_mod, "go")
            .ok_or_else(|| AssetsError::Module {
                path: directory.join("go.mod"),
                directive: "go",
            })?
            .to_owned();
        let flags = flags(word_after(go_mod, "k8s.io/kubernetes"));
        let key = key(&contents, &flags);
        Ok(Self {
            directory,
            go_version,
            flags,
            key,
        })
    }

    /// The directory of its programs in the cache.
    pub(super) fn directory(&self, cache: &Path) -> PathBuf {
        cache.join(&self.key)
    }
}

/// The Go package of a program.
pub(super) const fn package(program: Program) -> &'static str {
    match program {
        Program::Etcd => "go.etcd.io/etcd/server/v3",
        Program::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
        Program::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
        Program::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
        Program::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
        Program::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
        Program::Helm => "helm.sh/helm/v4/cmd/helm",
        Program::Crane => "github.com/google/go-containerregistry/cmd/crane",
    }
}

/// Build flags. The linker sets the version of Kubernetes; without it, the programs report v0.0.0 and reject some
/// features of each other.
fn flags(kubernetes: Option<&str>) -> Vec<String> {
    let mut linker = String::from("-s -w");
    if let Some(version) = kubernetes {
        linker.push_str(" -X k8s.io/component-base/version.gitVersion=");
        linker.push_str(version);
    }
    vec!["-trimpath".to_owned(), "-ldflags".to_owned(), linker]
}

/// The cache key: differs if the files, the flags or the platform differ.
fn key(contents: &[(&str, String)], flags: &[String]) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for (name, content) in contents {
        add(name);
        add(content);
    }
    for flag in flags {
        add(flag);
    }
    add(std::env::consts::OS);
    add(std::env::consts::ARCH);
    let digest = hash.finalize();
    digest.iter().take(8).fold(String::new(), |hex, byte| {
        use std::fmt::Write as _;
        let mut hex = hex;
        write!(hex, "{byte:02x}").expect("writing to a String never fails");
        hex
    })
}

/// The word after `word` on the first line of a `go.mod` that begins with it.
fn word_after<'a>(go_mod: &'a str, word: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(word)).then(|| words.next())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(go_sum: &str) -> Vec<(&'static str, String)> {
        vec![("go.mod", "m".to_owned()), ("go.sum", go_sum.to_owned())]
    }

    #[test]
    fn the_key_depends_on_content_and_flags() {
        let base = key(&contents("a"), &flags(Some("v1")));
        assert_eq!(base, key(&contents("a"), &flags(Some("v1"))));
        assert_eq!(base.len(), 16);
        assert_ne!(base, key(&contents("b"), &flags(Some("v1"))));
        assert_ne!(base, key(&contents("a"), &flags(Some("v2"))));
    }

    #[test]
    fn the_key_separates_adjacent_parts() {
        let one = [("go.mod", "ab".to_owned()), ("c", String::new())];
        let other = [("go.mod", "a".to_owned()), ("bc", String::new())];
        assert_ne!(key(&one, &[]), key(&other, &[]));
    }

    #[test]
    fn versions_are_parsed_from_go_mod() {
        let go_mod = "module m\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.4\n)\n";
        assert_eq!(word_after(go_mod, "go"), Some("1.26.0"));
        assert_eq!(word_after(go_mod, "k8s.io/kubernetes"), Some("v1.36.4"));
        assert_eq!(word_after("module m\n", "go"), None);
    }
}
