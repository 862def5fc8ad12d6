//! The example publishes its addresses and converges.

#[path = "../examples/custom_owner.rs"]
#[expect(dead_code, reason = "only its functions are tested")]
mod custom_owner;

use std::cell::RefCell;

use custom_owner::{plan, send};
use futures_executor::block_on;
use serde_json::{Value, json};

fn texts(addresses: &[&str]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

#[test]
fn a_custom_owner_gets_slices_and_converges() {
    let (store, addresses) = (RefCell::default(), texts(&["10.0.0.1", "10.0.0.2", "fd00::1"]));
    // Creates a slice for each type, writes nothing, updates the conditions in both slices.
    for (ready, writes) in [(true, 2), (true, 0), (false, 2)] {
        let plan = plan(&addresses, ready, &store).unwrap();
        let applied = block_on(plan.apply(|operation| std::future::ready(send(&store, operation))));
        assert_eq!((applied.succeeded, applied.failed.len()), (writes, 0), "ready: {ready}");
    }
    let mut slices: Vec<Value> = store.borrow().values().map(|slice| json!(slice)).collect();
    slices.sort_by_key(|slice| slice["addressType"].to_string());
    assert_eq!(slices[0]["metadata"]["ownerReferences"][0]["kind"], "Pool");
    assert_eq!(slices[0]["metadata"]["labels"]["example.com/pool"], "db");
    assert_eq!(slices[0]["metadata"]["labels"]["service.kubernetes.io/headless"], "");
    assert_eq!(
        slices[0]["ports"],
        json!([{"name": "postgres", "port": 5432, "protocol": "TCP"}])
    );
    assert_eq!(slices[0]["endpoints"][0]["addresses"], json!(["10.0.0.1"]));
    assert_eq!(slices[1]["endpoints"][0]["addresses"], json!(["fd00::1"]));
}

#[test]
fn invalid_addresses_are_reported_and_the_others_published() {
    let addresses = texts(&["127.0.0.1", "db.example.com", "10.0.0.256", "fd00::1"]);
    let plan = plan(&addresses, true, &RefCell::default()).unwrap();
    let rejected: Vec<String> = plan.rejected.iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        [
            r#"IPv4 endpoint "127.0.0.1" is rejected: "127.0.0.1" cannot be published: it is a loopback address"#,
            r#"endpoint "db.example.com" is rejected: it is not an IP address"#,
            r#"endpoint "10.0.0.256" is rejected: it is not an IP address"#,
        ]
    );
    assert_eq!(plan.writes.len(), 1);
}
