//! A test namespace: creates objects and reads slices, with full access.

use k8s_openapi::api::{
    core::v1::{Namespace, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testenv::{
    objects::{create, ready_addresses, slices_of},
    until,
};

/// A namespace, with a client that has full access.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// Creates the namespace and its node in `zone-a`.
    pub(crate) async fn new(client: Client, namespace: &str) -> Self {
        let cluster = Self {
            client,
            namespace: namespace.to_owned(),
        };
        let namespace = json!({"metadata": {"name": namespace}});
        create(&Api::<Namespace>::all(cluster.client.clone()), namespace)
            .await
            .unwrap();
        let node = json!({
            "metadata": {"name": cluster.node(), "labels": {"topology.kubernetes.io/zone": "zone-a"}},
        });
        create(&Api::<Node>::all(cluster.client.clone()), node).await.unwrap();
        cluster
    }

    /// The name of the node.
    pub(crate) fn node(&self) -> String {
        format!("{}-n1", self.namespace)
    }

    /// Creates a Service with the selector `app: {app}`.
    pub(crate) async fn service(&self, name: &str, app: &str, metadata: Value) {
        let mut service = json!({
            "metadata": metadata,
            "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        });
        service["metadata"]["name"] = name.into();
        create(&self.api::<Service>(), service).await.unwrap();
    }

    /// Creates a ready pod of `app` with this address.
    pub(crate) async fn pod(&self, name: &str, app: &str, address: &str) {
        let pods = self.api::<Pod>();
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": self.node(), "containers": [{"name": "main", "image": "main"}]},
        });
        create(&pods, pod).await.unwrap();
        let ready = json!({"status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let patch = Patch::Merge(ready);
        pods.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Deletes a pod without grace period.
    pub(crate) async fn delete_pod(&self, name: &str) {
        let no_grace = DeleteParams::default().grace_period(0);
        self.api::<Pod>().delete(name, &no_grace).await.unwrap();
    }

    /// The slices of a Service.
    pub(crate) async fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        slices_of(&self.client, &self.namespace, service).await.unwrap()
    }

    /// Waits until the slices of a Service have exactly these addresses, all ready and in `zone-a`.
    pub(crate) async fn wait_published(&self, service: &str, addresses: &[&str]) {
        let condition = format!("{service} has {addresses:?}");
        let is_published = async || {
            let slices = self.slices(service).await;
            let mut endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let in_zone = endpoints.all(|endpoint| endpoint.zone.as_deref() == Some("zone-a"));
            in_zone && ready_addresses(&slices).as_deref() == Some(addresses)
        };
        until(&condition, is_published).await.unwrap();
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}
