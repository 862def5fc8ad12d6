//! Errors of requests to the API server.

use std::{fmt, time::Duration};

use http::{StatusCode, header::RETRY_AFTER, response};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use slice_controller::{BoxError, WriteError};

use crate::escape::Escaped;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The request could not be built, and was not sent.
    #[error(transparent)]
    Build(#[from] kube::core::request::Error),
    /// The server responded with an error.
    #[error("{0}")]
    Api(ApiError),
    /// No response in time; whether the server executed the request is unknown.
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The lease was lost before the request was sent, or before its response arrived.
    #[error("the lease was lost before the response arrived; whether the request was executed is unknown")]
    LeaseLost,
    /// The connection failed, or the response cannot be decoded; whether the server executed the request is unknown.
    #[error(transparent)]
    Transport(BoxError),
}

impl RequestError {
    pub(crate) fn transport(error: impl Into<BoxError>) -> Self {
        Self::Transport(error.into())
    }

    /// The error response of the server, if there is one.
    pub(crate) fn api_error(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::Build(_) | Self::Timeout(_) | Self::LeaseLost | Self::Transport(_) => None,
        }
    }
}

impl From<RequestError> for WriteError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Build(error) => Self::Request(error.into()),
            RequestError::Api(error) => Self::Api {
                code: error.code.as_u16(),
                message: error.to_string(),
                reason: error.status.reason.unwrap_or_default(),
            },
            RequestError::Timeout(timeout) => Self::Timeout(timeout),
            RequestError::LeaseLost => Self::LeaseLost,
            RequestError::Transport(error) => Self::Transport(error),
        }
    }
}

/// An error response of the server.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) code: StatusCode,
    /// The `Status` in the body. If the body is no `Status`, one with the body as its message.
    pub(crate) status: Box<Status>,
    /// The server's `Retry-After`: the request may be repeated after it.
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    pub(crate) fn decode(head: &response::Parts, body: &[u8]) -> Self {
        let status: Box<Status> = serde_json::from_slice(body).unwrap_or_else(|_| {
            Box::new(Status {
                message: Some(String::from_utf8_lossy(body).trim().to_owned()),
                ..Status::default()
            })
        });
        Self {
            code: head.status,
            retry_after: retry_after(head, &status),
            status,
        }
    }

    /// The error in an ERROR event of a watch.
    pub(crate) fn from_event(status: Status) -> Self {
        let code = status.code.and_then(|code| u16::try_from(code).ok());
        Self {
            // A missing or invalid code counts as an internal error.
            code: code
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            retry_after: None,
            status: Box::new(status),
        }
    }

    /// Whether the `Status` has this reason.
    pub(crate) fn is(&self, reason: &str) -> bool {
        self.status.reason.as_deref() == Some(reason)
    }

    /// Whether one of the causes in the `Status` has this reason.
    pub(crate) fn has_cause(&self, cause: &str) -> bool {
        let causes = self
            .status
            .details
            .iter()
            .flat_map(|details| details.causes.iter().flatten());
        causes.into_iter().any(|found| found.reason.as_deref() == Some(cause))
    }
}

/// The longest `Retry-After` that is honoured. A longer one would keep a key or a watch from recovering for as long, even
/// though the cause is gone.
const RETRY_AFTER_CAP: Duration = Duration::from_secs(30);

/// The `Retry-After` of an overloaded server (F6), up to the cap. Other errors may carry one too, such as the denial of an
/// admission webhook; they are retried with backoff (F5).
fn retry_after(head: &response::Parts, status: &Status) -> Option<Duration> {
    if !matches!(
        head.status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    ) {
        return None;
    }
    let header = head
        .headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let detail = status.details.as_ref().and_then(|details| details.retry_after_seconds);
    let seconds = header.or_else(|| detail.and_then(|seconds| u64::try_from(seconds).ok()))?;
    (seconds > 0).then(|| Duration::from_secs(seconds).min(RETRY_AFTER_CAP))
}

/// The message of the server, escaped so that it stays in one log line.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.message.as_deref() {
            Some(message) if !message.is_empty() => Escaped(message).fmt(f),
            _ => write!(f, "the API server responded with {}", self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_error(header: Option<&str>, body: &str) -> ApiError {
        api_error_with_code(429, header, body)
    }

    fn api_error_with_code(code: u16, header: Option<&str>, body: &str) -> ApiError {
        let mut response = http::Response::builder().status(code);
        if let Some(header) = header {
            response = response.header(RETRY_AFTER, header);
        }
        ApiError::decode(&response.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn retry_after_is_read_from_the_header_or_the_status() {
        let seconds = |header, body| api_error(header, body).retry_after.map(|after| after.as_secs());
        let detail = r#"{"kind": "Status", "details": {"retryAfterSeconds": 3}}"#;
        assert_eq!(seconds(Some("7"), detail), Some(7));
        assert_eq!(seconds(None, detail), Some(3));
        assert_eq!(seconds(None, "too busy"), None);
        assert_eq!(seconds(Some("Wed, 21 Oct 2026 07:28:00 GMT"), "too busy"), None);
    }

    /// Seconds that overflow an `Instant` do not reach the work queue.
    #[test]
    fn retry_after_is_capped_and_ignored_unless_the_server_is_overloaded() {
        for (code, seconds, expected) in [
            (429, "31", Some(RETRY_AFTER_CAP)),
            (503, "18446744073709551615", Some(RETRY_AFTER_CAP)),
            (503, "7", Some(Duration::from_secs(7))),
            (403, "86400", None),
            (500, "1", None),
        ] {
            let error = api_error_with_code(code, Some(seconds), "denied");
            assert_eq!(error.retry_after, expected, "{code} {seconds}");
        }
        let denial = r#"{"kind": "Status", "details": {"retryAfterSeconds": 86400}}"#;
        assert_eq!(api_error_with_code(403, None, denial).retry_after, None);
    }

    #[test]
    fn the_message_of_the_server_is_displayed() {
        assert_eq!(api_error(None, "too busy\n").to_string(), "too busy");
        assert_eq!(
            api_error(None, "").to_string(),
            "the API server responded with 429 Too Many Requests"
        );
        let status = api_error(
            None,
            r#"{"message": "no", "reason": "Why", "details": {"causes": [{"reason": "This"}]}}"#,
        );
        assert_eq!(
            (status.to_string().as_str(), status.is("Why"), status.has_cause("This")),
            ("no", true, true)
        );
    }

    #[test]
    fn control_characters_in_a_message_of_the_server_are_escaped() {
        let forged = api_error(None, r#"{"message": "denied\nINFO all is fine\u001b[2K"}"#);
        assert_eq!(forged.to_string(), "denied\\nINFO all is fine\\u{1b}[2K");
        let WriteError::Api { message, .. } = RequestError::Api(forged).into() else {
            panic!("not an API error");
        };
        assert_eq!(message, "denied\\nINFO all is fine\\u{1b}[2K");
    }
}
