//! How well a pod is treated when its node runs short.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::PodSpec, apimachinery::pkg::api::resource::Quantity};

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed` when every container's limits equal its requests, `BestEffort` when there are neither.
pub(super) fn qos_class(spec: &PodSpec) -> &'static str {
    let init = spec.init_containers.iter().flatten();
    let mut guaranteed = true;
    let mut asked = false;
    for container in spec.containers.iter().chain(init) {
        let resources = container.resources.clone().unwrap_or_default();
        for name in COUNTED {
            let request = quantity(resources.requests.as_ref(), name);
            let limit = quantity(resources.limits.as_ref(), name);
            asked |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (asked, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn quantity<'a>(of: Option<&'a BTreeMap<String, Quantity>>, name: &str) -> Option<&'a str> {
    of?.get(name)
        .map(|quantity| quantity.0.as_str())
        .filter(|quantity| *quantity != "0")
}
