//! The connection to an API server, with servers that send one response to everything.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

use std::{
    io::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tempfile::NamedTempFile;
use testenv::TestProcess;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A server that sends the same response to every request.
struct Server {
    address: SocketAddr,
    /// The requests, without bodies.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(response: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let mut request = String::new();
                while !request.ends_with("\r\n\r\n") {
                    request.push(connection.read_u8().await.unwrap().into());
                }
                received.lock().unwrap().push(request);
                connection.write_all(response.as_bytes()).await.unwrap();
            }
        });
        Self { address, requests }
    }
}

/// Runs the command with a kubeconfig whose cluster has these fields, and environment variables. Returns its output, since it fails.
async fn failure(cluster: &str, variables: &[(&str, &str)]) -> String {
    let mut kubeconfig = NamedTempFile::new().unwrap();
    let contexts = "contexts: [{name: a, context: {cluster: a}}], current-context: a";
    write!(
        kubeconfig,
        "{{clusters: [{{name: a, cluster: {{{cluster}}}}}], {contexts}}}"
    )
    .unwrap();
    let kubeconfig = [("KUBECONFIG", kubeconfig.path().to_str().unwrap())];
    let variables = [&kubeconfig, variables].concat();
    let process = TestProcess::start(env!("CARGO_BIN_EXE_deploy"), &["--dry-run"], &variables).unwrap();
    assert!(!process.wait().await.unwrap().success());
    process.output()
}

/// The address of the API server is reserved for documentation (RFC 5737).
#[tokio::test]
async fn proxies_are_asked_for_the_api_server_with_their_credentials() {
    let proxy = Server::start("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n").await;
    let url = format!("http://user:pa%40ss@{}", proxy.address);
    let of_cluster = format!("server: 'https://192.0.2.1:6443', proxy-url: '{url}'");
    for (cluster, variables) in [
        ("server: 'https://192.0.2.1:6443'", ("HTTPS_PROXY", url.as_str())),
        // kube itself drops the proxy if NO_PROXY names its address.
        (&of_cluster, ("NO_PROXY", "127.0.0.1,192.0.2.1")),
    ] {
        let output = failure(cluster, &[variables]).await;
        let requests = std::mem::take(&mut *proxy.requests.lock().unwrap());
        let [request] = requests.as_slice() else {
            panic!("{cluster}: {requests:?}: {output}");
        };
        assert!(request.starts_with("CONNECT 192.0.2.1:6443 "), "{request}");
        // user:pa@ss
        let credentials = "proxy-authorization: basic dxnlcjpwyubzcw==";
        assert!(request.to_lowercase().contains(credentials), "{request}");
    }
}

/// kube itself tries again for minutes, without a line of output.
#[tokio::test]
async fn an_unavailable_api_server_is_an_error_at_the_first_request() {
    let server = Server::start(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
         {\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"starting\",\"reason\":\"ServiceUnavailable\",\"code\":503}",
    )
    .await;
    let url = format!("http://{}", server.address);
    let output = failure(&format!("server: '{url}'"), &[]).await;
    let error = format!("error: nothing was changed: cannot read the version of the API server {url}/: starting\n");
    assert_eq!(output, error);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}
