//! The service accounts of the controllers, with the permissions of the manifests.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use manifests::{Controller, LEASE_NAMESPACE, NAMESPACE, Options};
use testenv::{ControlPlane, User, until};

/// The objects that grant permissions, by kind.
const KINDS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// Turns on the admission plugin for which the controllers may update finalizers of the owners of slices.
pub(crate) const ENFORCE_OWNER_REFERENCES: &str = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";

/// Applies the permissions of the manifests. Returns the accounts of both controllers, in the order of
/// [`CONTROLLERS`](testenv::CONTROLLERS).
pub(crate) async fn deploy(control_plane: &ControlPlane) -> [User; 2] {
    let client = control_plane.client().unwrap();
    for object in permissions() {
        apply(&client, object).await;
    }
    let [slices, mirroring] = Controller::ALL.map(|controller| account(control_plane, controller));
    [slices.await, mirroring.await]
}

pub(crate) fn permissions() -> impl Iterator<Item = DynamicObject> {
    let objects = manifests::objects(&Controller::ALL, &Options::default()).into_iter();
    objects.filter(|object| KINDS.contains(&object.types.as_ref().unwrap().kind.as_str()))
}

pub(crate) async fn apply(client: &Client, object: DynamicObject) {
    let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("tests").force();
    let name = object.metadata.name.clone().unwrap();
    api.patch(&name, &params, &Patch::Apply(object)).await.unwrap();
}

/// The account of a controller. The API server caches roles and bindings; they are in effect when this returns.
async fn account(control_plane: &ControlPlane, controller: Controller) -> User {
    let user = control_plane.token_of(NAMESPACE, controller.name()).await.unwrap();
    let slices = access("discovery.k8s.io", "endpointslices", "", "");
    wait_until_allowed(control_plane, &user, slices).await;
    let lease = access("coordination.k8s.io", "leases", LEASE_NAMESPACE, controller.name());
    wait_until_allowed(control_plane, &user, lease).await;
    user
}

pub(crate) fn access(group: &str, resource: &str, namespace: &str, name: &str) -> ResourceAttributes {
    let [group, resource, namespace, name] = [group, resource, namespace, name].map(|part| Some(part.to_owned()));
    ResourceAttributes {
        group,
        resource,
        namespace,
        name,
        verb: Some("update".to_owned()),
        ..ResourceAttributes::default()
    }
}

pub(crate) async fn wait_until_allowed(control_plane: &ControlPlane, user: &User, access: ResourceAttributes) {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(control_plane.client_for(user).unwrap());
    let what = format!("{} may have {access:?}", user.name());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(access),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    until(&what, async || {
        let response = reviews.create(&PostParams::default(), &review).await.unwrap();
        response.status.is_some_and(|status| status.allowed)
    })
    .await
    .unwrap();
}
