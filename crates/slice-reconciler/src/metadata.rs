//! What is written into the metadata of slices: what is copied, what is ours, what is kept.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::names::TRIGGER_TIME_ANNOTATION;

type Map = BTreeMap<String, String>;

/// Labels and annotations of the slices of one owner (§5 of the specification).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataPolicy {
    /// Labels copied from the owner. A slice has these and no others, besides the reserved ones.
    pub labels: Map,
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
    /// Whether a slice has to be written for its metadata alone; never for the trigger time, if that is ours (G30).
    pub(crate) fn differs(&self, metadata: &ObjectMeta, trigger_time: &TriggerTime) -> bool {
        let labels = metadata.labels.iter().flatten();
        let unreserved = labels.filter(|(key, _)| !self.reserved.contains_key(*key));
        let wanted = self.labels.iter().filter(|(key, _)| !self.reserved.contains_key(*key));
        !unreserved.eq(wanted) || self.annotations.differ(metadata, trigger_time)
    }

    /// The labels of a slice.
    pub(crate) fn labels(&self) -> Map {
        let mut labels = self.labels.clone();
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
        metadata.labels = Some(self.labels());
        if let Annotations::Replace(annotations) = &self.annotations {
            metadata.annotations = Some(annotations.clone());
        }
    }
}

impl Annotations {
    fn differ(&self, metadata: &ObjectMeta, trigger_time: &TriggerTime) -> bool {
        match self {
            Self::Preserve => false,
            Self::Replace(wanted) => {
                let is_ours = |key: &str| *trigger_time != TriggerTime::Unmanaged && key == TRIGGER_TIME_ANNOTATION;
                let stored = metadata.annotations.iter().flatten();
                let wanted = wanted.iter().filter(|(key, _)| !is_ours(key));
                !stored.filter(|(key, _)| !is_ours(key)).eq(wanted)
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
            annotations: Annotations::Preserve,
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
            assert_eq!(policy.labels(), map(&expected), "T-UTL-{id}");
            assert_eq!(
                policy.differs(&slice(&stored), &TriggerTime::Clear),
                differs,
                "T-UTL-{id}"
            );
        }
    }

    /// G37, T-GMIR-10, T-GMIR-28: a mirrored slice has exactly the annotations of its source.
    #[test]
    fn replaced_annotations_count_preserved_ones_do_not() {
        let mut metadata = slice(&[]);
        metadata.annotations = Some(map(&[("foreign", "yes")]));
        let mut policy = MetadataPolicy::default();
        let unmanaged = TriggerTime::Unmanaged;
        assert!(!policy.differs(&metadata, &unmanaged));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("foreign", "yes")])));
        policy.annotations = Annotations::Replace(map(&[("a", "b")]));
        assert!(policy.differs(&metadata, &unmanaged));
        policy.apply(&mut metadata);
        assert_eq!(metadata.annotations, Some(map(&[("a", "b")])));
        assert!(!policy.differs(&metadata, &unmanaged));
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
            assert_eq!(policy.differs(&metadata, &trigger_time), expected, "{trigger_time:?}");
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
