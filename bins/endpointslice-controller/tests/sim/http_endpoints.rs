//! HTTP endpoints for metrics and health, and the JSON log format.

use apisim::{
    faults::{Answer, Rule},
    request::Verb,
};
use serde_json::{Value, json};
use testenv::{Signal, TestProcess, metric_differences};

use crate::{
    scenarios::{PROGRAM, start},
    start_server,
};

#[tokio::test]
async fn readyz_passes_when_all_initial_lists_are_complete() {
    let (server, _cluster) = start_server().await;
    let hold = server.faults.add(Rule::on(Verb::Watch, "pods").hold_request());
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
    program
        .wait_for_page("/readyz?verbose", "[+]permissions ok")
        .await
        .unwrap();
    assert_eq!(program.get("/readyz").await.unwrap(), (200, "ok".to_owned()));
    let (code, page) = program.get("/readyz?verbose").await.unwrap();
    // The age of the position varies.
    let mut lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.split(" (position ").next())
        .collect();
    lines.sort_unstable();
    let expected =
        ["endpointslices", "nodes", "permissions", "pods", "services"].map(|resource| format!("[+]{resource} ok"));
    assert_eq!(
        (code, &lines[..5], &lines[5..]),
        (
            200,
            &expected.each_ref().map(String::as_str)[..],
            &["readyz check passed"][..]
        )
    );
    assert_eq!(program.get("/nothing").await.unwrap().0, 404);
}

#[tokio::test]
async fn metrics_are_those_of_the_reference() {
    let (server, cluster) = start_server().await;
    let program = start(&[&server.flag(), "--leader-elect=true"]).await;
    cluster.service("web", "web", json!({})).await;
    cluster.wait_published("web", &[]).await;
    program
        .wait_for_page("/metrics", "leader_election_master_status{")
        .await
        .unwrap();
    let (_, page) = program
        .wait_for_page("/metrics", "endpoint_slice_controller_changes{")
        .await
        .unwrap();
    assert_eq!(metric_differences(env!("CARGO_PKG_NAME"), &page).unwrap(), [""; 0]);
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
        concat!(
            "endpoint_slice_controller_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1\n"
        ),
        "endpoint_slice_controller_log_lines_dropped_total 0\n",
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "endpoint_slice_controller_watch_last_activity_seconds{resource=\"pods\"} ",
    ] {
        assert!(page.contains(expected), "{expected} is missing in {page}");
    }
}

#[tokio::test]
async fn debug_state_shows_failing_keys_and_watches() {
    let (server, cluster) = start_server().await;
    let denied = Answer::status(403).message("quota exceeded");
    server
        .faults
        .add(Rule::on(Verb::Create, "endpointslices").answer(denied));
    let program = start(&[&server.flag()]).await;
    cluster.service("web", "web", json!({})).await;
    let (code, page) = program.wait_for_page("/debug/state", "quota exceeded").await.unwrap();
    assert_eq!(code, 200, "{page}");
    let state: Value = serde_json::from_str(&page).unwrap();
    let key = state["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["key"] == "shop/web");
    assert!(key.unwrap()["failures"].as_u64() >= Some(1), "{page}");
    let watches = state["watches"].as_array().unwrap();
    assert_eq!(watches.len(), 4, "{page}");
    for watch in watches {
        let version = watch["resource_version"].as_str().unwrap();
        assert!(version.parse::<u64>().unwrap() > 0, "{page}");
        assert_eq!(
            (&watch["synced"], &watch["last_error"]),
            (&json!(true), &Value::Null),
            "{page}"
        );
    }
    program.stop().await.unwrap();
}

/// Standard error is a pipe that is full and never read, as behind a log collector that hangs.
#[tokio::test]
async fn a_stuck_standard_error_stops_nothing() {
    let (server, cluster) = start_server().await;
    cluster.service("web", "web", json!({})).await;
    let script = "mkfifo pipe && exec 3<>pipe && dd if=/dev/zero of=pipe bs=4096 oflag=nonblock; exec \"$@\" 2>pipe";
    let args = ["-c", script, "sh", PROGRAM, &server.flag(), "-v=8"];
    let program = TestProcess::start("/bin/sh", &args, &[("PATH", "/usr/bin:/bin")]).unwrap();
    cluster.wait_published("web", &[]).await;
    program.signal(Signal::TERM).unwrap();
    let status = program.wait().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", program.output());
    let output = program.output();
    assert!(
        output.contains("Resource temporarily unavailable"),
        "the pipe is not full: {output}"
    );
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
