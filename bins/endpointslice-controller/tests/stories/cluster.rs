//! Objects, put in and looked at as somebody who may do everything.

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

    /// A Service that selects the pods `app: {app}`.
    pub(crate) async fn service(&self, name: &str, app: &str, metadata: Value) {
        let mut service = json!({
            "metadata": metadata,
            "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        });
        service["metadata"]["name"] = name.into();
        create(&self.api::<Service>(), service).await.unwrap();
    }

    /// A pod of `app` that is ready at an address.
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

    /// Deletes a pod at once.
    pub(crate) async fn delete_pod(&self, name: &str) {
        let at_once = DeleteParams::default().grace_period(0);
        self.api::<Pod>().delete(name, &at_once).await.unwrap();
    }

    /// The slices of a Service.
    pub(crate) async fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        slices_of(&self.client, &self.namespace, service).await.unwrap()
    }

    /// Waits until the slices of a Service hold these addresses, all ready, on our node.
    pub(crate) async fn published(&self, service: &str, addresses: &[&str]) {
        let what = format!("{service} has {addresses:?}");
        let is_so = async || {
            let slices = self.slices(service).await;
            let mut endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let zones = endpoints.all(|endpoint| endpoint.zone.as_deref() == Some("zone-a"));
            zones && ready_addresses(&slices).as_deref() == Some(addresses)
        };
        until(&what, is_so).await.unwrap();
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}
