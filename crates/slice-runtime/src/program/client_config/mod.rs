//! Client configuration: kubeconfig, in-cluster configuration, `--master`.

use std::{path::PathBuf, sync::Arc};

use futures::FutureExt as _;
use http::{HeaderValue, Uri, header::USER_AGENT};
use kube::{
    Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use crate::client::{ConnectionOptions, Connections};

/// Why there is no client configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientConfigError {
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        file: String,
        #[source]
        error: KubeconfigError,
    },
    #[error("cannot use the kubeconfig of $KUBECONFIG or ~/.kube/config")]
    DefaultKubeconfig(#[source] KubeconfigError),
    #[error("no client configuration found. Give --kubeconfig or --master, or run in a cluster")]
    NotFound(#[source] InClusterError),
    #[error("--master must be a URL such as https://10.0.0.1:6443, but got {0}")]
    Master(String),
    #[error("cannot build a client for {url}")]
    Client {
        url: String,
        #[source]
        error: Box<kube::Error>,
    },
}

/// Loads the client configuration from `kubeconfig`, else from the default locations or the cluster that the program runs in.
/// `master` overrides the address of the API server. Empty arguments are not given.
pub(super) async fn load(kubeconfig: &str, master: &str, user_agent: &str) -> Result<Config, ClientConfigError> {
    let master = Some(master)
        .filter(|master| !master.is_empty())
        .map(parse)
        .transpose()?;
    let mut config = if kubeconfig.is_empty() {
        load_default(master.clone()).await?
    } else {
        let in_file = |error| ClientConfigError::Kubeconfig {
            file: kubeconfig.to_owned(),
            error,
        };
        from_kubeconfig(Kubeconfig::read_from(kubeconfig).map_err(in_file)?)
            .await
            .map_err(in_file)?
    };
    if let Some(master) = master {
        config.cluster_url = master;
    }
    // The work queue and the reflectors retry, with backoff.
    config.default_retry = false;
    if let Ok(user_agent) = HeaderValue::from_str(user_agent) {
        config.headers.push((USER_AGENT, user_agent));
    }
    Ok(config)
}

/// The connections with a client configuration of [`load`], which is loaded again with the same arguments.
pub(super) fn connections(
    config: Config,
    options: ConnectionOptions,
    (kubeconfig, master, user_agent): (String, String, String),
) -> Result<Connections, ClientConfigError> {
    let url = without_userinfo(&config.cluster_url);
    let arguments = Arc::new((kubeconfig, master, user_agent));
    let load_again = move || {
        let arguments = Arc::clone(&arguments);
        let load = async move {
            let (kubeconfig, master, user_agent) = &*arguments;
            Ok(load(kubeconfig, master, user_agent).await?)
        };
        load.boxed()
    };
    Connections::reloading(config, options, load_again).map_err(|error| ClientConfigError::Client {
        url,
        error: Box::new(error),
    })
}

/// A URL for logs and errors, without the user name and password that it may have.
pub(super) fn without_userinfo(url: &Uri) -> String {
    let text = url.to_string();
    match url
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'))
    {
        Some((userinfo, _)) => text.replacen(&format!("{userinfo}@"), "", 1),
        None => text,
    }
}

fn parse(master: &str) -> Result<Uri, ClientConfigError> {
    let uri = master.parse::<Uri>().ok();
    uri.filter(|uri| uri.scheme().is_some())
        .ok_or_else(|| ClientConfigError::Master(master.to_owned()))
}

async fn load_default(master: Option<Uri>) -> Result<Config, ClientConfigError> {
    match (Kubeconfig::read(), master) {
        (Ok(kubeconfig), _) => from_kubeconfig(kubeconfig)
            .await
            .map_err(ClientConfigError::DefaultKubeconfig),
        (Err(error), _) if !is_missing(&error) => Err(ClientConfigError::DefaultKubeconfig(error)),
        (Err(_), Some(master)) => Ok(Config::new(master)),
        (Err(_), None) => Config::incluster().map_err(ClientConfigError::NotFound),
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

/// The file of the certificate authority, unless the kubeconfig embeds it. It is read again when it changes (F21).
fn authority_file(kubeconfig: &Kubeconfig) -> Option<PathBuf> {
    let context = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == *context)?;
    let cluster = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == *cluster)?;
    let cluster = cluster.cluster.as_ref()?;
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    match non_empty(&cluster.certificate_authority_data) {
        Some(_) => None,
        None => non_empty(&cluster.certificate_authority).map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests;
