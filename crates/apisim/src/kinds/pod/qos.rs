//! Quality-of-service class of pods.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::PodSpec, apimachinery::pkg::api::resource::Quantity};

const QOS_RESOURCES: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed` if the limits of every container equal its requests, `BestEffort` if no container has either.
pub(super) fn qos_class(spec: &PodSpec) -> &'static str {
    let init = spec.init_containers.iter().flatten();
    let mut guaranteed = true;
    let mut has_resources = false;
    for container in spec.containers.iter().chain(init) {
        let resources = container.resources.clone().unwrap_or_default();
        for name in QOS_RESOURCES {
            let request = quantity(resources.requests.as_ref(), name);
            let limit = quantity(resources.limits.as_ref(), name);
            has_resources |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (has_resources, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn quantity<'a>(quantities: Option<&'a BTreeMap<String, Quantity>>, name: &str) -> Option<&'a str> {
    quantities?
        .get(name)
        .map(|quantity| quantity.0.as_str())
        .filter(|quantity| *quantity != "0")
}
