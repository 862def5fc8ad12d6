//! Labels and annotations of slices: copied from the owner, managed by us, or preserved.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::well_known::TRIGGER_TIME_ANNOTATION;

use crate::{Partition, PlanError, Rejected, label_value, validate::validate_label};

type Map = BTreeMap<String, String>;

/// The desired labels and annotations of the slices of one owner (§5 of the specification).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataPolicy {
    /// Labels copied from the owner. A difference causes a write.
    pub copied_labels: Map,
    /// Whether labels set by other clients are preserved, and with them labels that the owner no longer has. Otherwise a
    /// slice has only copied and managed labels, as with the built-in controllers.
    pub keep_other_labels: bool,
    /// Managed labels, to set (`Some`) or to remove (`None`), among them those that select the slices. They are never copied
    /// from the owner, and a difference in them alone causes no write (R110).
    pub managed_labels: BTreeMap<String, Option<String>>,
    /// Handling of annotations.
    pub annotations: Annotations,
}

/// Handling of the annotations of slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Annotations {
    /// Preserve all annotations (G36).
    #[default]
    Preserve,
    /// Set these and preserve the others. A difference in these causes a write.
    Set(Map),
    /// Replace all annotations by these. A difference causes a write (G37).
    Replace(Map),
}

/// The annotation with the time of the change that triggered the sync (G30). It never causes a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TriggerTime {
    /// Set this time, in the format of the annotation.
    Set(String),
    /// Remove the annotation from written slices.
    Clear,
    /// Do not change the annotation.
    #[default]
    Unmanaged,
}

impl MetadataPolicy {
    /// Sets the managed label that selects the slices of an owner by its name (G34). A name that is too long for a label is
    /// [shortened](label_value), and an annotation with the same key has the full name (G38).
    pub fn set_owner_label(&mut self, label: &str, name: &str) {
        let value = label_value(name);
        if value != name {
            self.annotations.insert(label, name);
        }
        self.managed_labels.insert(label.to_owned(), Some(value.into_owned()));
    }

    /// The policy with the labels of the partition and a managed trigger time added. Invalid copied labels are omitted and
    /// reported; an invalid managed label is an error.
    pub(crate) fn validated(
        &self,
        partition: Partition<'_>,
        trigger_time: &TriggerTime,
        rejected: &mut Vec<Rejected>,
    ) -> Result<Cow<'_, Self>, PlanError> {
        let mut policy = Cow::Borrowed(self);
        if *trigger_time != TriggerTime::Unmanaged && matches!(self.annotations, Annotations::Replace(_)) {
            policy.to_mut().annotations.insert(TRIGGER_TIME_ANNOTATION, "");
        }
        for (key, value) in partition.0 {
            let reserved = &mut policy.to_mut().managed_labels;
            reserved.insert((*key).to_owned(), Some((*value).to_owned()));
        }
        for (key, value) in &policy.managed_labels {
            validate_label(key, value.as_deref().unwrap_or_default()).map_err(|reason| PlanError::Label {
                key: key.clone(),
                reason,
            })?;
        }
        let copied = self
            .copied_labels
            .iter()
            .filter(|(key, _)| !self.managed_labels.contains_key(*key));
        for (key, value) in copied {
            if let Err(reason) = validate_label(key, value) {
                policy.to_mut().copied_labels.remove(key);
                let key = key.clone();
                rejected.push(Rejected::Label { key, reason });
            }
        }
        Ok(policy)
    }

    /// Whether a slice has to be updated for its metadata alone.
    pub(crate) fn needs_update(&self, metadata: &ObjectMeta) -> bool {
        let existing = metadata.labels.iter().flatten();
        let mut existing = existing.filter(|(key, _)| !self.managed_labels.contains_key(*key));
        let mut desired = self
            .copied_labels
            .iter()
            .filter(|(key, _)| !self.managed_labels.contains_key(*key));
        let labels_differ = if self.keep_other_labels {
            // Both are sorted by key.
            !desired.all(|desired| existing.any(|existing| existing == desired))
        } else {
            !existing.eq(desired)
        };
        labels_differ || self.annotations.need_update(metadata)
    }

    /// The desired labels of a slice with these existing labels.
    pub(crate) fn labels_for(&self, existing: Option<&Map>) -> Map {
        let preserved = existing.filter(|_| self.keep_other_labels);
        let mut labels = preserved.cloned().unwrap_or_default();
        labels.extend(self.copied_labels.clone());
        for (key, value) in &self.managed_labels {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        labels
    }

    /// Sets the desired labels and annotations.
    pub(crate) fn apply(&self, metadata: &mut ObjectMeta) {
        metadata.labels = Some(self.labels_for(metadata.labels.as_ref()));
        match &self.annotations {
            Annotations::Preserve => {}
            Annotations::Set(ours) => metadata.annotations.get_or_insert_default().extend(ours.clone()),
            Annotations::Replace(all) => metadata.annotations = Some(all.clone()),
        }
    }
}

impl Annotations {
    fn insert(&mut self, key: &str, value: &str) {
        if *self == Self::Preserve {
            *self = Self::Set(Map::new());
        }
        if let Self::Set(annotations) | Self::Replace(annotations) = self {
            annotations.insert(key.to_owned(), value.to_owned());
        }
    }

