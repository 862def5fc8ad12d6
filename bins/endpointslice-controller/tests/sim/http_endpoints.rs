//! HTTP endpoints for metrics and health, and the JSON log format.

use apisim::{faults::Rule, request::Verb};
use serde_json::{Value, json};
use testenv::TestProcess;

use crate::{
    scenarios::{PROGRAM, start},
    start_server,
};

#[tokio::test]
async fn readyz_passes_when_all_initial_lists_are_complete() {
    let (server, _cluster) = start_server().await;
    // The first watch request is the preflight check.
    let hold = server.faults.add(Rule::on(Verb::Watch, "pods").nth(2).hold_request());
    let program = start(&[&server.flag()]).await;
    for path in ["/healthz", "/livez"] {
        assert_eq!(program.get(path).await.unwrap(), (200, "ok".to_owned()));
    }
    let (code, page) = program.wait_for_page("/readyz", "[+]endpointslices ok").await.unwrap();
    assert_eq!(code, 500, "{page}");
    assert!(page.contains("[-]pods failed: not listed yet\n"), "{page}");
    assert!(page.ends_with("readyz check failed\n"), "{page}");
    hold.remove();
    program.wait_ready().await.unwrap();
    assert_eq!(program.get("/readyz").await.unwrap(), (200, "ok".to_owned()));
    let (code, page) = program.get("/readyz?verbose").await.unwrap();
    // The age of the position varies.
    let mut lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.split(" (position ").next())
        .collect();
    lines.sort_unstable();
    let expected = ["endpointslices", "nodes", "pods", "services"].map(|resource| format!("[+]{resource} ok"));
    assert_eq!(
        (code, &lines[..4], &lines[4..]),
        (
            200,
            &expected.each_ref().map(String::as_str)[..],
            &["readyz check passed"][..]
        )
    );
    assert_eq!(program.get("/nothing").await.unwrap().0, 404);
}

#[tokio::test]
async fn metrics_count_writes() {
    let (server, cluster) = start_server().await;
    let program = start(&[&server.flag()]).await;
    cluster.service("web", "web", json!({})).await;
    cluster.wait_published("web", &[]).await;
    let written = "endpoint_slice_controller_changes{operation=\"create\"} 1\n";
    let (code, page) = program.wait_for_page("/metrics", written).await.unwrap();
    assert_eq!(code, 200);
    for expected in [
        "# HELP endpoint_slice_controller_changes [ALPHA] Number of EndpointSlice changes\n\
         # TYPE endpoint_slice_controller_changes counter\n",
        "workqueue_depth{name=\"endpoint_slice\"} 0\n",
        "endpoint_slice_controller_change_to_write_seconds_count 1\n",
        "endpoint_slice_controller_keys_failing 0\n",
        "endpoint_slice_controller_watch_last_activity_seconds{resource=\"pods\"} ",
    ] {
        assert!(page.contains(expected), "{expected} is missing in {page}");
    }
}

#[tokio::test]
async fn json_log_lines_are_json_objects() {
    let (server, cluster) = start_server().await;
    cluster.service("web", "web", json!({})).await;
    let program = TestProcess::start(PROGRAM, &[&server.flag(), "--logging-format=json", "-v=5"], &[]).unwrap();
    let line = program.wait_for_output("slices written").await.unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["level"], &line["span"]["key"], &line["created"]),
        (&json!("INFO"), &json!("shop/web"), &json!(1))
    );
    for line in program.output().lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}
