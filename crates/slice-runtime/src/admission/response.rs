//! What a response to a write means for admission.

use std::time::Duration;

use slice_controller::WriteError;

use crate::api::WriteResult;

/// A response to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// The server executed the write, or another writer was first.
    Accepted,
    /// The server rejected the write for a reason of its own, such as validation or admission.
    Rejected,
    /// The server refused the write for now, with its `Retry-After`; or no connection could be made.
    Refused(Option<Duration>),
    /// Priority and fairness rejected the request, with its `Retry-After`.
    Overloaded(Option<Duration>),
    /// No response in time.
    Missing,
}

impl Response {
    /// The meaning of a result; none if the write was not sent.
    pub(crate) fn of(result: &WriteResult) -> Option<Self> {
        Some(match result {
            WriteResult::Stored(_)
            | WriteResult::Deleted
            | WriteResult::Conflict(_)
            | WriteResult::UndecodableConflict(_) => Self::Accepted,
            WriteResult::NamespaceTerminating => Self::Rejected,
            WriteResult::DependencyFailed => return None,
            WriteResult::Failed { error, retry_after } => match error {
                // The filters in front of the API respond with plain text, without a `Status` and its reason. A webhook that
                // denies a write with 429 does not: that concerns one key.
                WriteError::Api { code: 429, reason, .. } if reason.is_empty() => Self::Overloaded(*retry_after),
                WriteError::Api { code: 429 | 503, .. } => Self::Refused(*retry_after),
                WriteError::Transport(_) => Self::Refused(None),
                WriteError::Timeout(_) | WriteError::LeaseLost | WriteError::Aborted => Self::Missing,
                _ => Self::Rejected,
            },
        })
    }

    /// Whether the plan of the write ends here: further writes would be refused as well, or hang as well.
    pub(crate) fn ends_plan(self) -> bool {
        match self {
            Self::Accepted | Self::Rejected => false,
            Self::Refused(_) | Self::Overloaded(_) | Self::Missing => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(error: WriteError) -> Option<Response> {
        Response::of(&WriteResult::Failed {
            error,
            retry_after: Some(Duration::from_secs(1)),
        })
    }

    fn api(code: u16, reason: &str) -> WriteError {
        WriteError::Api {
            code,
            reason: reason.to_owned(),
            message: String::new(),
        }
    }

    #[test]
    fn only_rejections_in_front_of_the_api_concern_all_keys() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(failed(api(429, "")), Some(Response::Overloaded(second)));
        assert_eq!(failed(api(429, "TooManyRequests")), Some(Response::Refused(second)));
        assert_eq!(failed(api(503, "")), Some(Response::Refused(second)));
        assert_eq!(failed(api(500, "InternalError")), Some(Response::Rejected));
        assert_eq!(failed(api(403, "Forbidden")), Some(Response::Rejected));
        assert_eq!(failed(WriteError::Timeout(Duration::ZERO)), Some(Response::Missing));
        assert_eq!(
            failed(WriteError::Transport("connection refused".into())),
            Some(Response::Refused(None))
        );
        assert_eq!(Response::of(&WriteResult::DependencyFailed), None);
        assert_eq!(Response::of(&WriteResult::Deleted), Some(Response::Accepted));
    }
}
