//! Creating and reading objects.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::Error;

/// The API of slices or of one of their input kinds, in a namespace if namespaced; `None` for other kinds.
#[must_use]
pub fn api(client: &Client, namespace: &str, kind: &str) -> Option<Api<DynamicObject>> {
    let (group, plural) = match kind {
        "Endpoints" => ("", "endpoints"),
        "EndpointSlice" => ("discovery.k8s.io", "endpointslices"),
        "Namespace" => ("", "namespaces"),
        "Node" => ("", "nodes"),
        "Pod" => ("", "pods"),
        "Service" => ("", "services"),
        _ => return None,
    };
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let client = client.clone();
    Some(match kind {
        "Namespace" | "Node" => Api::all_with(client, &resource),
        _ => Api::namespaced_with(client, namespace, &resource),
    })
}

/// Creates an object.
pub async fn create<K>(api: &Api<K>, object: serde_json::Value) -> Result<K, Error>
where
    K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let action = format!("create {object}");
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError);
    let object: K = object.map_err(Error::request(&*action))?;
    let created = api.create(&PostParams::default(), &object).await;
    created.map_err(Error::request(action))
}

/// The slices of a Service, by label.
pub async fn slices_of(client: &Client, namespace: &str, service: &str) -> Result<Vec<EndpointSlice>, Error> {
    let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
    let slices = Api::<EndpointSlice>::namespaced(client.clone(), namespace);
    let slices = slices.list(&of_service).await;
    slices
        .map(|list| list.items)
        .map_err(Error::request(format!("list the slices of {namespace}/{service}")))
}

/// All addresses in the slices, sorted; `None` if there is no slice or an endpoint is not ready.
#[must_use]
pub fn ready_addresses(slices: &[EndpointSlice]) -> Option<Vec<&str>> {
    slices.first()?;
    let mut addresses = Vec::new();
    for endpoint in slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()) {
        let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
        if ready != Some(true) {
            return None;
        }
        addresses.extend(endpoint.addresses.iter().map(String::as_str));
    }
    addresses.sort_unstable();
    Some(addresses)
}
