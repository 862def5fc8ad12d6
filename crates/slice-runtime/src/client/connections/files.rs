//! The files of certificates and keys in a client configuration. Token files are read again by kube.

use std::path::PathBuf;

use kube::Config;

use crate::file_hashes::FileHashes;

pub(super) fn credential_files(config: &Config) -> FileHashes {
    let auth = &config.auth_info;
    let identity = [&auth.client_certificate, &auth.client_key].into_iter().flatten();
    let paths = identity.map(PathBuf::from).chain(config.root_cert_file.clone());
    FileHashes::read(paths.collect())
}
