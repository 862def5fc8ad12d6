//! The example does what it says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../examples/custom_owner.rs"]
#[expect(dead_code, reason = "its `main` only hands arguments on")]
mod custom_owner;

/// What the example says about these addresses, without the slices it shows.
fn said(addresses: &[&str]) -> Vec<String> {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let mut out = Vec::new();
    custom_owner::run(&addresses, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let lines = out.lines().filter(|line| !line.starts_with(['{', '}', ' ']));
    lines
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_end_matches(" {").to_owned())
        .collect()
}

#[test]
fn an_owner_of_any_kind_gets_slices_and_then_rest() {
    assert_eq!(
        said(&["10.0.0.1", "10.0.0.2", "fd00::1"]),
        [
            "The pool is new.",
            "=> create",
            "=> create",
            "Nothing has changed.",
            "=> nothing to do",
            "10.0.0.1 is no longer ready.",
            "=> update",
        ]
    );
}

#[test]
fn what_cannot_be_published_is_named_and_the_rest_goes_on() {
    let said = said(&["127.0.0.1", "db.example.com", "fd00::1"]);
    assert_eq!(
        said[..4],
        [
            "127.0.0.1 is left out: it is a loopback address",
            "db.example.com is left out: it is not an IP address",
            "The pool is new.",
            "=> create",
        ]
    );
}

#[test]
fn what_is_shown_can_be_sent() {
    let mut out = Vec::new();
    custom_owner::run(&["10.0.0.1".to_owned()], &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let json = out.split("=> create ").nth(1).unwrap().split("\n\n").next().unwrap();
    let slice: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(slice["metadata"]["ownerReferences"][0]["kind"], "Pool");
    assert_eq!(slice["endpoints"][0]["addresses"][0], "10.0.0.1");
}
