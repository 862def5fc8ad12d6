//! `ServiceAccounts` and RBAC.

use k8s_openapi::{
    api::{
        core::v1::ServiceAccount,
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::core::DynamicObject;
use slice_runtime::lease_rules;

use crate::{Controller, LEASE_NAMESPACE, NAMESPACE, Options, PART_OF, cluster_scoped, dynamic, namespaced};

const RBAC: &str = "rbac.authorization.k8s.io";
/// The `ClusterRole` for clients that read metrics.
pub(crate) const METRICS_READER: &str = "endpointslice-rs:metrics-reader";

/// The `ServiceAccount` of a controller with its permissions.
pub(crate) fn objects(controller: Controller, options: &Options) -> Vec<DynamicObject> {
    let subject = service_account_subject(controller.name());
    let name = role_name(controller);
    let metadata = cluster_scoped(controller.name(), &name);
    let mut objects = vec![
        dynamic(&ServiceAccount {
            metadata: namespaced(controller, controller.name()),
            // The pods of the Deployment mount a token, and no others of this account.
            automount_service_account_token: Some(false),
            ..ServiceAccount::default()
        }),
        dynamic(&ClusterRole {
            metadata: metadata.clone(),
            rules: Some(controller.cluster_rules(options.shadow)),
            ..ClusterRole::default()
        }),
        dynamic(&ClusterRoleBinding {
            metadata: metadata.clone(),
            role_ref: role_ref("ClusterRole", &name),
            subjects: Some(vec![subject.clone()]),
        }),
    ];
    if !options.shadow {
        let metadata = ObjectMeta {
            namespace: Some(LEASE_NAMESPACE.to_owned()),
            ..metadata
        };
        objects.extend([
            dynamic(&Role {
                metadata: metadata.clone(),
                rules: Some(lease_rules(controller.name())),
            }),
            dynamic(&RoleBinding {
                metadata,
                role_ref: role_ref("Role", &name),
                subjects: Some(vec![subject]),
            }),
        ]);
    }
    objects
}

/// The `ClusterRole` for Prometheus and other clients that read metrics; it is bound by those who need it.
pub(crate) fn metrics_reader() -> DynamicObject {
    dynamic(&ClusterRole {
        metadata: cluster_scoped(PART_OF, METRICS_READER),
        rules: Some(vec![PolicyRule {
            non_resource_urls: Some(vec!["/metrics".to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        }]),
        ..ClusterRole::default()
    })
}

pub(crate) fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

pub(crate) fn service_account_subject(name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        ..Subject::default()
    }
}

/// The name of the roles of a controller, and of their bindings.
#[must_use]
pub fn role_name(controller: Controller) -> String {
    format!("{PART_OF}:{}", controller.name())
}
