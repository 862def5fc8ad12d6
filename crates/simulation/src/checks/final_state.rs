//! The slices at the end, compared with what the objects demand, by the oracle (I1, I2, I5).

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_oracle::{CheckConfig, Entry, Event, History, Invariant, Manager, Verb, check_final_state};

use super::Violation;
use crate::{engine::Role, object::NAMESPACE, schedule::Setup, server::Server};

pub(crate) fn check(server: &Server, roles: impl Iterator<Item = Role>, setup: &Setup) -> Result<(), Violation> {
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
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(NAMESPACE.to_owned()),
            resource_version: Some("1".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let objects = server.objects().map(crate::object::Object::to_recorded);
    let mut history = History::default();
    for object in objects.chain([namespace.into()]) {
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
