use std::{fs, path::Path};

use slice_controller::ErrorChain;

use super::*;

/// A kubeconfig in a directory of its own, with the files that it references.
fn kubeconfig(cluster: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let authority = rcgen::generate_simple_self_signed(["ca".to_owned()]).unwrap();
    fs::write(directory.path().join("ca.crt"), authority.cert.pem()).unwrap();
    fs::write(directory.path().join("token"), "secret").unwrap();
    let path = text(&directory.path().join("kubeconfig"));
    let content = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}],
           clusters: [{{name: c, cluster: {{server: 'https://a.example:1', {cluster}}}}}],
           users: [{{name: u, user: {{tokenFile: token}}}}]}}"
    );
    fs::write(&path, content).unwrap();
    (directory, path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_kubeconfig_sets_server_and_credentials() {
    let (directory, path) = kubeconfig("certificate-authority: ca.crt");
    let config = load(&path, "", "me/1").await.unwrap();
    assert_eq!(config.cluster_url, "https://a.example:1/");
    assert!(!config.default_retry);
    assert_eq!(config.headers[0].0, USER_AGENT);
    assert_eq!(config.headers[0].1, "me/1");
    // Both are configured as files, because they are read again when they change (F21).
    assert_eq!(config.root_cert_file, Some(directory.path().join("ca.crt")));
    assert_eq!(config.auth_info.token_file, Some(text(&directory.path().join("token"))));
    let arguments = (path, String::new(), "me/1".to_owned());
    connections(config, ConnectionOptions::default(), arguments).unwrap();
}

#[tokio::test]
async fn embedded_certificate_authority_data_overrides_the_file() {
    let (_directory, path) = kubeconfig("certificate-authority: ca.crt, insecure-skip-tls-verify: true");
    let mut kubeconfig = Kubeconfig::read_from(&path).unwrap();
    assert!(authority_file(&kubeconfig).is_some());
    let cluster = kubeconfig.clusters[0].cluster.as_mut().unwrap();
    cluster.certificate_authority_data = Some("abcd".into());
    assert_eq!(authority_file(&kubeconfig), None);
}

#[tokio::test]
async fn the_master_flag_overrides_the_kubeconfig() {
    let (_directory, path) = kubeconfig("");
    let config = load(&path, "http://b.example:2", "me/1").await.unwrap();
    assert_eq!(config.cluster_url, "http://b.example:2/");
    for invalid in ["b.example:2", "/b", "https://"] {
        let error = load(&path, invalid, "me/1").await.unwrap_err();
        assert!(error.to_string().contains("--master must be a URL"), "{error}");
    }
}

#[tokio::test]
async fn an_error_names_a_missing_or_malformed_kubeconfig() {
    let (directory, path) = kubeconfig("");
    fs::write(&path, "{current-context: c}").unwrap();
    for path in [text(&directory.path().join("missing")), path] {
        let error = load(&path, "", "me/1").await.unwrap_err();
        let error = ErrorChain(&error).to_string();
        assert!(
            error.starts_with(&format!("cannot use the kubeconfig {path}: ")),
            "{error}"
        );
    }
}

#[test]
fn a_url_for_logs_has_no_password() {
    for (url, expected) in [
        ("https://a.example:1/path", "https://a.example:1/path"),
        ("https://user:pass@a.example:1/path", "https://a.example:1/path"),
        ("https://user@a.example/user@b", "https://a.example/user@b"),
    ] {
        assert_eq!(without_userinfo(&url.parse().unwrap()), expected);
    }
}
