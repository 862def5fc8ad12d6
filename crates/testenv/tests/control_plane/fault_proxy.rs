//! The fault scenarios through the proxy, on a real kube-apiserver, over HTTP/1.1 and HTTP/2.

use apisim::{
    faults::{Match, Recorded},
    request::Verb,
};
use http::Version;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy, rt::TokioExecutor};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::ListParams,
    client::{Body, ConfigExt as _},
    config::KubeConfigOptions,
};
use testenv::{ControlPlane, FaultProxy, Protocol, ProxyProtocols};
use tokio::sync::OnceCell;
use tower::{BoxError, ServiceBuilder};

use crate::faults::{FaultHarness, all_scenarios};

/// Shared by all scenarios; killed with the test process.
static CONTROL_PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

async fn control_plane() -> &'static ControlPlane {
    CONTROL_PLANE
        .get_or_init(async || ControlPlane::start().await.unwrap())
        .await
}

async fn harness(namespace: &str, proxy: FaultProxy<'static>, faulty: Client) -> FaultHarness {
    let direct = control_plane().await.client().unwrap();
    FaultHarness {
        faulty,
        namespace: crate::faults::namespace(&direct, namespace).await,
        direct,
        faults: proxy.faults().clone(),
        _server: Some(Box::new(proxy)),
    }
}

mod http1 {
    use super::*;

    async fn harness(scenario: &str) -> FaultHarness {
        let control_plane = control_plane().await;
        let proxy = FaultProxy::start(control_plane).await.unwrap();
        let client = proxy.client_for(control_plane.admin()).unwrap();
        super::harness(scenario, proxy, client).await
    }

    all_scenarios!(harness);
}

mod http2 {
    use super::*;

    async fn harness(scenario: &str) -> FaultHarness {
        let proxy = http2_proxy().await;
        let client = http2_client(&proxy).await;
        super::harness(&format!("h2_{scenario}"), proxy, client).await
    }

    all_scenarios!(harness);
}

async fn http2_proxy() -> FaultProxy<'static> {
    let protocols = ProxyProtocols {
        clients: Protocol::Http2,
        upstream: Protocol::Http2,
    };
    FaultProxy::start_with(control_plane().await, protocols).await.unwrap()
}

/// A client that speaks HTTP/2 only; kube's own connector speaks HTTP/1.1.
async fn http2_client(proxy: &FaultProxy<'_>) -> Client {
    let kubeconfig = proxy.kubeconfig(control_plane().await.admin()).unwrap().content;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config().unwrap())
        .https_only()
        .enable_http2()
        .build();
    let client = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().unwrap())
        .map_err(BoxError::from)
        .service(client);
    Client::new(service, "default")
}

#[tokio::test]
async fn the_client_chooses_http2_if_the_proxy_offers_it() {
    let proxy = http2_proxy().await;
    let http1 = proxy.client_for(control_plane().await.admin()).unwrap();
    let http2 = http2_client(&proxy).await;
    for client in [http1, http2.clone(), http2] {
        let namespaces: Api<Namespace> = Api::all(client);
        namespaces.list(&ListParams::default()).await.unwrap();
    }
    let of = |recorded: Recorded| (recorded.version, recorded.connection.unwrap().0);
    let lists = proxy.faults().requests(&Match::verb(Verb::List));
    assert_eq!(
        lists.into_iter().map(of).collect::<Vec<_>>(),
        [(Version::HTTP_11, 0), (Version::HTTP_2, 1), (Version::HTTP_2, 1)]
    );
    assert_eq!(proxy.connections().opened().len(), 2);
}
