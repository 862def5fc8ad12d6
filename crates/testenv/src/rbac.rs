//! RBAC: grants a user exactly the given rules.

use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use crate::error::Error;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Binds `subject`, known to the API server as `user`, to a new role with these rules, and waits until they take
/// effect.
pub(crate) async fn grant(admin: &Client, user: &str, subject: Subject, rules: Vec<PolicyRule>) -> Result<(), Error> {
    let name = format!("testenv:{user}");
    let probe = rules.iter().find_map(probe);
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..ObjectMeta::default()
    };
    let role = ClusterRole {
        metadata: metadata.clone(),
        rules: Some(rules),
        ..ClusterRole::default()
    };
    let binding = ClusterRoleBinding {
        metadata,
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: name.clone(),
        },
        subjects: Some(vec![subject]),
    };
    let params = PostParams::default();
    Api::all(admin.clone())
        .create(&params, &role)
        .await
        .map_err(Error::request(format!("create the ClusterRole {name}")))?;
    Api::all(admin.clone())
        .create(&params, &binding)
        .await
        .map_err(Error::request(format!("create the ClusterRoleBinding {name}")))?;
    match probe {
        Some(probe) => wait_until_allowed(admin, user, probe).await,
        None => Ok(()),
    }
}

/// One rule of a role: these verbs on these resources of these API groups.
#[must_use]
pub fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(owned(groups)),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

/// Creates a service account.
pub(crate) async fn create_service_account(admin: &Client, namespace: &str, name: &str) -> Result<(), Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
    let account = ServiceAccount {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ServiceAccount::default()
    };
    accounts
        .create(&PostParams::default(), &account)
        .await
        .map_err(Error::request(format!("create the service account {namespace}/{name}")))?;
    Ok(())
}

/// A new token of a service account.
pub(crate) async fn token(admin: &Client, namespace: &str, name: &str) -> Result<String, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            // For an hour, with the API server as audience.
            expiration_seconds: Some(3600),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let response = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .map_err(Error::request(format!("get a token for {namespace}/{name}")))?;
    let token = response.status.and_then(|status| status.token);
    token.ok_or_else(|| Error::System {
        action: format!("get a token for {namespace}/{name}"),
        source: std::io::Error::other("the response contains no token"),
    })
}

/// The API server caches roles and bindings, so they take effect some time after their creation.
async fn wait_until_allowed(admin: &Client, user: &str, spec: SubjectAccessReviewSpec) -> Result<(), Error> {
    let reviews: Api<SubjectAccessReview> = Api::all(admin.clone());
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            ..spec
        },
        ..SubjectAccessReview::default()
    };
    let start = Instant::now();
    loop {
        let response = reviews
            .create(&PostParams::default(), &review)
            .await
            .map_err(Error::request(format!("review the access of {user}")))?;
        if response.status.is_some_and(|status| status.allowed) {
            return Ok(());
        }
        if start.elapsed() > TIMEOUT {
            return Err(Error::Timeout {
                what: format!("rules of {user} in effect"),
                seconds: TIMEOUT.as_secs(),
            });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A request that a rule allows. A role takes effect as a whole, so one request stands for all its rules.
fn probe(rule: &PolicyRule) -> Option<SubjectAccessReviewSpec> {
    let verb = rule.verbs.first().cloned();
    verb.as_ref()?;
    if let Some(path) = first(rule.non_resource_urls.as_deref()) {
        return Some(SubjectAccessReviewSpec {
            non_resource_attributes: Some(NonResourceAttributes { path: Some(path), verb }),
            ..SubjectAccessReviewSpec::default()
        });
    }
    let resource = first(rule.resources.as_deref())?;
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (resource, None),
    };
    Some(SubjectAccessReviewSpec {
        resource_attributes: Some(ResourceAttributes {
            group: Some(first(rule.api_groups.as_deref())?),
            resource: Some(resource),
            subresource,
            name: first(rule.resource_names.as_deref()),
            verb,
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    })
}

fn first(values: Option<&[String]>) -> Option<String> {
    values?.first().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_probed_by_its_first_resource_and_verb() {
        let rule = PolicyRule {
            resource_names: Some(vec!["web".to_owned()]),
            ..rule(&["apps"], &["deployments/scale", "pods"], &["patch", "get"])
        };
        let expected = ResourceAttributes {
            group: Some("apps".to_owned()),
            resource: Some("deployments".to_owned()),
            subresource: Some("scale".to_owned()),
            name: Some("web".to_owned()),
            verb: Some("patch".to_owned()),
            ..ResourceAttributes::default()
        };
        assert_eq!(probe(&rule).unwrap().resource_attributes, Some(expected));
    }

    #[test]
    fn a_non_resource_rule_is_probed_by_its_path() {
        let rule = PolicyRule {
            non_resource_urls: Some(vec!["/metrics".to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        };
        let expected = NonResourceAttributes {
            path: Some("/metrics".to_owned()),
            verb: Some("get".to_owned()),
        };
        assert_eq!(probe(&rule).unwrap().non_resource_attributes, Some(expected));
    }

    #[test]
    fn a_rule_that_allows_nothing_is_not_probed() {
        assert_eq!(probe(&PolicyRule::default()), None);
    }
}
