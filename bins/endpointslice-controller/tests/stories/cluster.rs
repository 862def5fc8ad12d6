//! Objects, put in and looked at as somebody who may do everything.

use k8s_openapi::api::{
    core::v1::{Namespace, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testenv::until;

/// A namespace, with somebody who may do everything in it.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// A new namespace, and the node `n1` in `zone-a` for it.
    pub(crate) async fn new(client: Client, namespace: &str) -> Self {
        let cluster = Self {
            client,
            namespace: namespace.to_owned(),
        };
        create(
            &Api::<Namespace>::all(cluster.client.clone()),
            json!({"metadata": {"name": namespace}}),
        )
        .await;
        let node = json!({
            "metadata": {"name": cluster.node(), "labels": {"topology.kubernetes.io/zone": "zone-a"}},
        });
        create(&Api::<Node>::all(cluster.client.clone()), node).await;
        cluster
    }

    /// The name of the node.
    pub(crate) fn node(&self) -> String {
        format!("{}-n1", self.namespace)
    }

    /// A Service that selects the pods `app: {app}`.
    pub(crate) async fn service(&self, name: &str, app: &str, metadata: Value) {
        let mut service = json!({
            "metadata": metadata,
            "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        });
        service["metadata"]["name"] = name.into();
        create(&self.api::<Service>(), service).await;
    }

    /// A pod of `app` that is ready at an address.
    pub(crate) async fn pod(&self, name: &str, app: &str, address: &str) {
        let pods = self.api::<Pod>();
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": self.node(), "containers": [{"name": "main", "image": "main"}]},
        });
        create(&pods, pod).await;
        let ready = json!({"status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let patch = Patch::Merge(ready);
        pods.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Deletes a pod at once.
    pub(crate) async fn delete_pod(&self, name: &str) {
        let at_once = DeleteParams::default().grace_period(0);
        self.api::<Pod>().delete(name, &at_once).await.unwrap();
    }

    /// The slices of a Service.
    pub(crate) async fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
        self.api::<EndpointSlice>().list(&of_service).await.unwrap().items
    }

    /// Waits until the slices of a Service hold these addresses, all ready, on our node.
    pub(crate) async fn published(&self, service: &str, addresses: &[&str]) {
        let what = format!("{service} has {addresses:?}");
        let wanted: Vec<String> = addresses.iter().map(|&address| address.to_owned()).collect();
        let is_so = async || ready_addresses(&self.slices(service).await).as_ref() == Some(&wanted);
        until(&what, is_so).await.unwrap();
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// All addresses, if there is a slice at all and every endpoint is ready and has a zone.
fn ready_addresses(slices: &[EndpointSlice]) -> Option<Vec<String>> {
    let mut addresses = Vec::new();
    slices.first()?;
    for endpoint in slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()) {
        let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
        if ready != Some(true) || endpoint.zone.as_deref() != Some("zone-a") {
            return None;
        }
        addresses.extend(endpoint.addresses.iter().cloned());
    }
    addresses.sort();
    Some(addresses)
}

async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}
