//! Kubernetes events to record.

use std::{
    borrow::Cow,
    fmt::{self, Display},
};

use k8s_openapi::api::core::v1::ObjectReference;
use slice_core::EventType;
use slice_reconciler::Owner;

/// The description of an event that a controller records, for reference documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// The reason.
    pub reason: &'static str,
    /// Normal or warning.
    pub event_type: EventType,
    /// When the event is recorded.
    pub help: &'static str,
}

/// A Kubernetes event to be recorded on an object.
///
/// A controller may return an equal event with every sync while its cause lasts: the runtime records it once, and again every
/// 15 minutes.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that the event is about.
    pub regarding: ObjectReference,
    /// Normal or warning.
    pub event_type: EventType,
    /// The reason: one of [`slice_core::well_known`], or a controller's own.
    pub reason: Cow<'static, str>,
    /// The message for users. The runtime truncates it to [`Event::MAX_MESSAGE_LEN`].
    pub message: String,
}

impl Event {
    /// The maximum length of a recorded message in bytes, that of events.k8s.io/v1.
    pub const MAX_MESSAGE_LEN: usize = 1024;

    /// An event about the owner of slices.
    pub fn new(
        owner: &Owner<'_>,
        event_type: EventType,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            regarding: ObjectReference {
                api_version: Some(owner.api_version.to_owned()),
                kind: Some(owner.kind.to_owned()),
                namespace: Some(owner.namespace.to_owned()),
                name: Some(owner.name.to_owned()),
                uid: Some(owner.uid.to_owned()),
                ..ObjectReference::default()
            },
            event_type,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// A warning event about the owner of slices.
    pub fn warning(owner: &Owner<'_>, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(owner, EventType::Warning, reason, message)
    }

    /// Whether the event has the reason and the type of a description.
    #[must_use]
    pub fn is_described_by(&self, spec: &EventSpec) -> bool {
        self.reason == spec.reason && self.event_type == spec.event_type
    }

    /// Truncates the message to [`Event::MAX_MESSAGE_LEN`].
    pub fn truncate_message(&mut self) {
        if self.message.len() > Self::MAX_MESSAGE_LEN {
            self.message = truncate(&self.message, Self::MAX_MESSAGE_LEN).into_owned();
        }
    }
}

/// Examples of many texts, for one event instead of one per text: displays the first three distinct ones and the number of the
/// others, in at most 900 bytes.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    count: usize,
    shown: Vec<String>,
    others: usize,
}

impl Examples {
    const MAX_SHOWN: usize = 3;
    /// Leaves room in the message of an event for an introduction and the number of the others.
    const MAX_SHOWN_LEN: usize = 860;

    /// The message of one event for all texts: the text if it is the only one, else the number of texts, what they describe in
    /// the plural, and the examples. `None` if there are no texts.
    #[must_use]
    pub fn message(&self, what: &str) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(self.to_string()),
            count => Some(format!("{count} {what}: {self}")),
        }
    }

    /// The number of distinct texts that are displayed.
    pub(crate) fn shown(&self) -> usize {
        self.shown.len()
    }
}

impl<T: Display> FromIterator<T> for Examples {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut examples = Self::default();
        for text in texts {
            examples.count += 1;
            let text = text.to_string();
            if examples.shown.contains(&text) {
                continue;
            }
            if examples.shown.len() < Self::MAX_SHOWN {
                examples.shown.push(text);
            } else {
                examples.others += 1;
            }
        }
        examples
    }
}

impl Display for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, text) in self.shown.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(
                f,
                "{separator}{}",
                truncate(text, Self::MAX_SHOWN_LEN / self.shown.len())
            )?;
        }
        if self.others > 0 {
            write!(f, ", and {} more", self.others)?;
        }
        Ok(())
    }
}

/// At most `max` bytes of a text, with an ellipsis if it is longer.
fn truncate(text: &str, max: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    if text.len() <= max {
        return text.into();
    }
    let mut end = max.saturating_sub(ELLIPSIS.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ELLIPSIS}", &text[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_truncated_at_a_character() {
        let mut event = Event {
            regarding: ObjectReference::default(),
            event_type: EventType::Normal,
            reason: "Test".into(),
            message: "a".repeat(Event::MAX_MESSAGE_LEN),
        };
        for (message, len) in [
            ("a".repeat(1024), 1024),
            ("a".repeat(1025), 1024),
            ("ä".repeat(513), 1023),
            ("a".to_owned() + &"ä".repeat(512), 1024),
            ("\u{1f600}".repeat(1000), 1023),
        ] {
            event.message.clone_from(&message);
            event.truncate_message();
            assert_eq!(event.message.len(), len);
            let rest = event.message.trim_end_matches('…');
            assert!(message.starts_with(rest));
            assert_eq!(event.message.ends_with('…'), message.len() > 1024);
        }
    }

    #[test]
    fn examples_are_the_first_three_distinct_texts_and_the_number_of_the_others() {
        for (texts, expected) in [
            ("", None),
            ("a", Some("a")),
            ("aa", Some("2 letters: a")),
            ("abac", Some("4 letters: a, b, c")),
            ("abcdce", Some("6 letters: a, b, c, and 2 more")),
        ] {
            let examples: Examples = texts.chars().collect();
            assert_eq!(examples.message("letters").as_deref(), expected);
        }
    }

    #[test]
    fn long_examples_leave_room_for_the_number_of_the_others() {
        let examples: Examples = (1..=500).map(|n| format!("{n}{}", "x".repeat(5000))).collect();
        let text = examples.to_string();
        assert!(text.len() <= 900 && text.ends_with("…, and 497 more"), "{text}");
        assert!(text.contains("…, 3x"), "{text}");
    }
}
