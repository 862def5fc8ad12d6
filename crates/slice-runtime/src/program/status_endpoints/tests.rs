use futures::FutureExt as _;
use http_body_util::BodyExt as _;

use super::*;

struct Asked {
    status: u16,
    content: String,
    body: String,
}

fn pages() -> Pages {
    Pages {
        metrics: Arc::new(Metrics::new("stub", "stub")),
        health: Arc::default(),
    }
}

/// Waits for nothing, because the answer is all there.
fn ask_by(pages: &Pages, method: Method, path: &str) -> Asked {
    let request = Request::builder().method(method).uri(path).body(()).unwrap();
    let (head, body) = pages.answer(&request).into_parts();
    let body = body.collect().now_or_never().unwrap().unwrap().to_bytes();
    Asked {
        status: head.status.as_u16(),
        content: head.headers[CONTENT_TYPE].to_str().unwrap().to_owned(),
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

fn ask(pages: &Pages, path: &str) -> (u16, String) {
    let Asked { status, body, .. } = ask_by(pages, Method::GET, path);
    (status, body)
}

#[test]
fn whoever_answers_is_alive() {
    for path in ["/healthz", "/livez", "/livez?verbose"] {
        assert_eq!(ask(&pages(), path), (200, "ok".to_owned()), "{path}");
    }
}

#[test]
fn ready_means_that_everything_was_listed() {
    let pages = pages();
    assert_eq!(ask(&pages, "/readyz"), (500, "readyz check failed\n".to_owned()));
    let (pods, nodes) = (pages.health.add("pods"), pages.health.add("nodes"));
    pods.synced();
    let failed = "[+]pods ok\n[-]nodes failed: not listed yet\nreadyz check failed\n";
    assert_eq!(ask(&pages, "/readyz"), (500, failed.to_owned()));
    nodes.trouble("no rights");
    let failed = "[+]pods ok\n[-]nodes failed: no rights (for 0 s)\nreadyz check failed\n";
    assert_eq!(ask(&pages, "/readyz?verbose"), (500, failed.to_owned()));
    nodes.synced();
    assert_eq!(ask(&pages, "/readyz"), (200, "ok".to_owned()));
    let passed = "[+]pods ok\n[+]nodes ok\nreadyz check passed\n";
    assert_eq!(ask(&pages, "/readyz?verbose=true"), (200, passed.to_owned()));
}

/// What is known stays known, so there is no reason to be taken out; but it is told.
#[test]
fn trouble_after_the_list_is_told_and_does_not_end_readiness() {
    let pages = pages();
    let pods = pages.health.add("pods");
    pods.synced();
    pods.trouble("no rights");
    assert_eq!(ask(&pages, "/readyz"), (200, "ok".to_owned()));
    let passed = "[-]pods failed: no rights (for 0 s; what was seen before is kept)\nreadyz check passed\n";
    assert_eq!(ask(&pages, "/readyz?verbose"), (200, passed.to_owned()));
}

/// An optional resource that the API server lacks is named, and does not keep a program from being ready.
#[test]
fn an_absent_resource_does_not_prevent_readiness() {
    let pages = pages();
    let (pods, pools) = (pages.health.add("pods"), pages.health.add("pools"));
    pods.synced();
    pools.absent();
    assert_eq!(ask(&pages, "/readyz"), (200, "ok".to_owned()));
    let absent = |known: &str| {
        format!("[+]pods ok\n[+]pools absent: the API server does not serve it{known}\nreadyz check passed\n")
    };
    assert_eq!(ask(&pages, "/readyz?verbose"), (200, absent("")));
    pools.synced();
    let passed = "[+]pods ok\n[+]pools ok\nreadyz check passed\n";
    assert_eq!(ask(&pages, "/readyz?verbose"), (200, passed.to_owned()));
    pools.absent();
    let known = "; what was seen before is kept";
    assert_eq!(ask(&pages, "/readyz?verbose"), (200, absent(known)));
}

#[test]
fn metrics_are_in_the_text_format() {
    let pages = pages();
    pages.health.add("pods").synced();
    let Asked { status, content, body } = ask_by(&pages, Method::GET, "/metrics");
    assert_eq!(
        (status, content.as_str()),
        (200, "text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(
        body.contains("# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"stub\"} 0\n"),
        "{body}"
    );
    let silence = body
        .lines()
        .find_map(|line| line.strip_prefix("stub_watch_last_activity_seconds{resource=\"pods\"} "));
    assert!(silence.unwrap().parse::<f64>().unwrap() >= 0.0, "{body}");
    assert!(
        body.contains("workqueue_work_duration_seconds_bucket{name=\"stub\",le=\"1e-08\"} 0\n"),
        "{body}"
    );
}

#[test]
fn nothing_else_is_there() {
    assert_eq!(ask(&pages(), "/").0, 404);
    assert_eq!(ask_by(&pages(), Method::HEAD, "/healthz").status, 200);
    assert_eq!(ask_by(&pages(), Method::POST, "/healthz").status, 405);
}
