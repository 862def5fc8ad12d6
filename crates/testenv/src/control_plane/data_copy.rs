//! Copies of etcd's data, to which the control plane can go back.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::ControlPlane;
use crate::error::Error;

/// A copy of etcd's data; removed with the environment.
#[derive(Debug)]
pub struct EtcdCopy {
    path: PathBuf,
}

impl ControlPlane {
    /// Copies etcd's data. etcd is restarted, which the API server survives.
    pub async fn copy_etcd(&self) -> Result<EtcdCopy, Error> {
        self.etcd().stop().await?;
        let copy = EtcdCopy {
            path: self.files.fresh_directory()?,
        };
        copy_directory(&self.files.etcd_directory(), &copy.path).map_err(Error::system("copy the data of etcd"))?;
        self.etcd().start().await?;
        Ok(copy)
    }

    /// Goes back to an earlier copy of etcd's data: kills the API server and etcd, replaces the data and starts both.
    /// Resource versions go back, as after a restored backup.
    pub async fn restore_etcd(&self, copy: &EtcdCopy) -> Result<(), Error> {
        self.apiserver().kill().await?;
        self.etcd().kill().await?;
        let data = self.files.etcd_directory();
        fs::remove_dir_all(&data)
            .and_then(|()| copy_directory(&copy.path, &data))
            .map_err(Error::system("replace the data of etcd"))?;
        self.etcd().start().await?;
        self.apiserver().start().await
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_directory(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
