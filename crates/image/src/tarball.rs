//! Tar files that depend on their content only: sorted paths, one time, no owner.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A regular file.
#[derive(Clone, Debug)]
pub(crate) struct File<'a> {
    pub(crate) content: &'a [u8],
    pub(crate) mode: u32,
}

/// The tar file of these files by path.
pub(crate) fn tar(files: &BTreeMap<&str, File<'_>>, seconds: u64) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for (path, file) in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(file.mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(seconds);
        header.set_size(file.content.len() as u64);
        tar.append_data(&mut header, path, file.content)?;
    }
    tar.into_inner()
}

/// Compresses without a time stamp or a file name in the header.
pub(crate) fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    gzip.write_all(content)?;
    gzip.finish()
}
