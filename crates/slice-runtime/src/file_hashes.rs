//! Detects changed files of certificates and keys.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    path::PathBuf,
};

/// Files with a hash of their content.
#[derive(Debug)]
pub(crate) struct FileHashes {
    paths: Vec<PathBuf>,
    hasher: RandomState,
    hashes: Option<Vec<u64>>,
}

impl FileHashes {
    pub(crate) fn read(paths: Vec<PathBuf>) -> Self {
        let mut files = Self {
            paths,
            hasher: RandomState::new(),
            hashes: None,
        };
        files.hashes = files.hash();
        files
    }

    /// Whether a file has changed and all can be read.
    pub(crate) fn changed(&self) -> bool {
        self.hash().is_some_and(|hashes| self.hashes.as_ref() != Some(&hashes))
    }

    /// None if a file cannot be read, for example because it is being replaced.
    fn hash(&self) -> Option<Vec<u64>> {
        let hash = |path| Some(self.hasher.hash_one(fs::read(path).ok()?));
        self.paths.iter().map(hash).collect()
    }
}
