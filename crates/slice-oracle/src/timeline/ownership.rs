//! I7: slices of others are left alone, and no slice changes its owner.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::step::{Author, Revision, Step};
use crate::config::{Limits, Role};
use crate::history::Verb;
use crate::object::{Name, Object, is_terminating, label, uid};
use crate::state::owner_reference;
use crate::violation::{Findings, Invariant::I7};
use crate::well_known::MANAGED_BY;

/// Who has uids been there to own slices.
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

    pub(super) fn check(&self, revision: &Revision<'a>, limits: &Limits, findings: &mut Findings) {
        if revision.author != Author::Controller {
            return;
        }
        let Some(role) = revision.role else {
            check_foreign_slice(revision, limits, findings);
            return;
        };
        let Some(slice) = revision.after() else { return };
        // One that a finalizer holds is deleted by a mark, and stays whose it was.
        let is_terminating = |slice: &EndpointSlice| is_terminating(&slice.metadata);
        if is_terminating(slice) && !revision.before.is_some_and(is_terminating) {
            return;
        }
        self.check_owner(revision, role, findings);
        let managed_by = label(&slice.metadata, MANAGED_BY);
        findings.check(I7, revision.subject(), limits.role(managed_by) == Some(role), || {
            (
                "a slice that stays with its controller".to_owned(),
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
            let expected = format!("as its owner a {kind} {} that has existed", revision.service());
            (expected, format!("the owner {:?}", owner_now.map(|owner| &owner.uid)))
        });
        if let Some(owner_before) = revision.before.and_then(|before| owner_reference(before, role)) {
            let same = owner_now.is_some_and(|owner| owner.uid == owner_before.uid);
            findings.check(I7, revision.subject(), same, || {
                let found = owner_now.map(|owner| &owner.uid);
                (
                    format!("the owner {:?} for life", owner_before.uid),
                    format!("{found:?}"),
                )
            });
        }
    }
}

/// A slice of somebody else: nobody who is judged may write or delete it.
fn check_foreign_slice(revision: &Revision<'_>, limits: &Limits, findings: &mut Findings) {
    let Some(before) = revision.before else { return };
    let managed_by = label(&before.metadata, MANAGED_BY);
    if !limits.others.contains(managed_by) {
        findings.check(I7, revision.subject(), false, || {
            let operation = if revision.event.verb() == Verb::Deleted {
                "deletion"
            } else {
                "write"
            };
            (
                format!("a slice that is managed by {managed_by:?} to be left alone"),
                format!("a {operation} that nobody has owned up to"),
            )
        });
    }
}
