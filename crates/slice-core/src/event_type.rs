//! The type of Kubernetes events.

/// The type of a Kubernetes event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// For information.
    Normal,
    /// For problems that need attention.
    Warning,
}

impl EventType {
    /// The value of the API field `type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
