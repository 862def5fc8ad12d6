//! No spurious writes: every write changes the slice and is caused by a change of the inputs (I6).
//!
//! The API server drops a no-op write without an event (R151), so a history does not contain it. The check finds writes
//! that change only the order of endpoints or the trigger time.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::inputs::{Inputs, effective_revision};
use super::step::{Author, Revision, service_of};
use crate::config::Role;
use crate::desired::{endpoints_of, ports_of};
use crate::history::Verb;
use crate::object::{Name, uid};
use crate::violation::{Findings, Invariant::I6};
use crate::well_known::TRIGGER_TIME;

/// Input changes that have already caused a write.
#[derive(Debug, Default)]
pub(super) struct Causes<'a> {
    /// First revision whose change can still cause a write of the slice, by slice uid.
    next_cause: BTreeMap<&'a str, u64>,
    /// The last change that caused a write of any slice of the Service. Later writes have observed it.
    last_cause: BTreeMap<(Role, Name<'a>), u64>,
    fence: u64,
}

impl<'a> Causes<'a> {
    /// Changes before this revision cause no further writes.
    pub(super) fn fence(&mut self, revision: u64) {
        self.fence = self.fence.max(revision + 1);
    }

    pub(super) fn check(&mut self, revision: &Revision<'a>, inputs: &mut Inputs<'a>, findings: &mut Findings) {
        let slices = || revision.before.into_iter().chain(revision.after());
        match (revision.author, revision.role) {
            (Author::Controller, Some(role)) => {
                check_not_noop(revision, findings);
                self.check_cause(revision, role, inputs, findings);
            }
            (Author::Manual | Author::GarbageCollector, _) => {
                for slice in slices() {
                    for role in [Role::Services, Role::Mirroring] {
                        inputs.record_change(role, service_of(slice), effective_revision(revision.event));
                    }
                }
            }
            _ => {}
        }
    }

    /// An input change of a Service allows one write of each of its slices.
    fn check_cause(&mut self, revision: &Revision<'a>, role: Role, inputs: &Inputs<'a>, findings: &mut Findings) {
        let slice = revision.before.unwrap_or(revision.slice);
        let service = service_of(slice);
        let next_cause = self.next_cause.entry(uid(&slice.metadata)).or_default();
        let last_cause = self.last_cause.entry((role, service)).or_default();
        let from = self.fence.max(*next_cause).max(*last_cause);
        let cause = inputs.change(role, service, from, revision.event.revision());
        findings.check(I6, revision.subject(), cause.is_some(), || {
            let expected = format!("at most one write per change of the inputs of {service}");
            let since = from.saturating_sub(1);
            (expected, format!("a write without a change since {since}"))
        });
        if let Some(cause) = cause {
            *next_cause = cause + 1;
            *last_cause = cause;
        }
    }
}

fn check_not_noop(revision: &Revision<'_>, findings: &mut Findings) {
    if let (Verb::Modified, Some(before), Some(after)) = (revision.event.verb(), revision.before, revision.after()) {
        findings.check(I6, revision.subject(), !is_equivalent(before, after), || {
            let expected = "a write that changes the slice".to_owned();
            (
                expected,
                "the same content, except for order and trigger time".to_owned(),
            )
        });
    }
}

fn is_equivalent(before: &EndpointSlice, after: &EndpointSlice) -> bool {
    before.address_type == after.address_type
        && ports_of(before) == ports_of(after)
        && sorted_endpoints(before) == sorted_endpoints(after)
        && comparable_metadata(&before.metadata) == comparable_metadata(&after.metadata)
}

/// Metadata without the fields that every write changes.
fn comparable_metadata(metadata: &ObjectMeta) -> ObjectMeta {
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    annotations.remove(TRIGGER_TIME);
    ObjectMeta {
        resource_version: None,
        generation: None,
        managed_fields: None,
        annotations: Some(annotations),
        ..metadata.clone()
    }
}

/// Endpoints in a canonical order.
fn sorted_endpoints(slice: &EndpointSlice) -> Vec<&Endpoint> {
    let mut endpoints: Vec<_> = endpoints_of(slice).iter().collect();
    let uid = |endpoint: &Endpoint| endpoint.target_ref.as_ref()?.uid.clone();
    endpoints.sort_by(|a, b| a.addresses.cmp(&b.addresses).then_with(|| uid(a).cmp(&uid(b))));
    endpoints
}
