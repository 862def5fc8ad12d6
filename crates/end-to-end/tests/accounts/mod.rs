//! The service accounts of the controllers, with the permissions of the manifests, and a record of their requests.

pub(crate) mod access;

use std::{collections::BTreeSet, sync::Arc, thread};

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use manifests::{Controller, LEASE_NAMESPACE, NAMESPACE, Options, PART_OF};
use testenv::{AuditLog, AuditedRequest, ControlPlane, ControlPlaneBuilder, Error, User, until};

use self::access::{Access, granted};

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
const ENFORCE_OWNER_REFERENCES: &str = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
/// Any user may review their own permissions, without a rule of ours.
pub(crate) const FOR_ALL_USERS: &str = "selfsubjectaccessreviews";

/// The options of all control planes: the API server checks owner references, and records the requests of the accounts.
pub(crate) fn control_plane(builder: ControlPlaneBuilder) -> ControlPlaneBuilder {
    builder
        .apiserver_arg(ENFORCE_OWNER_REFERENCES)
        .audit(format!("system:serviceaccounts:{NAMESPACE}"))
}

/// The accounts of both controllers. When it is dropped, all of their requests since its creation must have been allowed by the
/// roles of the manifests: the audit log of the API server has the decision of its authorizer, also about requests that do not
/// pass a proxy.
pub(crate) struct Accounts {
    /// In the order of [`CONTROLLERS`](testenv::CONTROLLERS).
    pub(crate) users: Arc<[User; 2]>,
    log: AuditLog,
    /// After its start, the API server denies requests until it has read the roles.
    apiserver_restarts: bool,
}

impl Accounts {
    /// Applies the permissions of the manifests.
    pub(crate) async fn deploy(control_plane: &ControlPlane) -> Self {
        apply_all(control_plane, false).await;
        let [slices, mirroring] =
            Controller::ALL.map(|controller| control_plane.token_of(NAMESPACE, controller.name()));
        let users = [slices.await.unwrap(), mirroring.await.unwrap()];
        let accounts = Self::new(control_plane, Arc::new(users), false);
        accounts.wait_until_granted(control_plane, false).await;
        accounts
    }

    /// The API server caches roles and bindings; they are in effect when this returns.
    pub(crate) async fn wait_until_granted(&self, control_plane: &ControlPlane, shadow: bool) {
        for (controller, user) in Controller::ALL.into_iter().zip(&*self.users) {
            let slices = update_of("discovery.k8s.io", "endpointslices", "", "");
            wait_until_allowed(control_plane, user, slices, !shadow).await;
            let lease = update_of("coordination.k8s.io", "leases", LEASE_NAMESPACE, controller.name());
            // A shadow that replaces a Deployment keeps its Role.
            wait_until_allowed(control_plane, user, lease, true).await;
        }
    }

    /// The accounts from now on.
    pub(crate) fn new(control_plane: &ControlPlane, users: Arc<[User; 2]>, apiserver_restarts: bool) -> Self {
        Self {
            users,
            log: control_plane.audit_log().unwrap(),
            apiserver_restarts,
        }
    }

    fn unexpected_requests(&self) -> Result<BTreeSet<String>, Error> {
        let requests = self.log.requests()?.into_iter();
        let unexpected = requests.filter(|request| !self.is_expected(request));
        let line = |request: AuditedRequest| {
            let AuditedRequest { user, verb, uri, .. } = &request;
            let decision = if request.allowed { &request.reason } else { "denied" };
            format!("{user}: {verb} {uri}: {decision}")
        };
        Ok(unexpected.map(line).collect())
    }

    fn is_expected(&self, request: &AuditedRequest) -> bool {
        let mut controllers = Controller::ALL.into_iter().zip(&*self.users);
        let Some((controller, _)) = controllers.find(|(_, user)| user.name() == request.user) else {
            return false;
        };
        let for_all_users = request.resource == FOR_ALL_USERS;
        if request.allowed {
            let role = format!("Role \"{PART_OF}:{}\" to", controller.name());
            for_all_users || request.reason.contains(&role)
        } else {
            let access = Access::from(request);
            let is_granted = || granted(controller).iter().any(|granted| granted.allows(&access));
            self.apiserver_restarts && (for_all_users || is_granted())
        }
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        let report = match self.unexpected_requests() {
            Ok(requests) if requests.is_empty() => return,
            Ok(requests) => format!("requests that the roles of the manifests do not allow: {requests:#?}"),
            Err(error) => error.to_string(),
        };
        if thread::panicking() {
            eprintln!("{report}");
        } else {
            panic!("{report}");
        }
    }
}

/// Applies the permissions of the manifests, or those of a shadow.
pub(crate) async fn apply_all(control_plane: &ControlPlane, shadow: bool) {
    let client = control_plane.client().unwrap();
    for object in permissions(shadow) {
        apply(&client, object).await;
    }
}

pub(crate) fn permissions(shadow: bool) -> impl Iterator<Item = DynamicObject> {
    let options = Options {
        shadow,
        ..Options::default()
    };
    let objects = manifests::objects(&Controller::ALL, &options).into_iter();
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

pub(crate) fn update_of(group: &str, resource: &str, namespace: &str, name: &str) -> ResourceAttributes {
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

pub(crate) async fn wait_until_allowed(
    control_plane: &ControlPlane,
    user: &User,
    access: ResourceAttributes,
    allowed: bool,
) {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(control_plane.client_for(user).unwrap());
    let what = format!("allowed: {allowed} for {} and {access:?}", user.name());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(access),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    until(&what, async || {
        let response = reviews.create(&PostParams::default(), &review).await.unwrap();
        response.status.is_some_and(|status| status.allowed == allowed)
    })
    .await
    .unwrap();
}