    fn need_update(&self, metadata: &ObjectMeta) -> bool {
        match self {
            Self::Preserve => false,
            Self::Set(ours) => {
                let existing = metadata.annotations.as_ref();
                let mut ours = ours.iter();
                ours.any(|(key, value)| existing.and_then(|existing| existing.get(key)) != Some(value))
            }
            Self::Replace(desired) => {
                // A managed trigger time never causes a write (G30); otherwise it is an annotation like any other (M83).
                let is_time = |key: &str| key == TRIGGER_TIME_ANNOTATION && desired.contains_key(key);
                let counts = |(key, _): &(&String, &String)| !is_time(key);
                let existing = metadata.annotations.iter().flatten();
                !existing.filter(counts).eq(desired.iter().filter(counts))
            }
        }
    }
}

impl TriggerTime {
    pub(crate) fn apply(&self, metadata: &mut ObjectMeta) {
        match self {
            Self::Set(time) => {
                let annotations = metadata.annotations.get_or_insert_default();
                annotations.insert(TRIGGER_TIME_ANNOTATION.to_owned(), time.clone());
            }
            Self::Clear => {
                if let Some(annotations) = &mut metadata.annotations {
                    annotations.remove(TRIGGER_TIME_ANNOTATION);
                }
            }
            Self::Unmanaged => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Map {
        pairs
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect()
    }

    /// The policy of Service foo, headless or not, with these labels.
    fn policy(headless: bool, labels: &[(&str, &str)]) -> MetadataPolicy {
        let ours = [
            ("service-name", Some("foo")),
            ("managed-by", Some("me")),
            ("headless", headless.then_some("")),
        ];
        MetadataPolicy {
            copied_labels: map(labels),
            managed_labels: ours
                .map(|(key, value)| (key.to_owned(), value.map(str::to_owned)))
                .into(),
            ..MetadataPolicy::default()
        }
    }

    fn slice(labels: &[(&str, &str)]) -> ObjectMeta {
        ObjectMeta {
            labels: Some(map(labels)),
            ..ObjectMeta::default()
        }
    }

    /// (headless, Service labels, slice labels) → (labels besides service-name and managed-by, `needs_update`)
    /// (T-UTL-24…36, T-LBL-01…13).
    #[test]
    fn r110_desired_labels_and_whether_they_cause_an_update() {
        let foo = ("foo", "bar");
        let head = ("headless", "");
        let ours = [("service-name", "foo"), ("managed-by", "me")];
        let hostile = [("service-name", "x"), ("managed-by", "x"), ("headless", "x")];
        for (id, headless, service, existing, labels, needs_update) in [
            (24, false, vec![], vec![], vec![], false),
            (25, true, vec![foo], vec![], vec![head, foo], true),
            (26, true, vec![], vec![], vec![head], false),
            (27, false, vec![head], vec![], vec![], false),
            (28, false, vec![head], vec![head], vec![], false),
            (29, false, vec![], vec![head], vec![], false),
            (30, true, vec![foo], vec![foo], vec![head, foo], false),
            (31, false, vec![foo], vec![], vec![foo], true),
            (32, false, vec![], vec![foo], vec![], true),
            (33, false, vec![], vec![head], vec![], false),
            (34, false, vec![foo], ours.to_vec(), vec![foo], true),
            (35, false, hostile.to_vec(), vec![], vec![], false),
            (36, false, [&hostile[..], &[foo]].concat(), vec![], vec![foo], true),
        ] {
            let policy = policy(headless, &service);
            let expected = [&ours[..], &labels].concat();
            assert_eq!(policy.labels_for(None), map(&expected), "T-UTL-{id}");
            assert_eq!(policy.needs_update(&slice(&existing)), needs_update, "T-UTL-{id}");
        }
    }

    /// A mirrored slice has exactly the annotations of its source (G37, T-GMIR-10, T-GMIR-28).
    #[test]
    fn replaced_annotations_cause_an_update_and_preserved_ones_do_not() {
        let mut metadata = slice(&[]);
        metadata.annotations = Some(map(&[("foreign", "yes")]));
        let mut policy = MetadataPolicy::default();
        assert!(!policy.needs_update(&metadata));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("foreign", "yes")])));
        policy.annotations = Annotations::Replace(map(&[("a", "b")]));
        assert!(policy.needs_update(&metadata));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("a", "b")])));
        assert!(!policy.needs_update(&metadata));
    }

    /// The trigger time is an annotation like any other, unless it is managed (G30, M83).
    #[test]
    fn managed_trigger_time_causes_no_update() {
        let mut metadata = slice(&[]);
        let policy = MetadataPolicy {
            annotations: Annotations::Replace(map(&[("a", "b")])),
            ..MetadataPolicy::default()
        };
        policy.apply(&mut metadata);
        let now = TriggerTime::Set("now".into());
        now.apply(&mut metadata);
        for (trigger_time, expected) in [
            (now, false),
            (TriggerTime::Clear, false),
            (TriggerTime::Unmanaged, true),
        ] {
            let validated = policy
                .validated(Partition::default(), &trigger_time, &mut Vec::new())
                .unwrap();
            assert_eq!(validated.needs_update(&metadata), expected, "{trigger_time:?}");
        }
    }

    /// The trigger time is set, removed or not changed (G30, R115).
    #[test]
    fn trigger_time_is_set_cleared_or_unmanaged() {
        let mut metadata = slice(&[]);
        TriggerTime::Set("now".into()).apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[(TRIGGER_TIME_ANNOTATION, "now")])));
        TriggerTime::Unmanaged.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[(TRIGGER_TIME_ANNOTATION, "now")])));
        TriggerTime::Clear.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[])));
    }
}
