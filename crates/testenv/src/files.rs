//! The directory of an environment: certificates, kubeconfigs, logs and data of its components.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::Config;

use crate::access::{KubeconfigFile, User, write_private};
use crate::assets::{self, Assets, Program};
use crate::component::{Component, ComponentSpec};
use crate::error::Error;
use crate::pki::Pki;
use crate::ports;
use crate::reaper::Reaper;

/// The group of cluster administrators.
const ADMINISTRATORS: &str = "system:masters";
/// Maximum number of ports to try.
const MAX_ATTEMPTS: usize = 5;

/// The directory of an environment, with its certificate authority.
pub(crate) struct Files {
    reaper: Arc<Reaper>,
    pki: Pki,
    next_id: AtomicUsize,
}

impl Files {
    pub(crate) fn new() -> Result<Self, Error> {
        let reaper = Reaper::new().map_err(Error::system("set up a temporary directory"))?;
        let files = Self {
            reaper: Arc::new(reaper),
            pki: Pki::new()?,
            next_id: AtomicUsize::new(0),
        };
        write_private(&files.ca_file(), &files.pki.ca_pem())?;
        Ok(files)
    }

    pub(crate) fn directory(&self) -> &Path {
        self.reaper.directory()
    }

    pub(crate) fn pki(&self) -> &Pki {
        &self.pki
    }

    /// Kills all components and removes the directory.
    pub(crate) fn shut_down(&self) {
        self.reaper.shut_down();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.path("ca.crt")
    }

    /// The data of etcd.
    pub(crate) fn etcd_directory(&self) -> PathBuf {
        self.path("etcd")
    }

    /// Creates a new subdirectory.
    pub(crate) fn fresh_directory(&self) -> Result<PathBuf, Error> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let path = self.path(&number.to_string());
        std::fs::create_dir(&path).map_err(Error::system(format!("create {}", path.display())))?;
        Ok(path)
    }

    /// A user with administrator rights.
    pub(crate) fn administrator(&self, name: &str) -> Result<User, Error> {
        let identity = self.pki.client(name, Some(ADMINISTRATORS))?;
        User::with_certificate(name, identity, &self.fresh_directory()?)
    }

    /// A server certificate in files.
    pub(crate) fn server(&self) -> Result<ServerFiles, Error> {
        let identity = self.pki.server()?;
        let directory = self.fresh_directory()?;
        let (cert, key) = (directory.join("tls.crt"), directory.join("tls.key"));
        write_private(&cert, &identity.cert_pem)?;
        write_private(&key, &identity.key_pem)?;
        Ok(ServerFiles { cert, key })
    }

    pub(crate) fn kubeconfig(&self, user: &User, url: &str) -> Result<KubeconfigFile, Error> {
        let content = user.kubeconfig(url, &self.ca_file());
        let path = self.fresh_directory()?.join("kubeconfig");
        // JSON is YAML, too.
        let json = serde_json::to_string_pretty(&content).map_err(|error| Error::System {
            action: format!("write {}", path.display()),
            source: std::io::Error::other(error),
        })?;
        write_private(&path, &json)?;
        Ok(KubeconfigFile { path, content })
    }

    /// Client configuration of a user for a local port.
    pub(crate) fn config(&self, user: &User, scheme: &str, port: u16) -> Result<Config, Error> {
        user.config(&format!("{scheme}://127.0.0.1:{port}"), self.pki.ca_der())
    }

    /// Starts a component on a free port; tries another port if this one is in use by then.
    pub(crate) async fn launch(
        &self,
        program: Program,
        spec: impl Fn(u16) -> Result<ComponentSpec, Error>,
    ) -> Result<(Component, u16), Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let port = ports::free().map_err(Error::system("find a free port"))?;
            let log = self.path(&format!("{}-{port}.log", program.name()));
            let reaper = Arc::clone(&self.reaper);
            let component = Component::new(program.name(), log, spec(port)?, reaper);
            match component.start().await {
                Err(Error::Ended { log, .. }) if attempts < MAX_ATTEMPTS && ports::port_in_use(&log) => {}
                result => return result.map(|()| (component, port)),
            }
        }
    }
}

/// A server's certificate and key.
pub(crate) struct ServerFiles {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// Finds the binaries and builds them if necessary, on a blocking thread.
pub(crate) async fn ensure_programs(required: &'static [Program]) -> Result<Assets, Error> {
    let found = tokio::task::spawn_blocking(move || assets::ensure(required, &mut |line| eprintln!("testenv: {line}")));
    let assets = found.await.map_err(|panic| Error::System {
        action: "find the control-plane binaries".to_owned(),
        source: std::io::Error::other(panic),
    })?;
    Ok(assets?)
}
