//! Writes between marks: none, or one per slice (I6).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::step::{Replay, Revision, service_of};
use crate::config::{CheckConfig, Role};
use crate::desired::{Port, endpoints_of, ports_of};
use crate::history::{Entry, History, Mark, Window};
use crate::object::{Name, label, uid};
use crate::state::State;
use crate::violation::{Findings, Invariant::I6};
use crate::well_known::MANAGED_BY;

/// A mark and the writes since then.
struct OpenWindow<'a> {
    mark: &'a Mark,
    begin: State<'a>,
    writes: Vec<Revision<'a>>,
}

pub(super) fn check(history: &History, config: &CheckConfig, findings: &mut Findings) {
    let mut walk = Replay::new(history, config);
    let mut open: Option<OpenWindow<'_>> = None;
    for entry in history.entries() {
        match entry {
            Entry::Event(event) => {
                let revision = walk.step(event).revision().filter(Revision::is_ours);
                if let Some(open) = &mut open {
                    open.writes.extend(revision);
                }
            }
            Entry::Mark(mark) => {
                close(open.take(), walk.state(), config, findings);
                open = Some(OpenWindow {
                    mark,
                    begin: walk.state().clone(),
                    writes: Vec::new(),
                });
            }
            Entry::ManualWrite(_) => {}
        }
    }
    close(open, walk.state(), config, findings);
}

fn close(open: Option<OpenWindow<'_>>, end: &State<'_>, config: &CheckConfig, findings: &mut Findings) {
    let Some(open) = open else { return };
    match open.mark.window {
        Window::Any => {}
        Window::NoWrites => {
            let subject = (format!("mark {:?}", open.mark.mark), open.mark.revision);
            findings.check(I6, subject, open.writes.is_empty(), || {
                let written: Vec<_> = open.writes.iter().map(|write| write.subject().0).collect();
                ("no writes until the next mark".to_owned(), written.join(", "))
            });
        }
        Window::OneWritePerSlice => check_one_write_per_slice(&open, end, config, findings),
    }
}

/// Per Service: at most one write per existing slice, and new slices only for added endpoints.
fn check_one_write_per_slice(open: &OpenWindow<'_>, end: &State<'_>, config: &CheckConfig, findings: &mut Findings) {
    let mut by_service: BTreeMap<(Role, Name<'_>), Vec<&Revision<'_>>> = BTreeMap::new();
    for write in &open.writes {
        if let Some(role) = write.role {
            let service = service_of(write.before.unwrap_or(write.slice));
            by_service.entry((role, service)).or_default().push(write);
        }
    }
    for ((role, service), writes) in by_service {
        let existing: BTreeSet<_> = slices(&open.begin, config, role, service)
            .map(|slice| uid(&slice.metadata))
            .collect();
        let written: BTreeSet<_> = writes.iter().map(|write| uid(&write.slice.metadata)).collect();
        let touched = written.intersection(&existing).count();
        let new_slices = new_slices(open, end, config, role, service);
        let subject = (format!("{} {service}", role.owner_kind()), open.mark.revision);
        findings.check(I6, subject, writes.len() <= touched + new_slices, || {
            let expected = format!(
                "{touched} slices written once and {new_slices} new ones since {:?}",
                open.mark.mark
            );
            (expected, format!("{} writes", writes.len()))
        });
    }
}

/// Number of new slices that the added endpoints need, plus a placeholder per new address type without endpoints.
fn new_slices(open: &OpenWindow<'_>, end: &State<'_>, config: &CheckConfig, role: Role, service: Name<'_>) -> usize {
    let before = published(slices(&open.begin, config, role, service));
    let after = published(slices(end, config, role, service));
    let full = after.iter().map(|(group, endpoints)| {
        let old = before.get(group).cloned().unwrap_or_default();
        endpoints.difference(&old).count().div_ceil(config.max_endpoints(role))
    });
    let types = |published: &Published<'_>| {
        published
            .keys()
            .map(|(kind, _)| kind.to_string())
            .collect::<BTreeSet<_>>()
    };
    let new_types = types(&after)
        .difference(&types(&before))
        .cloned()
        .collect::<BTreeSet<_>>();
    let is_empty = |kind: &&String| {
        after
            .iter()
            .all(|((of, _), endpoints)| of != kind || endpoints.is_empty())
    };
    full.sum::<usize>() + new_types.iter().filter(is_empty).count()
}

/// Endpoints by address type and ports.
type Published<'a> = BTreeMap<(&'a str, BTreeSet<Port>), BTreeSet<String>>;

fn published<'a>(slices: impl Iterator<Item = &'a EndpointSlice>) -> Published<'a> {
    let mut published = Published::new();
    for slice in slices {
        let group = published
            .entry((slice.address_type.as_str(), ports_of(slice)))
            .or_default();
        group.extend(endpoints_of(slice).iter().map(|endpoint| {
            let target = endpoint.target_ref.as_ref().and_then(|target| target.uid.as_deref());
            format!("{} {}", endpoint.addresses.join(" "), target.unwrap_or_default())
        }));
    }
    published
}

fn slices<'a>(
    state: &State<'a>,
    config: &'a CheckConfig,
    role: Role,
    service: Name<'_>,
) -> impl Iterator<Item = &'a EndpointSlice> {
    state.slices.values().copied().filter(move |slice| {
        service_of(slice) == service && config.role(label(&slice.metadata, MANAGED_BY)) == Some(role)
    })
}
