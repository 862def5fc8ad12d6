//! Detects changed files of certificates and keys. Token files are read again by kube.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    path::PathBuf,
};

use kube::Config;

/// The files of certificates and keys in a client configuration, with a hash of their content.
#[derive(Debug)]
pub(super) struct CredentialFiles {
    paths: Vec<PathBuf>,
    hasher: RandomState,
    hashes: Option<Vec<u64>>,
}

impl CredentialFiles {
    pub(super) fn read(config: &Config) -> Self {
        let auth = &config.auth_info;
        let identity = [&auth.client_certificate, &auth.client_key].into_iter().flatten();
        let mut files = Self {
            paths: identity
                .map(PathBuf::from)
                .chain(config.root_cert_file.clone())
                .collect(),
            hasher: RandomState::new(),
            hashes: None,
        };
        files.hashes = files.hash();
        files
    }

    /// Whether a file has changed and all can be read.
    pub(super) fn changed(&self) -> bool {
        self.hash().is_some_and(|hashes| self.hashes.as_ref() != Some(&hashes))
    }

    /// None if a file cannot be read, for example because it is being replaced.
    fn hash(&self) -> Option<Vec<u64>> {
        let hash = |path| Some(self.hasher.hash_one(fs::read(path).ok()?));
        self.paths.iter().map(hash).collect()
    }
}
