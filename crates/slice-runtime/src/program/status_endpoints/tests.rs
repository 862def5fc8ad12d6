use std::{
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use futures::FutureExt as _;
use http_body_util::BodyExt as _;

use super::*;

struct Reply {
    status: u16,
    content: String,
    body: String,
}

/// Endpoints without any watch.
pub(in crate::program) fn endpoints() -> StatusEndpoints {
    StatusEndpoints {
        metrics: Arc::new(Metrics::new("stub", "stub")),
        health: Arc::default(),
        permissions: Arc::default(),
        debug: mpsc::channel(1).0,
    }
}

/// Sends a request. The body of the response is complete, so nothing waits.
fn request(endpoints: &StatusEndpoints, method: Method, path: &str) -> Reply {
    request_from(Ipv4Addr::LOCALHOST.into(), endpoints, method, path)
}

fn request_from(peer: IpAddr, endpoints: &StatusEndpoints, method: Method, path: &str) -> Reply {
    request_with(Access::Plain(peer), endpoints, method, path)
}

fn request_with(access: Access, endpoints: &StatusEndpoints, method: Method, path: &str) -> Reply {
    let request = Request::builder().method(method).uri(path).body(()).unwrap();
    let response = endpoints.handle(&request, access).now_or_never();
    let (head, body) = response.expect("a response without a wait").into_parts();
    let body = body.collect().now_or_never().unwrap().unwrap().to_bytes();
    Reply {
        status: head.status.as_u16(),
        content: head.headers[CONTENT_TYPE].to_str().unwrap().to_owned(),
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

fn get(endpoints: &StatusEndpoints, path: &str) -> (u16, String) {
    let Reply { status, body, .. } = request(endpoints, Method::GET, path);
    (status, body)
}

#[test]
fn liveness_endpoints_return_ok() {
    for path in ["/healthz", "/livez", "/livez?verbose"] {
        assert_eq!(get(&endpoints(), path), (200, "ok".to_owned()), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn livez_fails_when_the_loop_has_stopped() {
    let endpoints = endpoints();
    let half = Duration::from_secs(15);
    tokio::time::advance(half).await;
    assert_eq!(get(&endpoints, "/livez").0, 200);
    endpoints.health.record_turn();
    tokio::time::advance(half).await;
    assert_eq!(get(&endpoints, "/livez").0, 200);
    tokio::time::advance(half).await;
    let failed = "the loop of the controller has not turned for 30 s\nlivez check failed\n";
    for path in ["/healthz", "/livez"] {
        assert_eq!(get(&endpoints, path), (500, failed.to_owned()), "{path}");
    }
}

/// Errors may name users and objects.
#[test]
fn readyz_shows_no_errors_to_clients_that_are_not_authenticated() {
    let endpoints = endpoints();
    endpoints.health.add("pods").set_error("user x may not");
    endpoints.health.add("nodes").set_synced();
    let states = [
        PermissionState::Unknown("user x may not".to_owned()),
        PermissionState::Missing(vec!["user x may not".to_owned()]),
    ];
    for state in states {
        endpoints.permissions.replace(state);
        let page = |access| request_with(access, &endpoints, Method::GET, "/readyz").body;
        assert_eq!(page(Access::Authorized).matches("user x may not").count(), 2);
        let open = page(Access::AlwaysAllowed);
        assert!(!open.contains("user x"), "{open}");
        assert_eq!(open.matches(NOT_SHOWN).count(), 2, "{open}");
        assert!(open.contains("[+]nodes ok\n"), "{open}");
    }
}

#[test]
fn readyz_succeeds_when_every_watch_was_listed() {
    let endpoints = endpoints();
    endpoints.permissions.replace(PermissionState::Granted);
    let (pods, nodes) = (endpoints.health.add("pods"), endpoints.health.add("nodes"));
    pods.set_synced();
    let failed = "[+]pods ok\n[-]nodes failed: not listed yet\n[+]permissions ok\nreadyz check failed\n";
    assert_eq!(get(&endpoints, "/readyz"), (500, failed.to_owned()));
    nodes.set_error("no rights");
    let failed = "[+]pods ok\n[-]nodes failed: no rights (for 0 s)\n[+]permissions ok\nreadyz check failed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (500, failed.to_owned()));
    nodes.set_synced();
    assert_eq!(get(&endpoints, "/readyz"), (200, "ok".to_owned()));
    let passed = "[+]pods ok\n[+]nodes ok\n[+]permissions ok\nreadyz check passed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose=true"), (200, passed.to_owned()));
}

/// The cache stays in use, so the program stays ready; the error is shown.
#[test]
fn an_error_after_the_list_is_shown_and_does_not_end_readiness() {
    let endpoints = endpoints();
    let pods = endpoints.health.add("pods");
    pods.set_synced();
    pods.set_error("no rights");
    assert_eq!(get(&endpoints, "/readyz"), (200, "ok".to_owned()));
    let passed = "[-]pods failed: no rights (for 0 s; cached objects stay in use)\n[+]permissions not reviewed yet\nreadyz check passed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, passed.to_owned()));
}

#[test]
fn missing_permissions_are_shown_and_do_not_prevent_readiness() {
    let endpoints = endpoints();
    endpoints.health.add("pods").set_synced();
    let missing = ["create events", "patch events"].map(str::to_owned).to_vec();
    for (state, line) in [
        (
            PermissionState::Missing(missing),
            "missing: create events, patch events",
        ),
        (
            PermissionState::Unknown("no reviews".to_owned()),
            "not reviewed: no reviews",
        ),
    ] {
        endpoints.permissions.replace(state);
        assert_eq!(get(&endpoints, "/readyz"), (200, "ok".to_owned()));
        let passed = format!("[+]pods ok\n[-]permissions {line}\nreadyz check passed\n");
        assert_eq!(get(&endpoints, "/readyz?verbose"), (200, passed));
    }
}

/// An open watch is ok, but its objects may be old.
#[test]
fn position_age_and_unconfirmed_relists_are_shown() {
    let endpoints = endpoints();
    let pods = endpoints.health.add("pods");
    pods.set_synced();
    pods.record_position("7");
    let passed = "[+]pods ok (position 0 s old)\n[+]permissions not reviewed yet\nreadyz check passed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, passed.to_owned()));
    let metrics = request(&endpoints, Method::GET, "/metrics").body;
    assert!(
        metrics.contains("stub_watch_position_age_seconds{resource=\"pods\"} "),
        "{metrics}"
    );
    pods.set_unconfirmed(Some("most are missing".to_owned()));
    let unconfirmed = "[-]pods unconfirmed: most are missing; a second list has to confirm it; cached objects stay in use\n\
                       [+]permissions not reviewed yet\nreadyz check passed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, unconfirmed.to_owned()));
}

/// An optional resource that the API server lacks is shown as absent.
#[test]
fn an_absent_resource_does_not_prevent_readiness() {
    let endpoints = endpoints();
    let (pods, pools) = (endpoints.health.add("pods"), endpoints.health.add("pools"));
    pods.set_synced();
    pools.set_absent();
    assert_eq!(get(&endpoints, "/readyz"), (200, "ok".to_owned()));
    let absent = |cached: &str| {
        let absent = "absent: the API server does not serve it";
        format!("[+]pods ok\n[+]pools {absent}{cached}\n[+]permissions not reviewed yet\nreadyz check passed\n")
    };
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, absent("")));
    pools.set_synced();
    let passed = "[+]pods ok\n[+]pools ok\n[+]permissions not reviewed yet\nreadyz check passed\n";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, passed.to_owned()));
    pools.set_absent();
    let cached = "; cached objects stay in use";
    assert_eq!(get(&endpoints, "/readyz?verbose"), (200, absent(cached)));
}

