//! The client for a context of the kubeconfig.

use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::proxy;

/// How long the API server may take to respond.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client for this context, or for the current one.
pub(crate) async fn client(context: Option<&str>) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read().context("cannot read the kubeconfig of $KUBECONFIG or ~/.kube/config")?;
    check_context(&kubeconfig, context)?;
    let proxy = proxy::of_cluster(&kubeconfig, context);
    let options = KubeConfigOptions {
        context: context.map(ToOwned::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.context("cannot use the kubeconfig")?;
    config.proxy_url = proxy::of_server(&config.cluster_url, proxy.as_deref(), |name| std::env::var(name).ok())?;
    // No request of this command is a watch.
    config.read_timeout = Some(TIMEOUT);
    // kube retries for minutes without a line of output. The waits of this command try again themselves, and print why.
    config.default_retry = false;
    let server = config.cluster_url.clone();
    let client = Client::try_from(config).with_context(|| format!("cannot build a client for {server}"))?;
    let version = client.apiserver_version().await;
    let version =
        version.with_context(|| format!("nothing was changed: cannot read the version of the API server {server}"))?;
    println!("cluster {server}, Kubernetes {}", version.git_version);
    Ok(client)
}

fn check_context(kubeconfig: &Kubeconfig, context: Option<&str>) -> anyhow::Result<()> {
    let names: Vec<_> = kubeconfig.contexts.iter().map(|named| named.name.as_str()).collect();
    match context {
        Some(context) if !names.contains(&context) => {
            bail!("the kubeconfig has no context {context}; it has {}", list(&names))
        }
        // kubectl writes an empty name if the current context is deleted.
        None if kubeconfig.current_context.as_deref().unwrap_or_default().is_empty() => {
            bail!(
                "the kubeconfig has no current context; give --context, one of {}",
                list(&names)
            )
        }
        _ => Ok(()),
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_context_is_rejected_with_the_known_ones() {
        let kubeconfig = "{contexts: [{name: a}, {name: b}], current-context: a}";
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
        assert!(check_context(&kubeconfig, None).is_ok());
        assert!(check_context(&kubeconfig, Some("b")).is_ok());
        let error = check_context(&kubeconfig, Some("c")).unwrap_err();
        assert_eq!(error.to_string(), "the kubeconfig has no context c; it has a, b");
        let error = check_context(&Kubeconfig::default(), None).unwrap_err();
        assert!(error.to_string().ends_with("one of none"), "{error}");
    }
}
