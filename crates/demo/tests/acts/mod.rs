//! Checks the output of `cargo xtask demo` in a pipe, the same on every API server.

/// Standard output of a demo that succeeded.
pub(crate) fn stdout(output: std::process::Output) -> String {
    let stdout = String::from_utf8(output.stdout).expect("the demo prints UTF-8");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

/// Checks the expected effects of each act.
pub(crate) fn assert_acts(stdout: &str) {
    let acts: Vec<&str> = stdout.split("\nact ").skip(1).collect();
    let expected: [(&str, &[&str]); 8] = [
        (
            "1 of 8, a rollout",
            &["IPv4  no endpoints", "IPv4  9 ready", "web 9 endpoints in 1 slice"],
        ),
        (
            "2 of 8, a rolling update",
            &["updated  web-", "web 9 endpoints in 1 slice"],
        ),
        (
            "3 of 8, traffic distribution",
            &["9 ready; hints zone-a 3, zone-b 3, zone-c 3"],
        ),
        (
            "4 of 8, past one slice",
            &["created  web-", "web 130 endpoints in 2 slices"],
        ),
        (
            "5 of 8, a node goes down",
            &[" not ready; hints ", "web 130 endpoints in "],
        ),
        (
            "6 of 8, dual-stack",
            &["IPv4  6 ready", "IPv6  6 ready", "api 12 endpoints in 2 slices"],
        ),
        (
            "7 of 8, mirrored",
            &["created  db-", "2 ready, 1 not ready", "IPv4  3 ready"],
        ),
        (
            "8 of 8, drained",
            &["deleted  web-", "IPv4  no endpoints", "web 0 endpoints in 1 slice"],
        ),
    ];
    assert_eq!(acts.len(), expected.len(), "{stdout}");
    for (act, (title, effects)) in acts.iter().zip(expected) {
        assert!(act.starts_with(title), "{title} in:\n{act}");
        for effect in effects {
            assert!(act.contains(effect), "{effect} in:\n{act}");
        }
    }
    let writes = |act: &str| act.matches(" s  updated  ").count();
    assert_eq!(writes(acts[2]), 1, "one change, one write:\n{}", acts[2]);
    let without_zone = |line: &&str| line.contains("hints zone-a ") && !line.contains("zone-b ");
    assert!(acts[4].lines().any(|line| without_zone(&line)), "{}", acts[4]);
}

/// Checks the numbers in the last line.
pub(crate) fn assert_verified(stdout: &str) {
    let last = stdout.lines().last().unwrap_or_default();
    let numbers: Vec<u64> = last
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    // I1–I7, revisions, slices, writes; and of the writes: creates, updates, deletes.
    let [1, 7, revisions, slices, writes, created, updated, deleted, ..] = numbers[..] else {
        panic!("{last}");
    };
    let summary = format!(
        "demo: verified I1–I7 over {revisions} revisions of {slices} slices; \
         writes: {writes} ({created} created, {updated} updated, {deleted} deleted); pod changed → slice written: median "
    );
    assert!(last.starts_with(&summary), "{last}");
    // Four slices exist at the end: one of web, one of db, one of each address type of api.
    assert_eq!((slices, slices), (created, deleted + 4), "{last}");
    assert_eq!((revisions, writes), (writes, created + updated + deleted), "{last}");
}