#[test]
fn metrics_are_in_the_text_format() {
    let endpoints = endpoints();
    endpoints.health.add("pods").set_synced();
    endpoints.health.add("nodes").set_error("403");
    let Reply { status, content, body } = request(&endpoints, Method::GET, "/metrics");
    assert_eq!(
        (status, content.as_str()),
        (200, "text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(
        body.contains("# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"stub\"} 0\n"),
        "{body}"
    );
    let value = |metric: &str| {
        let value = body.lines().find_map(|line| line.strip_prefix(metric));
        value
            .unwrap_or_else(|| panic!("no {metric} in {body}"))
            .parse::<f64>()
            .unwrap()
    };
    assert!(value("stub_watch_last_activity_seconds{resource=\"pods\"} ") >= 0.0);
    assert!(value("stub_watch_failing_seconds{resource=\"pods\"} ") == 0.0);
    assert!(value("stub_watch_failing_seconds{resource=\"nodes\"} ") > 0.0);
    assert!(
        body.contains("workqueue_work_duration_seconds_bucket{name=\"stub\",le=\"1e-08\"} 0\n"),
        "{body}"
    );
}

#[test]
fn other_paths_and_methods_are_errors() {
    assert_eq!(get(&endpoints(), "/").0, 404);
    assert_eq!(request(&endpoints(), Method::HEAD, "/healthz").status, 200);
    assert_eq!(request(&endpoints(), Method::POST, "/healthz").status, 405);
}

/// Without a running engine, loopback clients get 503: they passed the check.
#[tokio::test]
async fn debug_state_without_tls_is_for_loopback_clients_only() {
    let endpoints = endpoints();
    for (peer, status) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), 503),
        (Ipv6Addr::LOCALHOST.into(), 503),
        (Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(), 503),
        (Ipv4Addr::new(10, 0, 0, 1).into(), 403),
        (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into(), 403),
    ] {
        let reply = request_from(peer, &endpoints, Method::GET, "/debug/state");
        assert_eq!(reply.status, status, "{peer}");
    }
    let reply = request_with(Access::Authorized, &endpoints, Method::GET, "/debug/state");
    assert_eq!(reply.status, 503, "the secure port authorizes clients itself");
}
