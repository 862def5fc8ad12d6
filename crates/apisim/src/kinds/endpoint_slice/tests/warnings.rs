use serde_json::json;

use super::slice;
use crate::kinds::Kind;

#[test]
fn t_api_28_to_30_new_fqdn_slice_gets_a_warning() {
    for (kind, warnings) in [("FQDN", 1), ("IPv4", 0), ("IPv6", 0)] {
        let new = slice(&json!({ "addressType": kind }));
        assert_eq!(new.warnings(None).len(), warnings, "{kind}");
        assert_eq!(new.warnings(Some(&new)).len(), 0, "{kind}");
    }
}

#[test]
fn t_api_31_to_34_non_canonical_addresses_get_warnings() {
    let manager = "endpointslice.kubernetes.io/managed-by";
    let with = |addresses: &[&str], manager_name: &str| {
        slice(&json!({
            "metadata": { "labels": { manager: manager_name } },
            "endpoints": [{ "addresses": addresses }],
        }))
    };
    let bad = ["01.02.03.04", "::ffff:1.2.3.4"];
    assert_eq!(slice(&json!({})).warnings(None).len(), 0, "T-API-31");
    assert_eq!(
        with(&["1.2.3.4", "fd00::1234"], "me").warnings(None).len(),
        0,
        "T-API-32"
    );
    let warnings = with(&bad, "me").warnings(None);
    assert_eq!(warnings.len(), 2, "T-API-33");
    assert!(warnings[1].starts_with("endpoints[0].addresses[1]: "), "{warnings:?}");
    for ours in [
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ] {
        assert_eq!(with(&bad, ours).warnings(None).len(), 0, "T-API-34 {ours}");
    }
}
