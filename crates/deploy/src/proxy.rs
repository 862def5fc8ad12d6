//! The proxy to the API server, chosen as kubectl does. kube itself compares `NO_PROXY` with the address of the proxy.

use std::net::IpAddr;

use anyhow::Context as _;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::Kubeconfig;

/// The proxy that the kubeconfig names for the cluster of a context, or of the current one.
pub(crate) fn of_cluster(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == context)?;
    let cluster = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == *cluster)?;
    cluster.cluster.as_ref()?.proxy_url.clone()
}

/// The proxy for a server: the one that the kubeconfig names, in any case; otherwise that of the environment, unless the server is
/// on this machine or in `NO_PROXY`.
pub(crate) fn of_server(
    server: &Uri,
    of_cluster: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<Uri>> {
    if let Some(proxy) = of_cluster.filter(|proxy| !proxy.is_empty()) {
        return parse(proxy).map(Some);
    }
    let first = |names: [&str; 2]| {
        let mut values = names.into_iter().filter_map(&variable);
        values.find(|value| !value.is_empty()).unwrap_or_default()
    };
    let proxy = first(["HTTPS_PROXY", "https_proxy"]);
    let no_proxy = first(["NO_PROXY", "no_proxy"]);
    let matcher = Matcher::builder().https(&proxy).no(no_proxy).build();
    if is_local(server) || matcher.intercept(server).is_none() {
        return Ok(None);
    }
    // The URI of the match is without credentials.
    parse(&proxy).map(Some)
}

fn is_local(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Without a scheme, it is HTTP. An error does not contain the URL, which may have a password.
fn parse(proxy: &str) -> anyhow::Result<Uri> {
    let with_scheme = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    with_scheme.parse().context("the URL of the proxy is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "http://user:pa%40ss@proxy.test:3128/";

    fn of(server: &str, of_cluster: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = of_server(&server.parse().unwrap(), of_cluster, variable).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn proxy_of_the_environment_is_used_with_its_credentials() {
        for (variables, expected) in [
            (&[("HTTPS_PROXY", PROXY)][..], Some(PROXY)),
            (&[("HTTPS_PROXY", ""), ("https_proxy", PROXY)], Some(PROXY)),
            (&[("HTTPS_PROXY", "proxy.test:3128")], Some("http://proxy.test:3128/")),
            (
                &[("ALL_PROXY", PROXY), ("all_proxy", PROXY), ("HTTP_PROXY", PROXY)],
                None,
            ),
            (&[], None),
        ] {
            let proxy = of("https://api.example.test:6443", None, variables);
            assert_eq!(proxy.as_deref(), expected, "{variables:?}");
        }
    }

    #[test]
    fn proxy_of_the_environment_is_not_used_for_this_machine_and_servers_of_no_proxy() {
        let with_no_proxy =
            |server: &str, no_proxy: &str| of(server, None, &[("HTTPS_PROXY", PROXY), ("NO_PROXY", no_proxy)]);
        for local in ["127.0.0.1", "127.1.2.3", "[::1]", "localhost"] {
            assert_eq!(with_no_proxy(&format!("https://{local}:6443"), ""), None, "{local}");
        }
        let server = "https://api.example.test:6443";
        for named in ["api.example.test", ".example.test", "*"] {
            assert_eq!(with_no_proxy(server, named), None, "{named}");
        }
        assert_eq!(with_no_proxy("https://192.0.2.1", "192.0.2.0/24"), None);
        assert_eq!(with_no_proxy(server, "proxy.test").as_deref(), Some(PROXY));
    }

    #[test]
    fn proxy_of_the_kubeconfig_is_used_in_any_case() {
        let variables = [("HTTPS_PROXY", "http://other.test"), ("NO_PROXY", "*")];
        for server in ["https://api.example.test:6443", "https://127.0.0.1:6443"] {
            assert_eq!(of(server, Some(PROXY), &variables).as_deref(), Some(PROXY));
        }
        assert_eq!(of("https://api.example.test", Some(""), &variables), None);
    }

    #[test]
    fn an_error_does_not_contain_the_password() {
        let server = Uri::from_static("https://api.example.test");
        let error = of_server(&server, Some("http://user:secret@[proxy"), |_| None).unwrap_err();
        assert!(!format!("{error:#}").contains("secret"), "{error:#}");
    }
}
