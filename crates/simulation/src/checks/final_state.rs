//! The slices at the end, compared with what the objects demand, by the oracle (I1, I2, I5).

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Namespace,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use slice_oracle::{CheckConfig, Entry, Event, History, Invariant, Manager, Verb, check_final_state};

use super::Violation;
use crate::{engine::Role, object::NAMESPACES, schedule::Setup, server::Server};

/// Checks the namespaces that are neither terminating nor the one in which writes fail.
pub(crate) fn check(server: &Server, roles: impl Iterator<Item = Role>, setup: &Setup) -> Result<(), Violation> {
    let failing = server.namespace_fault.map(|(namespace, _)| namespace);
    let is_ignored = |namespace| server.is_terminating(namespace) || failing == Some(namespace);
    let mut config = CheckConfig {
        services: None,
        mirroring: None,
        ..CheckConfig::default()
    };
    for role in roles {
        let manager = Some(Manager {
            managed_by: role.managed_by().to_owned(),
            max_endpoints: role.max_endpoints(setup),
        });
        match role {
            Role::Services => config.services = manager,
            Role::Mirroring => config.mirroring = manager,
        }
    }
    let namespaces = NAMESPACES.map(|name| Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: Some("1".to_owned()),
            deletion_timestamp: is_ignored(name).then_some(Time(Timestamp::UNIX_EPOCH)),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    });
    let objects = server.objects().map(crate::object::Object::to_recorded);
    let mut history = History::default();
    for object in objects.chain(namespaces.map(Into::into)) {
        let event = Event::new(Timestamp::UNIX_EPOCH, Verb::Listed, object);
        let event = event.map_err(|error| Violation::new("I1", error.to_string()))?;
        history.push(Entry::Event(Box::new(event)));
    }
    match check_final_state(&history, &config).first() {
        None => Ok(()),
        Some(violation) => Err(Violation::new(id(violation.invariant), violation.to_string())),
    }
}

fn id(invariant: Invariant) -> &'static str {
    match invariant {
        Invariant::I1 => "I1",
        Invariant::I2 => "I2",
        Invariant::I5 => "I5",
        _ => "the final state",
    }
}
