//! The way to the API server.

use std::path::PathBuf;

use http::{HeaderValue, Uri, header::USER_AGENT};
use kube::{
    Client, Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        file: String,
        #[source]
        error: KubeconfigError,
    },
    #[error("cannot use the kubeconfig that $KUBECONFIG or ~/.kube/config names")]
    DefaultKubeconfig(#[source] KubeconfigError),
    #[error("where is the API server? Give --kubeconfig or --master, or run in a cluster")]
    Nowhere(#[source] InClusterError),
    #[error("--master must be a URL such as https://10.0.0.1:6443, but got {0}")]
    Master(String),
    #[error("cannot connect to {url}")]
    Client {
        url: Uri,
        #[source]
        error: Box<kube::Error>,
    },
}

/// How to reach the API server: as `kubeconfig` says, else as is found in the usual places, with `master` in place of the
/// server's address. Empty means not given.
pub(super) async fn configure(kubeconfig: &str, master: &str, user_agent: &str) -> Result<Config, ConnectError> {
    let master = Some(master)
        .filter(|master| !master.is_empty())
        .map(parse)
        .transpose()?;
    let mut config = if kubeconfig.is_empty() {
        found(master.clone()).await?
    } else {
        let at = |error| ConnectError::Kubeconfig {
            file: kubeconfig.to_owned(),
            error,
        };
        from_kubeconfig(Kubeconfig::read_from(kubeconfig).map_err(at)?)
            .await
            .map_err(at)?
    };
    if let Some(master) = master {
        config.cluster_url = master;
    }
    // What failed is decided upon in the queue, not repeated behind its back.
    config.default_retry = false;
    if let Ok(user_agent) = HeaderValue::from_str(user_agent) {
        config.headers.push((USER_AGENT, user_agent));
    }
    Ok(config)
}

/// A client for it.
pub(super) fn client(config: Config) -> Result<Client, ConnectError> {
    let url = config.cluster_url.clone();
    Client::try_from(config).map_err(|error| ConnectError::Client {
        url,
        error: Box::new(error),
    })
}

fn parse(master: &str) -> Result<Uri, ConnectError> {
    let uri = master.parse::<Uri>().ok();
    uri.filter(|uri| uri.scheme().is_some())
        .ok_or_else(|| ConnectError::Master(master.to_owned()))
}

async fn found(master: Option<Uri>) -> Result<Config, ConnectError> {
    match (Kubeconfig::read(), master) {
        (Ok(kubeconfig), _) => from_kubeconfig(kubeconfig)
            .await
            .map_err(ConnectError::DefaultKubeconfig),
        (Err(error), _) if !is_missing(&error) => Err(ConnectError::DefaultKubeconfig(error)),
        (Err(_), Some(master)) => Ok(Config::new(master)),
        (Err(_), None) => Config::incluster().map_err(ConnectError::Nowhere),
    }
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

async fn from_kubeconfig(kubeconfig: Kubeconfig) -> Result<Config, KubeconfigError> {
    let authority = authority_file(&kubeconfig);
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.root_cert_file = authority;
    Ok(config)
}

/// The file with the certificate authority, if it is a file: it is read again when it changes (F21).
fn authority_file(kubeconfig: &Kubeconfig) -> Option<PathBuf> {
    let context = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == *context)?;
    let cluster = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == *cluster)?;
    let cluster = cluster.cluster.as_ref()?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    match given(&cluster.certificate_authority_data) {
        Some(_) => None,
        None => given(&cluster.certificate_authority).map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests;
