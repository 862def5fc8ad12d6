//! The objects to apply or to delete, with the API of their resource.

use std::fmt;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
    core::GroupVersionKind,
};
use manifests::{Controller, Options};

use crate::{Args, installed};

/// An object with its resource.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) resource: ApiResource,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) content: DynamicObject,
}

impl Object {
    pub(crate) fn new(content: DynamicObject) -> Self {
        let types = content.types.as_ref().expect("a manifest has apiVersion and kind");
        let kind = GroupVersionKind::try_from(types).expect("the apiVersion of a manifest is valid");
        Self {
            resource: ApiResource::from_gvk(&kind),
            namespace: content.metadata.namespace.clone(),
            name: content.metadata.name.clone().expect("a manifest has a name"),
            content,
        }
    }

    pub(crate) fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// Whether both are the same object of the cluster.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.resource, &self.namespace, &self.name) == (&other.resource, &other.namespace, &other.name)
    }
}

/// As kubectl names it: `deployments.apps/NAME`, with its namespace if that is not ours.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApiResource { plural, group, .. } = &self.resource;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{plural}{dot}{group}/{}", self.name)?;
        match self.namespace.as_deref() {
            Some(namespace) if namespace != manifests::NAMESPACE => write!(f, " (in {namespace})"),
            _ => Ok(()),
        }
    }
}

const REPLICAS_MAX: i32 = 2;
/// Nodes in a response. The list of its images makes a node a large object.
const NODES_LIMIT: u32 = 50;

/// The objects of these controllers, in the order in which they are applied, and the controllers with the default image. One
/// replica for each node, two at most: on the host network a node has the port of a controller once.
pub(crate) async fn to_install(
    client: &Client,
    args: &Args,
    controllers: &[Controller],
) -> anyhow::Result<(Vec<Object>, Vec<Controller>)> {
    let nodes = has_nodes(client, REPLICAS_MAX).await;
    let has_nodes =
        nodes.context("nothing was changed: cannot list nodes, so that the number of replicas is unknown")?;
    let replicas = if has_nodes { REPLICAS_MAX } else { 1 };
    if replicas == 1 && !args.shadow {
        println!(
            "one replica of each controller, since the cluster has less than two schedulable Linux nodes whose taints it tolerates"
        );
    }
    let mut contents = Vec::new();
    let mut with_default_image = Vec::new();
    for &controller in controllers {
        let image = image(client, args, controller).await?;
        if image.is_none() {
            with_default_image.push(controller);
        }
        let options = Options {
            image,
            replicas,
            shadow: args.shadow,
        };
        contents.extend(manifests::objects(&[controller], &options));
    }
    Ok((distinct(contents), with_default_image))
}

/// Whether replicas can be scheduled to this many nodes.
async fn has_nodes(client: &Client, needed: i32) -> Result<bool, kube::Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut schedulable = ListParams::default()
        .fields("spec.unschedulable=false")
        .labels("kubernetes.io/os=linux")
        .limit(NODES_LIMIT);
    let mut found = 0;
    loop {
        let page = nodes.list(&schedulable).await?;
        for node in &page.items {
            found += i32::from(is_tolerated(node));
        }
        schedulable.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if found >= needed || schedulable.continue_token.is_none() {
            return Ok(found >= needed);
        }
    }
}

/// Whether no taint keeps the replicas off a node.
fn is_tolerated(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints
        .filter(|taint| taint.effect != "PreferNoSchedule")
        .all(|taint| manifests::TOLERATED_TAINTS.contains(&taint.key.as_str()))
}

/// The image of a controller: the given or the installed one. `None` is the default.
async fn image(client: &Client, args: &Args, controller: Controller) -> anyhow::Result<Option<String>> {
    if let Some(image) = args.image(controller) {
        return Ok(Some(image));
    }
    let Some(installed) = installed::deployment(client, controller).await? else {
        return Ok(None);
    };
    let kept = installed::kept_image(controller, &installed)?;
    if let Some(image) = &kept {
        println!("{}: keeps its image {image}; --image changes it", controller.name());
    }
    Ok(kept)
}

/// All objects that may be installed for these controllers, in the order in which they are applied; those for monitoring by
/// other means.
pub(crate) fn installable(controllers: &[Controller]) -> Vec<Object> {
    let options = [false, true].map(|shadow| Options {
        shadow,
        ..Options::default()
    });
    let objects = options
        .iter()
        .flat_map(|options| manifests::objects(controllers, options));
    distinct(objects.chain(manifests::monitoring_objects(controllers)))
}

/// Each object once: the controllers share some.
fn distinct(contents: impl IntoIterator<Item = DynamicObject>) -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    for object in contents.into_iter().map(Object::new) {
        if !objects.iter().any(|other| other.is(&object)) {
            objects.push(object);
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_counts_if_all_its_taints_are_tolerated() {
        let control_plane = json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"});
        let preferred = json!({"key": "example.test/spot", "effect": "PreferNoSchedule"});
        let gpu = json!({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"});
        let unreachable = json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"});
        for (taints, expected) in [
            (json!([]), true),
            (json!([control_plane, preferred]), true),
            (json!([control_plane, gpu]), false),
            (json!([unreachable]), false),
        ] {
            let node = serde_json::from_value(json!({"metadata": {}, "spec": {"taints": taints}}));
            assert_eq!(is_tolerated(&node.unwrap()), expected, "{taints}");
        }
    }

    #[test]
    fn objects_of_both_controllers_are_distinct_and_begin_with_the_namespace() {
        let objects = installable(&Controller::ALL);
        assert_eq!(objects[0].to_string(), "namespaces/endpointslice-system");
        let namespaces = objects.iter().filter(|object| object.resource.kind == "Namespace");
        assert_eq!(namespaces.count(), 1);
        let names: Vec<_> = objects.iter().map(ToString::to_string).collect();
        assert!(names.contains(&"deployments.apps/endpointslice-mirroring-controller".to_owned()));
        assert!(names.iter().any(|name| name.ends_with("(in kube-system)")), "{names:?}");
        assert!(
            names.contains(&"podmonitors.monitoring.coreos.com/endpointslice-rs".to_owned()),
            "{names:?}"
        );
    }
}
