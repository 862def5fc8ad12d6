//! Starts the secure port.

use std::sync::Arc;

use super::{
    CommonArgs, ConfigErrors,
    authorization::Authorizer,
    client_config,
    server::{self, Port, SecurePort, tls::ServingTls},
    status_endpoints::StatusEndpoints,
};
use crate::client::Connections;

/// Serves the endpoints by HTTPS, unless `--secure-port` is 0.
pub(super) async fn start(
    common: &CommonArgs,
    program: &str,
    user_agent: &str,
    endpoints: StatusEndpoints,
) -> Result<(), ConfigErrors> {
    let args = &common.secure_port;
    if args.secure_port == 0 {
        return Ok(());
    }
    let files = args.certificate_files();
    let self_signed = files.is_none();
    let tls = match files {
        Some(files) => ServingTls::reloading(files)?,
        None => ServingTls::self_signed(program)?,
    };
    let authentication = connections(common, &args.authentication_kubeconfig, user_agent).await?;
    let authorization = connections(common, &args.authorization_kubeconfig, user_agent).await?;
    let always_allowed = args.authorization_always_allow_paths.clone();
    let authorizer = Authorizer::new(always_allowed, authentication, authorization, &endpoints.metrics);
    let (address, port) = (args.bind_address, args.secure_port);
    let listener = server::listen_on(address, port).await.map_err(|error| {
        let mut errors = ConfigErrors::default();
        errors.add(&format!(
            "cannot listen on --secure-port={port} of --bind-address={address}: {error}"
        ));
        errors
    })?;
    tracing::info!(address = %listener.local_addr()?, self_signed, "the secure port is open");
    let secure = SecurePort {
        tls,
        authorizer: Arc::new(authorizer),
    };
    let port = Port {
        endpoints,
        secure: Some(secure),
    };
    tokio::spawn(server::serve(listener, port));
    Ok(())
}

/// Connections for reviews. They are not those of the controller, which reviews thus cannot affect.
async fn connections(common: &CommonArgs, kubeconfig: &str, user_agent: &str) -> Result<Connections, ConfigErrors> {
    let (kubeconfig, master) = if kubeconfig.is_empty() {
        (common.kubeconfig.as_str(), common.master.as_str())
    } else {
        (kubeconfig, "")
    };
    let config = client_config::load(kubeconfig, master, user_agent).await?;
    let load_arguments = (kubeconfig.to_owned(), master.to_owned(), user_agent.to_owned());
    Ok(client_config::connections(
        config,
        common.connection_options(),
        load_arguments,
    )?)
}
