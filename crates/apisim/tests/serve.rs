//! The server over HTTP/1.1 and HTTP/2, and faults of whole connections.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

use std::task::Poll;

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match, Recorded},
    request::Verb,
    serve::{ConnectionNumber, HttpServer},
};
use bytes::Bytes;
use futures::poll;
use http::{Request, Response, StatusCode, Version, header::HOST};
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

const NAMESPACES: &str = "/api/v1/namespaces";

async fn start() -> (HttpServer, Faults) {
    let faults = Faults::default();
    let service = FaultService::new(ApiSim::new(), faults.clone());
    (HttpServer::start(service).await.unwrap(), faults)
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://sim{path}");
    Request::get(uri).header(HOST, "sim").body(Empty::new()).unwrap()
}

/// One HTTP/2 connection.
#[derive(Clone)]
struct Http2(http2::SendRequest<Empty<Bytes>>);

impl Http2 {
    async fn connect(server: &HttpServer) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    async fn get(&mut self, path: &str) -> hyper::Result<Response<Incoming>> {
        self.0.ready().await?;
        self.0.send_request(get(path)).await
    }

    async fn lists(&mut self) -> bool {
        let Ok(response) = self.get(NAMESPACES).await else {
            return false;
        };
        let status = response.status();
        response.into_body().collect().await.unwrap();
        status == StatusCode::OK
    }
}

#[tokio::test]
async fn a_client_chooses_http1_or_http2() {
    let (server, faults) = start().await;
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(get(NAMESPACES)).await.unwrap();
    assert_eq!(
        (response.status(), response.version()),
        (StatusCode::OK, Version::HTTP_11)
    );
    let mut http2 = Http2::connect(&server).await;
    let response = http2.get(NAMESPACES).await.unwrap();
    assert_eq!(
        (response.status(), response.version()),
        (StatusCode::OK, Version::HTTP_2)
    );
    assert!(http2.lists().await);

    let of = |recorded: Recorded| (recorded.version, recorded.connection.unwrap().0);
    let seen: Vec<_> = faults.requests(&Match::verb(Verb::List)).into_iter().map(of).collect();
    assert_eq!(
        seen,
        [(Version::HTTP_11, 0), (Version::HTTP_2, 1), (Version::HTTP_2, 1)]
    );
    let opened = server.connections().opened();
    let versions: Vec<_> = opened.iter().map(|connection| connection.version).collect();
    assert_eq!(versions, [Some(Version::HTTP_11), Some(Version::HTTP_2)]);
    assert!(opened.iter().all(|connection| connection.is_open));
}

#[tokio::test]
async fn frozen_connections_stay_silent_and_new_ones_are_served() {
    let (server, _) = start().await;
    let mut frozen = [Http2::connect(&server).await, Http2::connect(&server).await];
    for connection in &mut frozen {
        assert!(connection.lists().await);
    }
    assert_eq!(server.connections().freeze_all(), 2);
    let [mut first, mut second] = frozen;
    let mut waiting = [Box::pin(first.lists()), Box::pin(second.lists())];
    for response in &mut waiting {
        assert_eq!(poll!(response.as_mut()), Poll::Pending);
    }
    let mut new = Http2::connect(&server).await;
    for _ in 0..100 {
        assert!(new.lists().await);
    }
    for response in &mut waiting {
        assert_eq!(poll!(response.as_mut()), Poll::Pending);
    }
    server.connections().thaw_all();
    for response in waiting {
        assert!(response.await);
    }
}

#[tokio::test]
async fn one_connection_can_be_frozen() {
    let (server, _) = start().await;
    let (mut first, mut second) = (Http2::connect(&server).await, Http2::connect(&server).await);
    assert!(first.lists().await && second.lists().await);
    assert!(server.connections().freeze(ConnectionNumber(0)));
    assert!(!server.connections().freeze(ConnectionNumber(2)));
    let mut response = Box::pin(first.lists());
    assert_eq!(poll!(response.as_mut()), Poll::Pending);
    for _ in 0..100 {
        assert!(second.lists().await);
    }
    assert_eq!(poll!(response.as_mut()), Poll::Pending);
}

#[tokio::test]
async fn a_drained_connection_finishes_its_requests_and_takes_no_new_ones() {
    let (server, _) = start().await;
    let mut client = Http2::connect(&server).await;
    let path = format!(
        "{NAMESPACES}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    );
    let watch = client.get(&path).await.unwrap();
    server.connections().drain_all();
    // GOAWAY arrives after the requests that were sent before it.
    while client.lists().await {}
    assert_eq!(watch.status(), StatusCode::OK);
    let events = watch.into_body().collect().await.unwrap().to_bytes();
    assert!(events.starts_with(b"{"), "{events:?}");
    while server.connections().opened()[0].is_open {
        tokio::task::yield_now().await;
    }
    assert!(Http2::connect(&server).await.lists().await);
}

#[tokio::test]
async fn a_closed_connection_fails_its_requests() {
    let (server, _) = start().await;
    let mut client = Http2::connect(&server).await;
    let watch = client.get(&format!("{NAMESPACES}?watch=true&resourceVersion=1")).await;
    server.connections().close_all();
    assert!(watch.unwrap().into_body().collect().await.is_err());
    assert!(!client.lists().await);
}
