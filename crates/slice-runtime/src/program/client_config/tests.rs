use std::{fs, path::Path};

use slice_controller::ErrorChain;

use super::*;

/// A kubeconfig in a directory of its own, beside which it finds its files.
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
async fn a_kubeconfig_says_where_and_who() {
    let (directory, path) = kubeconfig("certificate-authority: ca.crt");
    let config = configure(&path, "", "me/1").await.unwrap();
    assert_eq!(config.cluster_url, "https://a.example:1/");
    assert!(!config.default_retry);
    assert_eq!(config.headers[0].0, USER_AGENT);
    assert_eq!(config.headers[0].1, "me/1");
    // F21: both are read again when they change, so both have to be known as files.
    assert_eq!(config.root_cert_file, Some(directory.path().join("ca.crt")));
    assert_eq!(config.auth_info.token_file, Some(text(&directory.path().join("token"))));
    client(config).unwrap();
}

#[tokio::test]
async fn data_wins_over_a_file() {
    let (_directory, path) = kubeconfig("certificate-authority: ca.crt, insecure-skip-tls-verify: true");
    let mut kubeconfig = Kubeconfig::read_from(&path).unwrap();
    assert!(authority_file(&kubeconfig).is_some());
    let cluster = kubeconfig.clusters[0].cluster.as_mut().unwrap();
    cluster.certificate_authority_data = Some("abcd".into());
    assert_eq!(authority_file(&kubeconfig), None);
}

#[tokio::test]
async fn the_master_flag_wins() {
    let (_directory, path) = kubeconfig("");
    let config = configure(&path, "http://b.example:2", "me/1").await.unwrap();
    assert_eq!(config.cluster_url, "http://b.example:2/");
    for wrong in ["b.example:2", "/b", "https://"] {
        let error = configure(&path, wrong, "me/1").await.unwrap_err();
        assert!(error.to_string().contains("--master must be a URL"), "{error}");
    }
}

#[tokio::test]
async fn a_kubeconfig_that_is_missing_or_malformed_is_named() {
    let (directory, path) = kubeconfig("");
    fs::write(&path, "{current-context: c}").unwrap();
    for path in [text(&directory.path().join("missing")), path] {
        let error = configure(&path, "", "me/1").await.unwrap_err();
        let error = ErrorChain(&error).to_string();
        assert!(
            error.starts_with(&format!("cannot use the kubeconfig {path}: ")),
            "{error}"
        );
    }
}
