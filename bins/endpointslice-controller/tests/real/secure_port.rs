//! The secure port: who is served, and what slow, huge and malformed requests do.

use std::{
    net::TcpStream,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule};
use kube::{Api, Client, api::PostParams};
use serde_json::json;
use slice_runtime::secure_port_rules;
use testenv::{
    ControlPlane, ControllerProcess, Credentials, SecureClient, User, free_port,
    pki::{Identity, Pki},
    raise_open_files_limit, until,
};

use crate::{kubeconfig_flag, rbac_rules, scenarios::start};

/// The controller with its secure port, whose certificate is signed by the authority of the control plane.
pub(crate) struct SecurePort {
    program: ControllerProcess,
    port: u16,
    certificate: tempfile::TempDir,
    ca_pem: String,
}

impl SecurePort {
    pub(crate) async fn start(control_plane: &ControlPlane, account: &User) -> Self {
        let certificate = tempfile::tempdir().unwrap();
        write(certificate.path(), &control_plane.pki().server().unwrap());
        let port = free_port().unwrap();
        let file = |flag: &str, name: &str| format!("--{flag}={}", certificate.path().join(name).display());
        let program = start(&[
            &kubeconfig_flag(control_plane, account),
            &format!("--secure-port={port}"),
            "--bind-address=127.0.0.1",
            &file("tls-cert-file", "tls.crt"),
            &file("tls-private-key-file", "tls.key"),
            "-v=8",
        ])
        .await;
        program
            .process
            .wait_for_output("the secure port is open")
            .await
            .unwrap();
        Self {
            program,
            port,
            certificate,
            ca_pem: control_plane.ca_pem(),
        }
    }

    fn client(&self, token: Option<&str>) -> SecureClient {
        SecureClient::new(self.port, Some(&self.ca_pem), token).unwrap()
    }

    pub(crate) async fn status(&self, path: &str, token: Option<&str>) -> u16 {
        self.client(token).get(path).await.unwrap().0
    }
}

fn write(directory: &Path, identity: &Identity) {
    std::fs::write(directory.join("tls.crt"), &identity.cert_pem).unwrap();
    std::fs::write(directory.join("tls.key"), &identity.key_pem).unwrap();
}

fn token(user: &User) -> &str {
    match user.credentials() {
        Credentials::Token(token) => token,
        Credentials::ClientCertificate { .. } => panic!("no token"),
    }
}

fn get_rule(path: &str) -> PolicyRule {
    PolicyRule {
        non_resource_urls: Some(vec![path.to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }
}

async fn controller_account(control_plane: &ControlPlane, name: &str, more: Vec<PolicyRule>) -> User {
    let rules = [rbac_rules(), more].concat();
    control_plane.service_account("kube-system", name, rules).await.unwrap()
}

/// Grants a service account of the namespace `default` to get a path.
async fn grant(client: &Client, account: &str, path: &str) {
    let name = format!("{account}-may-get");
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": name},
        "rules": [{"nonResourceURLs": [path], "verbs": ["get"]}],
    }))
    .unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": account}],
    }))
    .unwrap();
    let params = PostParams::default();
    Api::all(client.clone()).create(&params, &role).await.unwrap();
    Api::all(client.clone()).create(&params, &binding).await.unwrap();
}

#[tokio::test]
async fn metrics_need_a_valid_token_and_a_permission() {
    let control_plane = ControlPlane::start().await.unwrap();
    let account = controller_account(&control_plane, "slices", secure_port_rules()).await;
    let secure = SecurePort::start(&control_plane, &account).await;
    secure.program.wait_ready().await.unwrap();
    let scraper = control_plane
        .service_account("default", "scraper", Vec::new())
        .await
        .unwrap();
    let operator = control_plane
        .service_account("default", "operator", vec![get_rule("/debug/state")])
        .await
        .unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let expired = control_plane.token_with_expiry(token(&operator), now - 3600);
    let signed_again = control_plane.token_with_expiry(token(&operator), now + 3600);
    for (path, token, expected) in [
        ("/healthz", None, 200),
        ("/livez", Some("invalid"), 200),
        ("/readyz", None, 200),
        ("/metrics", None, 401),
        ("/metrics", Some("invalid"), 401),
        ("/metrics", Some(token(&scraper)), 403),
        ("/metrics", Some(token(&operator)), 403),
        ("/debug/state", Some(&*expired), 401),
        ("/debug/state", Some(&*signed_again), 200),
        ("/debug/state", Some(token(&operator)), 200),
        ("/nothing", Some(token(&operator)), 403),
    ] {
        assert_eq!(secure.status(path, token).await, expected, "{path} {token:?}");
    }

    // A permission that is granted later is used once the denial is no longer cached.
    grant(&control_plane.client().unwrap(), "scraper", "/metrics").await;
    let scraper_client = secure.client(Some(token(&scraper)));
    until("metrics for the scraper", async || {
        scraper_client.get("/metrics").await.unwrap().0 == 200
    })
    .await
    .unwrap();
    let (_, page) = scraper_client.get("/metrics").await.unwrap();
    assert!(page.contains("workqueue_depth{name=\"endpoint_slice\"} 0\n"), "{page}");

    // Neither a client that does not trust the certificate nor one without TLS is served.
    let other = Pki::new().unwrap().ca_pem();
    let stranger = SecureClient::new(secure.port, Some(&other), Some(token(&scraper))).unwrap();
    stranger.get("/metrics").await.unwrap_err();
    let plain = kube::Config::new(format!("http://127.0.0.1:{}", secure.port).parse().unwrap());
    let plain = Client::try_from(plain).unwrap();
    plain.apiserver_version().await.unwrap_err();
    assert_eq!(secure.status("/metrics", Some(token(&scraper))).await, 200);

    let output = secure.program.stop().await.unwrap();
    let key = std::fs::read_to_string(secure.certificate.path().join("tls.key")).unwrap();
    let key = key.lines().nth(1).unwrap();
    let secrets = [token(&scraper), token(&operator), token(&account), &expired, key];
    for secret in secrets {
        assert!(!output.contains(secret), "a token or a key is in the log");
    }
}

