//! Errors of syncs and writes.

use std::{error::Error, fmt, time::Duration};

use slice_reconciler::PlanError;

/// An error of any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of [`Controller::sync`](crate::Controller::sync).
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The reconciler could not plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Any other error of the controller.
    #[error(transparent)]
    Other(BoxError),
}

impl SyncError {
    /// Any other error of the controller, from an error value or a text.
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self::Other(error.into())
    }
}

/// One failure of a sync.
#[derive(Debug, thiserror::Error)]
pub enum SyncFailure {
    /// The controller could not plan.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// A slice could not be created.
    #[error("failed to create a slice")]
    Create(#[source] WriteError),
    /// A slice could not be updated.
    #[error("failed to update slice {slice}")]
    Update {
        /// The name of the slice.
        slice: String,
        /// The cause.
        #[source]
        error: WriteError,
    },
    /// A slice could not be deleted.
    #[error("failed to delete slice {slice}")]
    Delete {
        /// The name of the slice.
        slice: String,
        /// The cause.
        #[source]
        error: WriteError,
    },
}

impl SyncFailure {
    /// Whether another client changed a slice first. The key is synced again with the live slice; nothing is wrong.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Sync(_) => false,
            Self::Create(error) | Self::Update { error, .. } | Self::Delete { error, .. } => {
                matches!(error, WriteError::Conflict)
            }
        }
    }
}

/// Why a write of a slice failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another client changed, created or deleted the slice first.
    #[error("conflict: another client changed the slice first")]
    Conflict,
    /// The request could not be built, and was not sent.
    #[error(transparent)]
    Request(BoxError),
    /// The API server responded with an error.
    #[error("{message}")]
    Api {
        /// The HTTP status code.
        code: u16,
        /// The machine-readable reason of the `Status`, such as `Forbidden`; empty if the response is no `Status`.
        reason: String,
        /// The text of the `Status`, or the status code if there is none.
        message: String,
    },
    /// The API server did not respond in time; whether it executed the write is unknown.
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection failed; whether the API server executed the write is unknown.
    #[error(transparent)]
    Transport(BoxError),
    /// The API server executed the write, but its response cannot be decoded.
    #[error("the response cannot be decoded")]
    Response(#[source] serde_json::Error),
    /// The API server stored the slice with other labels than were sent, so that it no longer belongs to its owner.
    #[error(
        "slice {slice} is stored with {}: a mutating webhook or policy, or another client, rewrites the labels of \
         EndpointSlices; exclude EndpointSlices from it",
        StoredLabel(.label, .value.as_deref())
    )]
    Relabelled {
        /// The name of the slice.
        slice: String,
        /// The label that was changed.
        label: String,
        /// Its stored value; none if the label was removed.
        value: Option<String>,
    },
    /// This instance lost the lease of leader election first; whether the API server executed the write is unknown.
    #[error("the lease of leader election was lost before the response arrived")]
    LeaseLost,
    /// The writer task ended before the response arrived.
    #[error("the write was aborted before the response arrived")]
    Aborted,
}

/// Displays a label of a stored slice.
struct StoredLabel<'a>(&'a str, Option<&'a str>);

impl fmt::Display for StoredLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(value) => write!(f, "label {}={value:?}", self.0),
            None => write!(f, "no label {}", self.0),
        }
    }
}

/// Displays an error with all its sources, the outermost first. Skips a source whose text is already displayed: some
/// libraries repeat their sources in their own texts.
#[derive(Clone, Copy, Debug)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut source = self.0.source();
        while let Some(error) = source {
            let part = error.to_string();
            if !text.contains(&part) {
                text.push_str(": ");
                text.push_str(&part);
            }
            source = error.source();
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn chain(texts: &[&'static str]) -> Option<Box<Layer>> {
        let (text, rest) = texts.split_first()?;
        Some(Box::new(Layer {
            text,
            source: chain(rest),
        }))
    }

    #[test]
    fn error_chain_displays_every_source_once() {
        for (texts, expected) in [
            (&["refused"][..], "refused"),
            (&["cannot connect", "refused"], "cannot connect: refused"),
            (
                &["client error (Connect): refused", "refused", "os error 111"],
                "client error (Connect): refused: os error 111",
            ),
        ] {
            let error = chain(texts).unwrap();
            assert_eq!(ErrorChain(&*error).to_string(), expected);
        }
    }

    #[test]
    fn failures_keep_their_causes_as_sources() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let failure = SyncFailure::Update {
            slice: "a".to_owned(),
            error: WriteError::Transport(Box::new(io)),
        };
        assert_eq!(failure.to_string(), "failed to update slice a");
        assert_eq!(
            ErrorChain(&failure).to_string(),
            "failed to update slice a: connection reset"
        );
        let own = SyncFailure::Sync(SyncError::other("no annotation"));
        assert_eq!(ErrorChain(&own).to_string(), "no annotation");
    }
}
