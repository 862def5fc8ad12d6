mod harness;

use std::{
    convert::Infallible,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{AsyncBufReadExt as _, FutureExt as _, future::join_all};
use http::{Request, Version};
use kube::Config;
use serde_json::json;

use super::{super::*, ConnectionOptions, Connections, FailureLog, FileHashes, LogInterval, Purpose, ReloadTask, Uri};
use crate::fixtures::Log;
use harness::{Authority, TestServer};

/// Long enough for a busy machine; tests do not wait for it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// For requests that get no response.
const SHORT_TIMEOUT: Duration = Duration::from_millis(300);

fn config(server: &TestServer, authority: &Authority) -> Config {
    let mut config = Config::new(format!("https://{}", server.address).parse().unwrap());
    config.root_cert = Some(vec![authority.der()]);
    config
}

fn connections(config: Config, options: ConnectionOptions) -> Connections {
    let unchanged = config.clone();
    let load = move || {
        let config = unchanged.clone();
        async { Ok(config) }.boxed()
    };
    Connections::reloading(config, options, load).unwrap()
}

fn without_http2() -> ConnectionOptions {
    ConnectionOptions {
        http2: false,
        ..ConnectionOptions::default()
    }
}

fn api(connections: &Connections, timeout: Duration) -> ApiClient {
    ApiClient::new(connections.clone(), timeout, None)
}

fn get(path: &str) -> BuiltRequest {
    Request::get(path)
        .body(Vec::new())
        .map_err(kube::core::request::Error::BuildRequest)
}

async fn is_timeout(api: &ApiClient, path: &str) -> bool {
    matches!(api.call(get(path)).await, Err(RequestError::Timeout(_)))
}

async fn next_line(stream: &mut ResponseStream) -> std::io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(line)
}

#[tokio::test]
async fn http2_is_negotiated_and_each_purpose_has_its_own_connection() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, true).await;
    let connections = connections(config(&server, &authority), ConnectionOptions::default());
    let mut used = Vec::new();
    for purpose in [Purpose::Watch, Purpose::Write, Purpose::Control, Purpose::Confirm] {
        let api = api(&connections, TIMEOUT).with_purpose(purpose);
        for _ in 0..2 {
            api.call(get("/")).await.unwrap();
        }
        let received = server.received();
        assert!(received.iter().all(|request| request.version == Version::HTTP_2));
        used.push([received[0].connection, received[1].connection]);
    }
    assert!(connections.uses_http2());
    // A list that confirms another one is sent on a new connection.
    assert_eq!(used, [[0, 0], [1, 1], [2, 2], [3, 4]]);
}

#[tokio::test]
async fn http1_is_used_if_the_server_does_not_offer_http2_or_it_is_disabled() {
    let authority = Authority::new();
    for (offered, options) in [(false, ConnectionOptions::default()), (true, without_http2())] {
        let server = TestServer::start(&authority, offered).await;
        let connections = connections(config(&server, &authority), options);
        let api = api(&connections, TIMEOUT);
        let mut stream = api.open_stream(get("/watch")).await.unwrap();
        assert_eq!(next_line(&mut stream).await.unwrap(), "line\n");
        assert!(!stream.is_http2() && !connections.uses_http2());
        assert_eq!(server.received()[0].version, Version::HTTP_11);
    }
}

/// A server that is stopped acknowledges data but responds to no ping (F9).
#[tokio::test]
async fn a_frozen_http2_connection_ends_its_streams_and_all_connections_are_replaced() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, true).await;
    let options = ConnectionOptions {
        ping_interval: Duration::from_millis(200),
        ping_timeout: Duration::from_secs(2),
        ..ConnectionOptions::default()
    };
    let connections = connections(config(&server, &authority), options);
    let watch_api = api(&connections, TIMEOUT).with_purpose(Purpose::Watch);
    let write_api = watch_api.with_purpose(Purpose::Write);
    write_api.call(get("/")).await.unwrap();
    let write_connection = server.connection();
    let mut stream = watch_api.open_stream(get("/watch")).await.unwrap();
    let watch_connection = server.connection();
    assert_eq!(next_line(&mut stream).await.unwrap(), "line\n");
    assert!(stream.is_http2());

    server.freeze([watch_connection]);
    assert!(next_line(&mut stream).await.is_err());
    write_api.call(get("/")).await.unwrap();
    assert_ne!(
        server.connection(),
        write_connection,
        "an unused connection was used again"
    );
    watch_api.call(get("/")).await.unwrap();
    assert_ne!(server.connection(), watch_connection);

    // The same for a request that waits for its response.
    write_api.call(get("/")).await.unwrap();
    server.freeze([server.connection()]);
    assert!(matches!(
        write_api.call(get("/never")).await,
        Err(RequestError::Transport(_))
    ));
    write_api.call(get("/")).await.unwrap();
}

