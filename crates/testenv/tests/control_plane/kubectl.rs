//! The real kubectl on the in-memory API server.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use apisim::{ApiSim, serve::HttpServer};
use tempfile::TempDir;
use testenv::assets::{self, Program};

const SLICE: &str = r"
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
ports: [{name: http, port: 80}]
endpoints: [{addresses: [10.1.0.1]}, {addresses: [10.1.0.2]}]
";

/// An in-memory API server and a kubectl that is configured for it.
struct Kubectl {
    program: PathBuf,
    address: String,
    home: TempDir,
    _server: HttpServer,
}

impl Kubectl {
    async fn new() -> Self {
        let assets = tokio::task::spawn_blocking(|| assets::ensure(&[Program::Kubectl], &mut |_| {}));
        let program = assets.await.unwrap().unwrap().path(Program::Kubectl).to_owned();
        let server = HttpServer::start(ApiSim::new()).await.unwrap();
        Self {
            program,
            address: format!("http://{}", server.address()),
            home: TempDir::new().unwrap(),
            _server: server,
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(format!("--server={}", self.address))
            .arg("--request-timeout=60s")
            .args(arguments.split_whitespace())
            .env("HOME", self.home.path())
            .env_remove("KUBECONFIG");
        command
    }

    /// Runs kubectl with `input` and returns its output.
    async fn run(&self, arguments: &str, input: &'static str) -> Output {
        let mut command = self.command(arguments);
        tokio::task::spawn_blocking(move || {
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            child.wait_with_output().unwrap()
        })
        .await
        .unwrap()
    }

    async fn succeed(&self, arguments: &str) -> String {
        self.succeed_with(arguments, "").await
    }

    async fn succeed_with(&self, arguments: &str, input: &'static str) -> String {
        let output = self.run(arguments, input).await;
        assert!(
            output.status.success(),
            "kubectl {arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_creates_gets_changes_and_deletes() {
    let kubectl = Kubectl::new().await;
    assert_eq!(
        kubectl.succeed_with("create -f -", SLICE).await,
        "endpointslice.discovery.k8s.io/web-1 created\n"
    );
    assert_eq!(
        kubectl
            .succeed("get endpointslices -o jsonpath={.items[*].endpoints[*].addresses[0]}")
            .await,
        "10.1.0.1 10.1.0.2"
    );
    let table = kubectl
        .succeed("get endpointslices -l kubernetes.io/service-name=web")
        .await;
    assert!(table.starts_with("NAME ") && table.contains("web-1"), "{table}");
    kubectl.succeed("label endpointslice web-1 tier=front").await;
    kubectl.succeed("annotate endpointslice web-1 note=seen").await;
    assert_eq!(
        kubectl.succeed("get endpointslices -l tier=front -o name").await,
        "endpointslice.discovery.k8s.io/web-1\n"
    );
    assert_eq!(
        kubectl.succeed("delete endpointslice web-1").await,
        "endpointslice.discovery.k8s.io \"web-1\" deleted from default namespace\n"
    );
    let gone = kubectl.run("get endpointslice web-1", "").await;
    assert_eq!(
        String::from_utf8(gone.stderr).unwrap(),
        "Error from server (NotFound): endpointslices.discovery.k8s.io \"web-1\" not found\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_watches() {
    let kubectl = Kubectl::new().await;
    kubectl.succeed_with("create -f -", SLICE).await;
    let mut watching = Watching(
        kubectl
            .command(
                "get endpointslices --watch --output-watch-events -o jsonpath={.type}/{.object.metadata.name}{\"\\n\"}",
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(watching.0.stdout.take().unwrap()).lines();
    let mut next = async || tokio::task::block_in_place(|| lines.next().unwrap().unwrap());
    // The first line means that the watch has started: later events are printed.
    assert_eq!(next().await, "ADDED/web-1");
    kubectl.succeed("label endpointslice web-1 tier=front").await;
    assert_eq!(next().await, "MODIFIED/web-1");
    kubectl.succeed("delete endpointslice web-1").await;
    assert_eq!(next().await, "DELETED/web-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_validation_error() {
    let kubectl = Kubectl::new().await;
    let output = kubectl
        .run(
            "create -f -",
            "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv5, endpoints: []}",
        )
        .await;
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("The EndpointSlice \"a\" is invalid: addressType: Unsupported value: \"IPv5\""),
        "{message}"
    );
}

/// Killed with the test, even if it fails.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
