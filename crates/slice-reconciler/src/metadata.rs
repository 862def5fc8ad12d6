//! What is written into the metadata of slices: what is copied, what is ours, what is kept.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::well_known::TRIGGER_TIME_ANNOTATION;

use crate::{Partition, PlanError, Rejected, check, label_value};

type Map = BTreeMap<String, String>;

/// Labels and annotations of the slices of one owner (§5 of the specification).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataPolicy {
    /// Labels copied from the owner. A difference in them causes a write.
    pub labels: Map,
    /// Whether labels that others put on a slice stay. Otherwise it has the copied ones and the reserved ones and no more, as
    /// the built-in controllers have it. Where they stay, so does a label that the owner no longer has.
    pub keep_other_labels: bool,
    /// Labels that are ours to set (`Some`) or to keep away (`None`): those by which the slices are found among them. They
    /// never come from the owner, and a difference in them alone causes no write (R110).
    pub reserved: BTreeMap<String, Option<String>>,
    /// What is done with annotations.
    pub annotations: Annotations,
}

/// What is done with the annotations of slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Annotations {
    /// Those that others made are kept (G36).
    #[default]
    Preserve,
    /// These are ours, and a difference in them causes a write; those that others made are kept.
    Set(Map),
    /// A slice has exactly these; a difference causes a write (G37).
    Replace(Map),
}

/// What is written into the annotation that tells when a change began (G30). It never causes a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TriggerTime {
    /// This time, in the form of the annotation.
    Set(String),
    /// No time: the annotation is removed from what is written.
    Clear,
    /// The annotation is none of our business.
    #[default]
    Unmanaged,
}

impl MetadataPolicy {
    /// Makes the owner's name the label by which its slices are found (G34). A name that is too long for a label is
    /// [shortened](label_value), and an annotation of the same key has it in full (G38).
    pub fn set_owner_label(&mut self, label: &str, name: &str) {
        let value = label_value(name);
        if value != name {
            self.annotations.insert(label, name);
        }
        self.reserved.insert(label.to_owned(), Some(value.into_owned()));
    }

    /// The policy for one of an owner's slice sets: the labels of its partition are ours, and so is the time of the change,
    /// where it is managed. Labels of the owner that no slice may have are left out.
    pub(crate) fn checked(
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
            let reserved = &mut policy.to_mut().reserved;
            reserved.insert((*key).to_owned(), Some((*value).to_owned()));
        }
        for (key, value) in &policy.reserved {
            check::label(key, value.as_deref().unwrap_or_default()).map_err(|reason| PlanError::Label {
                key: key.clone(),
                reason,
            })?;
        }
        let copied = self.labels.iter().filter(|(key, _)| !self.reserved.contains_key(*key));
        for (key, value) in copied {
            if let Err(reason) = check::label(key, value) {
                policy.to_mut().labels.remove(key);
                let key = key.clone();
                rejected.push(Rejected::Label { key, reason });
            }
        }
        Ok(policy)
    }

    /// Whether a slice has to be written for its metadata alone.
    pub(crate) fn differs(&self, metadata: &ObjectMeta) -> bool {
        let stored = metadata.labels.iter().flatten();
        let mut stored = stored.filter(|(key, _)| !self.reserved.contains_key(*key));
        let mut wanted = self.labels.iter().filter(|(key, _)| !self.reserved.contains_key(*key));
        let labels_differ = if self.keep_other_labels {
            // Both come in the order of their keys.
            !wanted.all(|wanted| stored.any(|stored| stored == wanted))
        } else {
            !stored.eq(wanted)
        };
        labels_differ || self.annotations.differ(metadata)
    }

    /// The labels of a slice that has these, if any.
    pub(crate) fn labels(&self, stored: Option<&Map>) -> Map {
        let kept = stored.filter(|_| self.keep_other_labels);
        let mut labels = kept.cloned().unwrap_or_default();
        labels.extend(self.labels.clone());
        for (key, value) in &self.reserved {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        labels
    }

    /// Puts labels and annotations right.
    pub(crate) fn apply(&self, metadata: &mut ObjectMeta) {
        metadata.labels = Some(self.labels(metadata.labels.as_ref()));
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

    fn differ(&self, metadata: &ObjectMeta) -> bool {
        match self {
            Self::Preserve => false,
            Self::Set(ours) => {
                let stored = metadata.annotations.as_ref();
                let mut ours = ours.iter();
                ours.any(|(key, value)| stored.and_then(|stored| stored.get(key)) != Some(value))
            }
            Self::Replace(wanted) => {
                // A time that is ours to set never causes a write (G30); one that is not goes like any other annotation (M83).
                let is_time = |key: &str| key == TRIGGER_TIME_ANNOTATION && wanted.contains_key(key);
                let counts = |(key, _): &(&String, &String)| !is_time(key);
                let stored = metadata.annotations.iter().flatten();
                !stored.filter(counts).eq(wanted.iter().filter(counts))
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

    /// A Service named foo, headless or not, with these labels.
    fn policy(headless: bool, labels: &[(&str, &str)]) -> MetadataPolicy {
        let ours = [
            ("service-name", Some("foo")),
            ("managed-by", Some("me")),
            ("headless", headless.then_some("")),
        ];
        MetadataPolicy {
            labels: map(labels),
            reserved: ours
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

    /// T-UTL-24…36, T-LBL-01…13: (headless, Service labels, slice labels) → (labels besides service-name and managed-by, differs).
    #[test]
    fn r110_labels_and_whether_they_differ() {
        let foo = ("foo", "bar");
        let head = ("headless", "");
        let ours = [("service-name", "foo"), ("managed-by", "me")];
        let hostile = [("service-name", "x"), ("managed-by", "x"), ("headless", "x")];
        for (id, headless, service, stored, labels, differs) in [
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
            assert_eq!(policy.labels(None), map(&expected), "T-UTL-{id}");
            assert_eq!(policy.differs(&slice(&stored)), differs, "T-UTL-{id}");
        }
    }

    /// G37, T-GMIR-10, T-GMIR-28: a mirrored slice has exactly the annotations of its source.
    #[test]
    fn replaced_annotations_count_preserved_ones_do_not() {
        let mut metadata = slice(&[]);
        metadata.annotations = Some(map(&[("foreign", "yes")]));
        let mut policy = MetadataPolicy::default();
        assert!(!policy.differs(&metadata));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("foreign", "yes")])));
        policy.annotations = Annotations::Replace(map(&[("a", "b")]));
        assert!(policy.differs(&metadata));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("a", "b")])));
        assert!(!policy.differs(&metadata));
    }

    /// G30, M83: the trigger time is an annotation like any other, unless it is ours.
    #[test]
    fn a_trigger_time_of_ours_is_no_difference() {
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
            let checked = policy
                .checked(Partition::default(), &trigger_time, &mut Vec::new())
                .unwrap();
            assert_eq!(checked.differs(&metadata), expected, "{trigger_time:?}");
        }
    }

    /// G30, R115.
    #[test]
    fn the_trigger_time_is_set_cleared_or_left_alone() {
        let mut metadata = slice(&[]);
        TriggerTime::Set("now".into()).apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[(TRIGGER_TIME_ANNOTATION, "now")])));
        TriggerTime::Unmanaged.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[(TRIGGER_TIME_ANNOTATION, "now")])));
        TriggerTime::Clear.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[])));
    }
}