#[tokio::test]
async fn frozen_http1_connections_are_not_tried_one_after_the_other() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, false).await;
    let connections = connections(config(&server, &authority), ConnectionOptions::default());
    let write_api = api(&connections, TIMEOUT).with_purpose(Purpose::Write);
    for result in join_all((0..3).map(|_| write_api.call(get("/together")))).await {
        result.unwrap();
    }
    let unused: Vec<usize> = server.received().iter().map(|request| request.connection).collect();
    server.freeze(unused.clone());
    assert!(is_timeout(&api(&connections, SHORT_TIMEOUT).with_purpose(Purpose::Write), "/").await);
    write_api.call(get("/")).await.unwrap();
    assert!(!unused.contains(&server.connection()));
}

#[tokio::test]
async fn an_overdue_http1_watch_replaces_the_unused_connections() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, false).await;
    let connections = connections(config(&server, &authority), ConnectionOptions::default());
    let api = api(&connections, TIMEOUT);
    let stream = api.open_stream(get("/watch")).await.unwrap();
    server.received();
    api.call(get("/")).await.unwrap();
    let unused = server.connection();
    stream.report_overdue();
    api.call(get("/")).await.unwrap();
    let new = server.connection();
    assert_ne!(new, unused);
    // A stream of the replaced connections does not replace the new ones.
    stream.report_overdue();
    api.call(get("/")).await.unwrap();
    assert_eq!(server.connection(), new);
}

#[tokio::test]
async fn a_slow_response_ends_no_other_request() {
    let authority = Authority::new();
    for http2 in [true, false] {
        let server = TestServer::start(&authority, http2).await;
        let connections = connections(config(&server, &authority), ConnectionOptions::default());
        let patient = api(&connections, TIMEOUT);
        // Requests before the first connection may open several.
        patient.call(get("/")).await.unwrap();
        let others = join_all((0..2).map(|_| patient.call(get("/together"))));
        let slow = async {
            assert!(is_timeout(&api(&connections, SHORT_TIMEOUT), "/never").await);
            patient.call(get("/together")).await.unwrap();
        };
        let (others, ()) = futures::join!(others, slow);
        assert!(others.iter().all(Result::is_ok));
        let used: std::collections::HashSet<_> = server.received().iter().map(|request| request.connection).collect();
        // The pings of an HTTP/2 connection prove that it works, so that it is used on.
        assert!(!http2 || used.len() == 1, "{used:?}");
    }
}

fn write_identity(directory: &Path, (certificate, key): &(String, String)) {
    fs::write(directory.join("tls.crt"), certificate).unwrap();
    fs::write(directory.join("tls.key"), key).unwrap();
}

