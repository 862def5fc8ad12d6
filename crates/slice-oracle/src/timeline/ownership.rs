//! Ownership: slices of other managers are not modified, and no slice changes its owner (I7).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::step::{Author, Revision, Step};
use crate::config::{CheckConfig, Role};
use crate::history::Verb;
use crate::object::{Name, Object, is_terminating, label, uid};
use crate::state::owner_reference;
use crate::violation::{Findings, Invariant::I7};
use crate::well_known::MANAGED_BY;

/// Owners that have existed, by name.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    uids: BTreeMap<(Role, Name<'a>), BTreeSet<&'a str>>,
}

impl<'a> Owners<'a> {
    pub(super) fn apply(&mut self, step: &Step<'_, 'a>) {
        let role = match step.event.object() {
            Object::Service(_) => Role::Services,
            Object::Endpoints(_) => Role::Mirroring,
            _ => return,
        };
        let metadata = step.event.object().metadata();
        let known = self.uids.entry((role, Name::of(metadata))).or_default();
        known.insert(uid(metadata));
    }

    pub(super) fn check(&self, revision: &Revision<'a>, config: &CheckConfig, findings: &mut Findings) {
        if revision.author != Author::Controller {
            return;
        }
        let Some(role) = revision.role else {
            check_foreign_slice(revision, config, findings);
            return;
        };
        let Some(slice) = revision.after() else { return };
        // Deleting a slice with a finalizer sets the deletion timestamp and changes no owner.
        let is_terminating = |slice: &EndpointSlice| is_terminating(&slice.metadata);
        if is_terminating(slice) && !revision.before.is_some_and(is_terminating) {
            return;
        }
        self.check_owner(revision, role, findings);
        let managed_by = label(&slice.metadata, MANAGED_BY);
        findings.check(I7, revision.subject(), config.role(managed_by) == Some(role), || {
            (
                "an unchanged managed-by label".to_owned(),
                format!("managed-by {managed_by:?}"),
            )
        });
    }

    fn check_owner(&self, revision: &Revision<'a>, role: Role, findings: &mut Findings) {
        let slice = revision.slice;
        let owner_now = owner_reference(slice, role);
        let known = self.uids.get(&(role, revision.service()));
        let existed = owner_now.is_some_and(|owner| known.is_some_and(|uids| uids.contains(owner.uid.as_str())));
        findings.check(I7, revision.subject(), existed, || {
            let kind = role.owner_kind();
            let expected = format!("an owner reference to a {kind} {} that has existed", revision.service());
            (expected, format!("owner {:?}", owner_now.map(|owner| &owner.uid)))
        });
        if let Some(owner_before) = revision.before.and_then(|before| owner_reference(before, role)) {
            let same = owner_now.is_some_and(|owner| owner.uid == owner_before.uid);
            findings.check(I7, revision.subject(), same, || {
                let found = owner_now.map(|owner| &owner.uid);
                (format!("unchanged owner {:?}", owner_before.uid), format!("{found:?}"))
            });
        }
    }
}

/// A slice of another manager: the checked controllers must not write or delete it.
fn check_foreign_slice(revision: &Revision<'_>, config: &CheckConfig, findings: &mut Findings) {
    let Some(before) = revision.before else { return };
    let managed_by = label(&before.metadata, MANAGED_BY);
    if !config.others.contains(managed_by) {
        findings.check(I7, revision.subject(), false, || {
            let operation = if revision.event.verb() == Verb::Deleted {
                "deletion"
            } else {
                "write"
            };
            (
                format!("no write to a slice that is managed by {managed_by:?}"),
                format!("a {operation} without a recorded manual write"),
            )
        });
    }
}
