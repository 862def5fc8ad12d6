//! Why a list or a watch ended.

use http::StatusCode;

use super::epoch::NewestObject;
use crate::client::RequestError;

/// Why a list or a watch ended.
pub(super) enum StreamEnd {
    /// The server closed the stream, or its time is over: resume from the last resourceVersion.
    Closed,
    /// The resourceVersion is too old (410 Gone): relist.
    Expired,
    /// The server has not reached the resourceVersion.
    TooLarge(RequestError),
    /// A consistent read is older than what was seen. Another read, of this object, has to confirm it.
    OlderRead(Option<NewestObject>),
    /// A list has to confirm an earlier one.
    Confirm,
    /// A term of leadership has begun: a version has to be read, and reached.
    CatchUp,
    /// The engine dropped the channel: the program shuts down.
    ReceiverDropped,
    Failed(RequestError),
    /// The response cannot be decoded, or is older than one before.
    Invalid(String),
}

impl From<RequestError> for StreamEnd {
    fn from(error: RequestError) -> Self {
        match error.api_error() {
            Some(api_error) if api_error.code == StatusCode::GONE => Self::Expired,
            Some(api_error) if api_error.has_cause("ResourceVersionTooLarge") => Self::TooLarge(error),
            _ => Self::Failed(error),
        }
    }
}

/// The engine dropped the channel.
pub(super) struct ReceiverDropped;

impl From<ReceiverDropped> for StreamEnd {
    fn from(ReceiverDropped: ReceiverDropped) -> Self {
        Self::ReceiverDropped
    }
}

/// Whether the API server lacks the resource: the list of a served resource is found even if it is empty.
pub(super) fn is_not_found(error: &RequestError) -> bool {
    error
        .api_error()
        .is_some_and(|error| error.code == StatusCode::NOT_FOUND)
}

/// Whether the API server rejected the request because it is overloaded.
pub(super) fn is_overload(error: &RequestError) -> bool {
    error
        .api_error()
        .is_some_and(|error| error.code == StatusCode::TOO_MANY_REQUESTS)
}
