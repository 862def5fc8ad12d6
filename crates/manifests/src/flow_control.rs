//! API priority and fairness: requests of the controllers do not wait behind those of other `ServiceAccounts`.

use k8s_openapi::api::flowcontrol::v1::{
    FlowDistinguisherMethod, FlowSchema, FlowSchemaSpec, LimitResponse, LimitedPriorityLevelConfiguration,
    NonResourcePolicyRule, PolicyRulesWithSubjects, PriorityLevelConfiguration, PriorityLevelConfigurationReference,
    PriorityLevelConfigurationSpec, QueuingConfiguration, ResourcePolicyRule, ServiceAccountSubject, Subject,
};
use kube::core::DynamicObject;

use crate::{Controller, LEASE_NAMESPACE, NAMESPACE, PART_OF, cluster_scoped, dynamic};

/// The default levels of kube-apiserver have 245 shares, so that ours is about one of 13: 45 seats of 600, 15 of 200.
const SHARES: i32 = 20;
/// Before the `FlowSchemas` of kube-apiserver for all `ServiceAccounts` (9000) and for kube-controller-manager (800).
const PRECEDENCE: i32 = 700;
/// Built into kube-apiserver.
const LEASE_LEVEL: &str = "leader-election";
/// Before that of all requests.
const LEASE_PRECEDENCE: i32 = PRECEDENCE - 100;

pub(crate) fn priority_level_configuration() -> DynamicObject {
    dynamic(&PriorityLevelConfiguration {
        metadata: cluster_scoped(PART_OF, PART_OF),
        spec: Some(PriorityLevelConfigurationSpec {
            type_: "Limited".to_owned(),
            limited: Some(LimitedPriorityLevelConfiguration {
                nominal_concurrency_shares: Some(SHARES),
                // Other levels may use half of the seats while the controllers are quiescent.
                lendable_percent: Some(50),
                limit_response: Some(LimitResponse {
                    type_: "Queue".to_owned(),
                    queuing: Some(QueuingConfiguration {
                        queues: Some(16),
                        hand_size: Some(4),
                        queue_length_limit: Some(50),
                    }),
                }),
                ..LimitedPriorityLevelConfiguration::default()
            }),
            ..PriorityLevelConfigurationSpec::default()
        }),
        ..PriorityLevelConfiguration::default()
    })
}

/// Requests for the Lease of a controller: on the level that kube-apiserver has for those of its own components, so that they
/// wait neither behind the writes of the controller nor are rejected with them. A `FlowSchema` cannot name the Lease.
pub(crate) fn lease_flow_schema(controller: Controller) -> DynamicObject {
    let text = |value: &str| vec![value.to_owned()];
    let rules = PolicyRulesWithSubjects {
        subjects: vec![subject(controller)],
        resource_rules: Some(vec![ResourcePolicyRule {
            api_groups: text("coordination.k8s.io"),
            resources: text("leases"),
            verbs: ["create", "get", "update"].map(str::to_owned).to_vec(),
            namespaces: Some(text(LEASE_NAMESPACE)),
            ..ResourcePolicyRule::default()
        }]),
        ..PolicyRulesWithSubjects::default()
    };
    let name = format!("{}-leader-election", controller.name());
    schema(controller, &name, LEASE_LEVEL, LEASE_PRECEDENCE, "ByUser", rules)
}

/// All other requests of a controller: its watches, writes and reviews.
pub(crate) fn flow_schema(controller: Controller) -> DynamicObject {
    let all = || vec!["*".to_owned()];
    let rules = PolicyRulesWithSubjects {
        subjects: vec![subject(controller)],
        resource_rules: Some(vec![ResourcePolicyRule {
            api_groups: all(),
            resources: all(),
            verbs: all(),
            namespaces: Some(all()),
            cluster_scope: Some(true),
        }]),
        non_resource_rules: Some(vec![NonResourcePolicyRule {
            non_resource_urls: all(),
            verbs: all(),
        }]),
    };
    // Writes in one namespace do not delay those in others.
    schema(controller, controller.name(), PART_OF, PRECEDENCE, "ByNamespace", rules)
}

fn subject(controller: Controller) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        service_account: Some(ServiceAccountSubject {
            name: controller.name().to_owned(),
            namespace: NAMESPACE.to_owned(),
        }),
        ..Subject::default()
    }
}

fn schema(
    controller: Controller,
    name: &str,
    level: &str,
    precedence: i32,
    distinguisher: &str,
    rules: PolicyRulesWithSubjects,
) -> DynamicObject {
    dynamic(&FlowSchema {
        metadata: cluster_scoped(controller.name(), name),
        spec: Some(FlowSchemaSpec {
            priority_level_configuration: PriorityLevelConfigurationReference { name: level.to_owned() },
            matching_precedence: Some(precedence),
            distinguisher_method: Some(FlowDistinguisherMethod {
                type_: distinguisher.to_owned(),
            }),
            rules: Some(vec![rules]),
        }),
        ..FlowSchema::default()
    })
}