#[tokio::test]
async fn changed_certificates_are_used_by_new_connections() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, true).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name| directory.path().join(name);
    write_identity(directory.path(), &authority.sign());
    fs::write(path("ca.crt"), authority.pem()).unwrap();
    let mut config = config(&server, &authority);
    config.root_cert_file = Some(path("ca.crt"));
    config.auth_info = serde_json::from_value(json!({
        "client-certificate": path("tls.crt"),
        "client-key": path("tls.key"),
    }))
    .unwrap();
    let options = ConnectionOptions {
        reload_interval: Duration::from_millis(10),
        ..ConnectionOptions::default()
    };
    let connections = connections(config, options);
    let api = api(&connections, TIMEOUT);
    api.call(get("/")).await.unwrap();
    let certificate = server.received().remove(0).certificate;
    assert!(certificate.is_some());

    write_identity(directory.path(), &authority.sign());
    let replaced = async {
        loop {
            api.call(get("/")).await.unwrap();
            if server.received().remove(0).certificate != certificate {
                return;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, replaced).await.unwrap();

    let new_authority = Authority::new();
    server.change_authority(&new_authority);
    connections.renew();
    assert!(matches!(api.call(get("/")).await, Err(RequestError::Transport(_))));
    // The server accepts client certificates of its own authority only.
    write_identity(directory.path(), &new_authority.sign());
    fs::write(path("ca.crt"), new_authority.pem()).unwrap();
    let trusted = async { while api.call(get("/")).await.is_err() {} };
    tokio::time::timeout(TIMEOUT, trusted).await.unwrap();
}

#[tokio::test]
async fn the_configuration_is_loaded_again_if_every_response_is_unauthorized() {
    let authority = Authority::new();
    let server = TestServer::start(&authority, true).await;
    server.require_token("new");
    let with_token = |token| {
        let mut config = config(&server, &authority);
        config.auth_info = serde_json::from_value(json!({ "token": token })).unwrap();
        config
    };
    let mut elsewhere = with_token("new");
    elsewhere.cluster_url = "https://127.0.0.1:1".parse().unwrap();
    // The first time, the kubeconfig has another server, to which the caches do not belong.
    let (loads, results) = (Arc::new(AtomicUsize::new(0)), [elsewhere, with_token("new")]);
    let load = {
        let loads = Arc::clone(&loads);
        move || {
            let config = results[loads.fetch_add(1, Ordering::Relaxed).min(1)].clone();
            async { Ok(config) }.boxed()
        }
    };
    let options = ConnectionOptions {
        unauthorized_for: Duration::ZERO,
        ..ConnectionOptions::default()
    };
    let connections = Connections::reloading(with_token("old"), options, load).unwrap();
    let metrics = Arc::new(Metrics::new("test", "test"));
    let api = api(&connections, TIMEOUT).with_metrics(Arc::clone(&metrics));
    for _ in 0..2 {
        assert!(api.call(get("/")).await.unwrap_err().api_error().is_some());
    }
    assert_eq!(loads.load(Ordering::Relaxed), 0);
    let accepted = async { while api.call(get("/")).await.is_err() {} };
    tokio::time::timeout(TIMEOUT, accepted).await.unwrap();
    assert!(loads.load(Ordering::Relaxed) >= 2);

    api.open_stream(get("/watch")).await.unwrap();
    let page = metrics.page();
    for line in [
        "rest_client_requests_total{code=\"200\",method=\"GET\"} 2\n",
        "rest_client_requests_total{code=\"401\",method=\"GET\"} ",
        "rest_client_request_duration_seconds_count{verb=\"WATCH\"} 1\n",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
}

/// The time in which an invalid file is loaded again 120 times, and rejected credentials 120 times. It ends between two of them: what
/// is polled first at the same time is random.
const HOUR: Duration = Duration::from_secs(3600 - 1);

/// Runs a reload task for an hour, with a file that has changed and no valid client configuration.
async fn reload_for_an_hour(requests: bool) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tls.crt");
    fs::write(&file, "old").unwrap();
    let files = FileHashes::read(vec![file.clone()]);
    if !requests {
        fs::write(&file, "new").unwrap();
    }
    let unused = tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let connections = Connections::from(kube::Client::new(unused, "default"));
    let task = ReloadTask {
        connections: Arc::downgrade(&connections.0),
        requested: Arc::clone(&connections.0.reload),
        load: Box::new(|| async { Err("no certificate".into()) }.boxed()),
        cluster_url: Uri::from_static("https://127.0.0.1:1"),
        files,
        options: ConnectionOptions::default(),
        rejections: LogInterval::default(),
        failures: FailureLog::default(),
    };
    let request = async {
        loop {
            if requests {
                connections.0.reload.notify_one();
            }
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
    };
    let run = async {
        tokio::select! {
            () = task.run() => {}
            () = request => {}
        }
    };
    tokio::time::timeout(HOUR, run).await.unwrap_err();
}

async fn log_of_an_hour(requests: bool) -> Vec<String> {
    reload_for_an_hour(requests).await;
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.subscriber());
    reload_for_an_hour(requests).await;
    drop(guard);
    log.lines()
}

#[tokio::test(start_paused = true)]
async fn a_file_that_stays_invalid_does_not_flood_the_log() {
    let lines = log_of_an_hour(false).await;
    assert_eq!(lines.len(), 3 + 5, "{lines:#?}");
    assert!(
        lines
            .iter()
            .all(|line| line.contains("cannot use the client configuration")),
        "{lines:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn credentials_that_stay_rejected_are_logged_once_a_minute() {
    let lines = log_of_an_hour(true).await;
    let rejections = lines.iter().filter(|line| line.contains("rejects the credentials"));
    assert_eq!(rejections.count(), 60, "{lines:#?}");
}