/// Without an answer to its reviews, the secure port serves nothing but the open paths.
#[tokio::test]
async fn requests_are_denied_while_they_cannot_be_reviewed() {
    let control_plane = ControlPlane::start().await.unwrap();
    let account = controller_account(&control_plane, "slices", Vec::new()).await;
    let scraper = control_plane
        .service_account("default", "scraper", vec![get_rule("/metrics")])
        .await
        .unwrap();
    let secure = SecurePort::start(&control_plane, &account).await;
    let missing = "[-]permissions missing: create tokenreviews.authentication.k8s.io, \
                   create subjectaccessreviews.authorization.k8s.io\n";
    secure.program.wait_for_page("/readyz?verbose", missing).await.unwrap();
    assert_eq!(secure.status("/metrics", Some(token(&scraper))).await, 503);
    assert_eq!(secure.status("/livez", None).await, 200);
    let output = secure.program.stop().await.unwrap();
    assert!(output.contains("the API server did not review it"), "{output}");
    assert!(!output.contains(token(&scraper)));
}

#[tokio::test]
async fn a_replaced_certificate_is_used_without_a_restart() {
    let control_plane = ControlPlane::start().await.unwrap();
    let secure = SecurePort::start(&control_plane, control_plane.admin()).await;
    assert_eq!(secure.status("/livez", None).await, 200);
    let new = Pki::new().unwrap();
    write(secure.certificate.path(), &new.server().unwrap());
    until("the new certificate", async || {
        let client = SecureClient::new(secure.port, Some(&new.ca_pem()), None).unwrap();
        client.get("/livez").await.is_ok_and(|(status, _)| status == 200)
    })
    .await
    .unwrap();
    secure.client(None).get("/livez").await.unwrap_err();
    // Invalid files keep the certificate in use.
    std::fs::write(secure.certificate.path().join("tls.key"), "no key").unwrap();
    secure
        .program
        .process
        .wait_for_output("keeping the one in use")
        .await
        .unwrap();
    let client = SecureClient::new(secure.port, Some(&new.ca_pem()), None).unwrap();
    assert_eq!(client.get("/livez").await.unwrap().0, 200);
    secure.program.stop().await.unwrap();
}

/// Without certificate files, the certificate is self-signed.
#[tokio::test]
async fn a_self_signed_certificate_is_served_without_files() {
    let control_plane = ControlPlane::start().await.unwrap();
    let port = free_port().unwrap();
    let kubeconfig = kubeconfig_flag(&control_plane, control_plane.admin());
    let program = start(&[&kubeconfig, &format!("--secure-port={port}")]).await;
    program
        .process
        .wait_for_output("the secure port is open")
        .await
        .unwrap();
    let client = SecureClient::new(port, None, None).unwrap();
    assert_eq!(client.get("/livez").await.unwrap(), (200, "ok".to_owned()));
    program.stop().await.unwrap();
}

#[tokio::test]
async fn huge_headers_and_idle_connections_are_bounded() {
    const HEADER_BYTES: usize = 100 << 20;
    raise_open_files_limit().unwrap();
    let control_plane = ControlPlane::start().await.unwrap();
    let account = controller_account(&control_plane, "slices", secure_port_rules()).await;
    let scraper = control_plane
        .service_account("default", "scraper", vec![get_rule("/metrics")])
        .await
        .unwrap();
    let secure = SecurePort::start(&control_plane, &account).await;
    secure.program.wait_ready().await.unwrap();
    let scrape = async || {
        let (status, page) = secure.client(Some(token(&scraper))).get("/metrics").await.unwrap();
        assert_eq!(status, 200, "{page}");
        ["process_resident_memory_bytes ", "process_open_fds "].map(|metric| {
            let value = page.lines().find_map(|line| line.strip_prefix(metric));
            value.unwrap().parse::<f64>().unwrap()
        })
    };
    let [memory_before, files_before] = scrape().await;

    let refused = secure
        .client(None)
        .get_with_header("/livez", "a".repeat(HEADER_BYTES))
        .await;
    // The connection may be closed before the client has read the response.
    assert!(
        refused.as_ref().map_or(true, |(status, _)| *status == 431),
        "{refused:?}"
    );
    scrape().await;

    let connect = |_| TcpStream::connect(("127.0.0.1", secure.port)).unwrap();
    let idle: Vec<TcpStream> = (0..1000).map(connect).collect();
    let [_, files] = scrape().await;
    assert!(files < files_before + 300.0, "{files_before} {files}");
    drop(idle);
    let [memory, _] = scrape().await;
    assert!(memory < memory_before + 50e6, "{memory_before} {memory}");
    secure.program.stop().await.unwrap();
}
