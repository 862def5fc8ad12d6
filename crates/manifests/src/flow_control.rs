//! API priority and fairness: requests of the controllers do not wait behind those of other `ServiceAccounts`.

use k8s_openapi::api::flowcontrol::v1::{
    FlowDistinguisherMethod, FlowSchema, FlowSchemaSpec, LimitResponse, LimitedPriorityLevelConfiguration,
    NonResourcePolicyRule, PolicyRulesWithSubjects, PriorityLevelConfiguration, PriorityLevelConfigurationReference,
    PriorityLevelConfigurationSpec, QueuingConfiguration, ResourcePolicyRule, ServiceAccountSubject, Subject,
};
use kube::core::DynamicObject;

use crate::{Controller, NAMESPACE, PART_OF, cluster_scoped, dynamic};

/// The default levels of kube-apiserver have 245 shares, so that ours is about one of 13: 45 seats of 600, 15 of 200.
const SHARES: i32 = 20;
/// Before the `FlowSchemas` of kube-apiserver for all `ServiceAccounts` (9000) and for kube-controller-manager (800).
const PRECEDENCE: i32 = 700;

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

/// All requests of a controller: its watches, writes, reviews and the renewals of its Lease.
pub(crate) fn flow_schema(controller: Controller) -> DynamicObject {
    let all = || vec!["*".to_owned()];
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        service_account: Some(ServiceAccountSubject {
            name: controller.name().to_owned(),
            namespace: NAMESPACE.to_owned(),
        }),
        ..Subject::default()
    };
    dynamic(&FlowSchema {
        metadata: cluster_scoped(controller.name(), controller.name()),
        spec: Some(FlowSchemaSpec {
            priority_level_configuration: PriorityLevelConfigurationReference {
                name: PART_OF.to_owned(),
            },
            matching_precedence: Some(PRECEDENCE),
            // Writes in one namespace do not delay those in others.
            distinguisher_method: Some(FlowDistinguisherMethod {
                type_: "ByNamespace".to_owned(),
            }),
            rules: Some(vec![PolicyRulesWithSubjects {
                subjects: vec![subject],
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
            }]),
        }),
        ..FlowSchema::default()
    })
}
