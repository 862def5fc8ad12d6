//! Random changes of slices and all their inputs, for tests of both controllers.
//!
//! A [`Generator`] makes [`Action`]s from a seed, an [`Operator`] executes them. [`prepare`] creates the namespace that they need;
//! controllers run with [`CONTROLLER_FLAGS`], and [`checks`] configures the oracle for them.

mod action;
mod generator;
mod model;
mod operator;

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::{Api, Client};
use serde_json::json;
use slice_oracle::{CheckConfig, Manager};
use testenv::{Error, objects::create};

pub use self::{
    action::{Action, SliceEdit},
    generator::Generator,
    operator::Operator,
};

/// Low maxima, so that there are several slices: flags of the controllers, in the order of [`testenv::CONTROLLERS`].
pub const CONTROLLER_FLAGS: [&str; 2] = ["--max-endpoints-per-slice=5", "--mirroring-max-endpoints-per-subset=6"];
const MAX_ENDPOINTS: usize = 5;
const MAX_ADDRESSES: usize = 6;

/// Creates the namespace, and in it a Service without endpoints, so that placeholders are checked.
pub async fn prepare(client: &Client, namespace: &str) -> Result<(), Error> {
    let object = json!({"metadata": {"name": namespace}});
    create(&Api::<Namespace>::all(client.clone()), object).await?;
    let without_pods =
        json!({"metadata": {"name": "no-pods"}, "spec": {"selector": {"app": "no-pods"}, "ports": [{"port": 80}]}});
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    create(&services, without_pods).await.map(drop)
}

/// The checks for controllers with [`CONTROLLER_FLAGS`].
#[must_use]
pub fn checks() -> CheckConfig {
    let default = CheckConfig::default();
    let at_most = |manager: Option<Manager>, max_endpoints| {
        manager.map(|default| Manager {
            max_endpoints,
            ..default
        })
    };
    CheckConfig {
        services: at_most(default.services, MAX_ENDPOINTS),
        mirroring: at_most(default.mirroring, MAX_ADDRESSES),
        ..CheckConfig::default()
    }
}
