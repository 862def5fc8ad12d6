//! No gap: an endpoint that stays desired and ready stays published and ready (I4).

use std::collections::BTreeSet;

use k8s_openapi::api::{
    core::v1::{Pod, Service},
    discovery::v1::{Endpoint, EndpointSlice},
};
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

use super::{Violation, ensure};
use crate::{
    object::{Name, Object, Resource, is_terminating, is_undecodable, label, owner_uid, uid},
    server::Server,
};

/// A desired and ready endpoint: its owner, the owner's uid, and the uids of all objects that it depends on.
type Desired = (Owner, Vec<String>);

/// The managed-by value, name and uid of the owner of slices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    managed_by: &'static str,
    name: Name,
    uid: String,
}

#[derive(Debug, Default)]
pub(crate) struct NoGap {
    /// Endpoints that were published when no event or write was pending, and were desired and ready ever since. By their
    /// address.
    protected: BTreeSet<(Desired, String)>,
}

impl NoGap {
    /// Another client changed slices, or a request was executed late: a plan from before may remove the last copy of an endpoint.
    pub(crate) fn clear(&mut self) {
        self.protected.clear();
    }

    /// The number of endpoints with this managed-by value that must stay published.
    pub(crate) fn protected(&self, managed_by: &str) -> usize {
        let owners = self.protected.iter().map(|((owner, _), _)| owner);
        owners.filter(|owner| owner.managed_by == managed_by).count()
    }

    /// Checks the stored slices. `is_idle`: no event or write is pending, so that no plan is based on an older state.
    pub(crate) fn check(&mut self, server: &Server, is_idle: bool) -> Result<(), Violation> {
        if self.protected.is_empty() && !is_idle {
            return Ok(());
        }
        let desired = desired(server);
        self.protected.retain(|endpoint| desired.contains(endpoint));
        for (owner, address) in self.protected.iter().map(|((owner, _), address)| (owner, address)) {
            ensure(is_published(server, owner, address), "I4", || {
                format!(
                    "{address} of {} is desired and ready, and no longer published",
                    owner.name.name
                )
            })?;
        }
        if is_idle {
            let published = desired
                .into_iter()
                .filter(|((owner, _), address)| is_published(server, owner, address));
            self.protected.extend(published);
        }
        Ok(())
    }
}

/// Whether an address is in a slice of its owner that is decodable and not terminating, and ready in all of them.
fn is_published(server: &Server, owner: &Owner, address: &str) -> bool {
    let is_of_owner = |slice: &EndpointSlice| {
        label(&slice.metadata, MANAGED_BY_LABEL) == Some(owner.managed_by)
            && slice.metadata.namespace.as_deref() == Some(owner.name.namespace)
            && label(&slice.metadata, SERVICE_NAME_LABEL) == Some(&owner.name.name)
            && owner_uid(slice) == Some(&owner.uid)
            && !is_undecodable(&slice.metadata)
            && !is_terminating(&slice.metadata)
    };
    let is_ready = |endpoint: &Endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions.and_then(|conditions| conditions.ready) != Some(false)
    };
    let slices = server.slices().filter(|slice| is_of_owner(slice));
    let endpoints = slices.flat_map(|slice| slice.endpoints.as_deref().unwrap_or_default());
    let mut copies = endpoints
        .filter(|endpoint| endpoint.addresses.iter().any(|found| found == address))
        .peekable();
    copies.peek().is_some() && copies.all(is_ready)
}

/// All desired and ready IPv4 endpoints.
fn desired(server: &Server) -> BTreeSet<(Desired, String)> {
    let mut desired = BTreeSet::new();
    for object in server.list(Resource::Services) {
        let Object::Service(service) = object else { continue };
        let name = object.full_name();
        if server.is_terminating(name.namespace) {
            continue;
        }
        let selector = selector(service);
        if let Some(app) = selector {
            let owner = Owner {
                managed_by: service_slices::MANAGED_BY,
                uid: object.uid().to_owned(),
                name,
            };
            let is_near = |pod: &&Object| pod.metadata().namespace == object.metadata().namespace;
            for pod in server.list(Resource::Pods).filter(is_near) {
                if let Some((uids, address)) = ready_pod(server, pod, app) {
                    desired.insert(((owner.clone(), uids), address));
                }
            }
        } else if let Some(Object::Endpoints(endpoints)) = server.get(Resource::Endpoints, &name) {
            let owner = Owner {
                managed_by: mirroring::MANAGED_BY,
                uid: uid(&endpoints.metadata).to_owned(),
                name,
            };
            let subsets = endpoints.subsets.as_deref().unwrap_or_default();
            for address in subsets
                .iter()
                .flat_map(|subset| subset.addresses.as_deref().unwrap_or_default())
            {
                desired.insert(((owner.clone(), vec![object.uid().to_owned()]), address.ip.clone()));
            }
        }
    }
    desired
}

fn selector(service: &Service) -> Option<&str> {
    let selector = service.spec.as_ref()?.selector.as_ref()?;
    selector.get("app").map(String::as_str)
}

/// The uids of a selected, ready pod and of its node, and its IPv4 address.
fn ready_pod(server: &Server, object: &Object, app: &str) -> Option<(Vec<String>, String)> {
    let Object::Pod(pod) = object else { return None };
    let Pod { metadata, spec, status } = &**pod;
    let node = server.get(Resource::Nodes, &Name::new("", spec.as_ref()?.node_name.as_deref()?))?;
    let status = status.as_ref()?;
    let is_ready = status.conditions.as_ref()?.first()?.status == "True" && metadata.deletion_timestamp.is_none();
    let is_selected = label(metadata, "app") == Some(app);
    let address = status.pod_ips.as_ref()?.first()?.ip.clone();
    (is_ready && is_selected).then(|| (vec![uid(metadata).to_owned(), node.uid().to_owned()], address))
}
