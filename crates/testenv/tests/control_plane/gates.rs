//! Behaviour of an API server with feature gates disabled that are enabled by default.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use testenv::ControlPlane;

fn slice(name: &str, address: &str, hints: &Value) -> EndpointSlice {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "hints": hints}],
    }))
    .unwrap()
}

fn hints(slice: &EndpointSlice) -> Value {
    json!(slice.endpoints.as_ref().unwrap()[0].hints)
}

/// Hints for nodes are dropped, those for zones are kept (T-API-02, -03, -05). Leading zeros are accepted (T-VAL-14).
#[tokio::test]
async fn disabled_feature_gates_drop_node_hints_and_accept_leading_zeros() {
    let control_plane = ControlPlane::builder()
        .apiserver_arg("--emulated-version=1.34")
        .apiserver_arg("--feature-gates=PreferSameTrafficDistribution=false,StrictIPCIDRValidation=false")
        .start()
        .await
        .unwrap();
    let slices: Api<EndpointSlice> = Api::default_namespaced(control_plane.client().unwrap());
    let params = PostParams::default();
    let zones = json!({"forZones": [{"name": "a"}]});
    let both = json!({"forZones": [{"name": "a"}], "forNodes": [{"name": "node-1"}]});
    let created = slices.create(&params, &slice("created", "10.0.0.1", &both)).await;
    assert_eq!(hints(&created.unwrap()), zones, "T-API-02");
    let bare = slice("updated", "10.0.0.1", &Value::Null);
    slices.create(&params, &bare).await.unwrap();
    for (id, update) in [("T-API-03", &zones), ("T-API-05", &both)] {
        let update = slice("updated", "10.0.0.1", update);
        let updated = slices.replace("updated", &params, &update).await.unwrap();
        assert_eq!(hints(&updated), zones, "{id}");
    }
    let zeros = slice("zeros", "012.034.056.078", &Value::Null);
    slices.create(&params, &zeros).await.unwrap();
}
