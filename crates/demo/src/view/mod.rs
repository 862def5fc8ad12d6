//! The state that is shown: a pure function of the watch events.

mod latency;
mod pod;
mod slice;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use slice_oracle::{Event, Object, Verb};

use self::latency::Latency;
pub(super) use self::{
    pod::PodView,
    slice::{Condition, SliceView, format_counts},
};

/// Observed writes of slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    created: usize,
    updated: usize,
    deleted: usize,
}

impl Writes {
    pub(super) fn count(self) -> usize {
        self.created + self.updated + self.deleted
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            created,
            updated,
            deleted,
        } = self;
        let count = self.count();
        write!(
            out,
            "writes: {count} ({created} created, {updated} updated, {deleted} deleted)"
        )
    }
}

/// The shown state.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Title and description of the current act.
    pub(super) act: Option<(String, &'static str)>,
    /// Pods by uid.
    pub(super) pods: BTreeMap<String, PodView>,
    /// Slices by name.
    pub(super) slices: BTreeMap<String, SliceView>,
    pub(super) writes: Writes,
    pub(super) latency: Latency,
    /// Log lines.
    pub(super) log: Vec<String>,
    /// Number of watch events.
    pub(super) event_count: usize,
    first_write: Option<Timestamp>,
}

impl View {
    /// Appends a log line.
    pub(super) fn log_line(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }

    /// Starts an act.
    pub(super) fn begin_act(&mut self, title: String, description: &'static str) {
        self.log_line("");
        self.log_line(format!("{title}: {description}"));
        self.act = Some((title, description));
    }

    /// Applies a watch event.
    pub(super) fn apply(&mut self, event: &Event) {
        self.event_count += 1;
        match event.object() {
            Object::Pod(pod) => self.apply_pod(PodView::from_pod(pod), event),
            Object::EndpointSlice(slice) => self.apply_slice(SliceView::from_slice(slice), event),
            _ => {}
        }
    }

    fn apply_pod(&mut self, pod: PodView, event: &Event) {
        let uid = pod.uid.clone();
        match event.verb() {
            Verb::Deleted => self.pods.remove(&uid),
            _ => self.pods.insert(uid.clone(), pod),
        };
        if !self.is_up_to_date(&uid) {
            self.latency.start(&uid, event.at());
        }
    }

    fn apply_slice(&mut self, slice: SliceView, event: &Event) {
        let mut affected: Vec<String> = slice.pods.keys().cloned().collect();
        let line = self.write_line(&slice, event);
        let name = slice.name.clone();
        let before = match event.verb() {
            Verb::Deleted => self.slices.remove(&name),
            _ => self.slices.insert(name, slice),
        };
        let written = match event.verb() {
            Verb::Listed => None,
            Verb::Added => Some(&mut self.writes.created),
            Verb::Deleted => Some(&mut self.writes.deleted),
            _ => Some(&mut self.writes.updated),
        };
        if let Some(written) = written {
            *written += 1;
            self.log_line(line);
        }
        affected.extend(before.into_iter().flat_map(|before| before.pods.into_keys()));
        for uid in affected {
            if self.is_up_to_date(&uid) {
                self.latency.finish(&uid, event.at());
            }
        }
    }

    fn write_line(&mut self, slice: &SliceView, event: &Event) -> String {
        let start = *self.first_write.get_or_insert(event.at());
        let seconds = event.at().duration_since(start).as_secs_f64();
        let (name, address_type) = (&slice.name, &slice.address_type);
        let (operation, contents) = match event.verb() {
            Verb::Deleted => ("deleted", "gone".to_owned()),
            Verb::Added => ("created", slice.summary()),
            _ => ("updated", slice.summary()),
        };
        format!("{seconds:>8.3} s  {operation}  {name:<12} {address_type}  {contents}")
    }

    /// Whether all slices publish the pod in its desired condition, or none if it must not be published.
    fn is_up_to_date(&self, uid: &str) -> bool {
        let mut published = self.published(uid).peekable();
        match self.pods.get(uid).and_then(PodView::desired_condition) {
            None => published.peek().is_none(),
            Some(desired) => published.peek().is_some() && published.all(|condition| condition == desired),
        }
    }

    /// Whether a terminating pod may be removed: every slice that contains it publishes it in its desired condition.
    pub(super) fn may_be_deleted(&self, uid: &str) -> bool {
        let pod = self.pods.get(uid).filter(|pod| pod.terminating);
        pod.is_some_and(|pod| {
            self.published(uid)
                .all(|condition| Some(condition) == pod.desired_condition())
        })
    }

    /// The conditions in which slices publish a pod.
    fn published(&self, uid: &str) -> impl Iterator<Item = Condition> {
        let slices = self.slices.values();
        slices.filter_map(move |slice| slice.pods.get(uid).copied())
    }

    /// Slices by Service.
    pub(super) fn services(&self) -> BTreeMap<&str, Vec<&SliceView>> {
        let mut services: BTreeMap<&str, Vec<&SliceView>> = BTreeMap::new();
        for slice in self.slices.values() {
            services.entry(&slice.service).or_default().push(slice);
        }
        services
    }

    /// Log line for a converged state: endpoints and slices of each Service.
    pub(super) fn converged_line(&self) -> String {
        let services: Vec<String> = self
            .services()
            .into_iter()
            .map(|(name, slices)| {
                let endpoints: usize = slices.iter().map(|slice| slice.endpoints()).sum();
                let (count, noun) = (slices.len(), if slices.len() == 1 { "slice" } else { "slices" });
                format!("{name} {endpoints} endpoints in {count} {noun}")
            })
            .collect();
        format!("converged: {}; {}", services.join(", "), self.writes)
    }
}
