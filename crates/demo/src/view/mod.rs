//! What a watcher knows of the cluster: a pure function of what was seen.

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
    slice::{Condition, SliceView, in_words},
};

/// Writes of slices that were seen.
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

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// What is being played, and what happens in it; nothing before the first act.
    pub(super) act: Option<(String, &'static str)>,
    /// Pods by uid.
    pub(super) pods: BTreeMap<String, PodView>,
    /// Slices by name.
    pub(super) slices: BTreeMap<String, SliceView>,
    pub(super) writes: Writes,
    pub(super) latency: Latency,
    /// What there was to say, line by line.
    pub(super) log: Vec<String>,
    /// How many events were seen.
    pub(super) seen: usize,
    began: Option<Timestamp>,
}

impl View {
    /// Says a line.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }

    /// An act begins.
    pub(super) fn begin(&mut self, title: String, tells: &'static str) {
        self.say("");
        self.say(format!("{title}: {tells}"));
        self.act = Some((title, tells));
    }

    /// Something was seen.
    pub(super) fn see(&mut self, event: &Event) {
        self.seen += 1;
        match event.object() {
            Object::Pod(pod) => self.see_pod(PodView::of(pod), event),
            Object::EndpointSlice(slice) => self.see_slice(SliceView::of(slice), event),
            _ => {}
        }
    }

    fn see_pod(&mut self, pod: PodView, event: &Event) {
        let uid = pod.uid.clone();
        match event.verb() {
            Verb::Deleted => self.pods.remove(&uid),
            _ => self.pods.insert(uid.clone(), pod),
        };
        if !self.is_shown(&uid) {
            self.latency.waits(&uid, event.at());
        }
    }

    fn see_slice(&mut self, slice: SliceView, event: &Event) {
        let mut concerned: Vec<String> = slice.pods.keys().cloned().collect();
        let line = self.line(&slice, event);
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
            self.say(line);
        }
        concerned.extend(before.into_iter().flat_map(|before| before.pods.into_keys()));
        for uid in concerned {
            if self.is_shown(&uid) {
                self.latency.shown(&uid, event.at());
            }
        }
    }

    fn line(&mut self, slice: &SliceView, event: &Event) -> String {
        let began = *self.began.get_or_insert(event.at());
        let seconds = event.at().duration_since(began).as_secs_f64();
        let (name, address_type) = (&slice.name, &slice.address_type);
        let (what, contents) = match event.verb() {
            Verb::Deleted => ("deleted", "gone".to_owned()),
            Verb::Added => ("created", slice.contents()),
            _ => ("updated", slice.contents()),
        };
        format!("{seconds:>8.3} s  {what}  {name:<12} {address_type}  {contents}")
    }

    /// Whether slices show a pod as it is.
    fn is_shown(&self, uid: &str) -> bool {
        let mut shown = self.shown(uid).peekable();
        match self.pods.get(uid).and_then(PodView::wanted) {
            None => shown.peek().is_none(),
            Some(wanted) => shown.peek().is_some() && shown.all(|condition| condition == wanted),
        }
    }

    /// Whether nobody is told any more to send traffic to a pod that leaves, as far as anybody ever was.
    pub(super) fn may_go(&self, uid: &str) -> bool {
        let pod = self.pods.get(uid).filter(|pod| pod.leaving);
        pod.is_some_and(|pod| self.shown(uid).all(|condition| Some(condition) == pod.wanted()))
    }

    fn shown(&self, uid: &str) -> impl Iterator<Item = Condition> {
        let slices = self.slices.values();
        slices.filter_map(move |slice| slice.pods.get(uid).copied())
    }

    /// The slices of each Service.
    pub(super) fn services(&self) -> BTreeMap<&str, Vec<&SliceView>> {
        let mut services: BTreeMap<&str, Vec<&SliceView>> = BTreeMap::new();
        for slice in self.slices.values() {
            services.entry(&slice.service).or_default().push(slice);
        }
        services
    }

    /// How much there is of each Service.
    pub(super) fn at_rest(&self) -> String {
        let services: Vec<String> = self
            .services()
            .into_iter()
            .map(|(name, slices)| {
                let endpoints: usize = slices.iter().map(|slice| slice.endpoints()).sum();
                let (one, many) = (slices.len(), if slices.len() == 1 { "slice" } else { "slices" });
                format!("{name} {endpoints} endpoints in {one} {many}")
            })
            .collect();
        format!("at rest: {}; {}", services.join(", "), self.writes)
    }
}
