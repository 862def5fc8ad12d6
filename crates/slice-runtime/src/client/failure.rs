//! How a request can fail.

use std::{fmt, time::Duration};

use http::{StatusCode, header::RETRY_AFTER, response};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use slice_controller::{BoxError, WriteError};

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The request could not be built, and was not sent.
    #[error(transparent)]
    Build(#[from] kube::core::request::Error),
    /// The server answered with an error.
    #[error("{0}")]
    Api(ApiError),
    /// No response in time; whether the server did what was requested is unknown.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection failed, or the response cannot be decoded; whether the server did what was requested is unknown.
    #[error(transparent)]
    Transport(BoxError),
}

impl RequestError {
    pub(crate) fn transport(error: impl Into<BoxError>) -> Self {
        Self::Transport(error.into())
    }

    /// The error response, if the server answered.
    pub(crate) fn api_error(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::Build(_) | Self::Timeout(_) | Self::Transport(_) => None,
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
            RequestError::Transport(error) => Self::Transport(error),
        }
    }
}

/// An error response of the server.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) code: StatusCode,
    /// The `Status` in the body; one with the body as its message if that is no `Status`.
    pub(crate) status: Box<Status>,
    /// When the request may be repeated.
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    pub(crate) fn read(head: &response::Parts, body: &[u8]) -> Self {
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

    /// An error that came as an event of a watch.
    pub(crate) fn from_event(status: Status) -> Self {
        let code = status.code.and_then(|code| u16::try_from(code).ok());
        Self {
            // Without a valid code it is an internal error.
            code: code
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            retry_after: None,
            status: Box::new(status),
        }
    }

    /// Whether the error has this reason.
    pub(crate) fn is(&self, reason: &str) -> bool {
        self.status.reason.as_deref() == Some(reason)
    }

    /// Whether one of the causes is this.
    pub(crate) fn has_cause(&self, cause: &str) -> bool {
        let causes = self
            .status
            .details
            .iter()
            .flat_map(|details| details.causes.iter().flatten());
        causes.into_iter().any(|found| found.reason.as_deref() == Some(cause))
    }
}

fn retry_after(head: &response::Parts, status: &Status) -> Option<Duration> {
    let header = head
        .headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let detail = status.details.as_ref().and_then(|details| details.retry_after_seconds);
    let seconds = header.or_else(|| detail.and_then(|seconds| u64::try_from(seconds).ok()))?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.message.as_deref() {
            Some(message) if !message.is_empty() => f.write_str(message),
            _ => write!(f, "the server answered {}", self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_error(header: Option<&str>, body: &str) -> ApiError {
        let mut response = http::Response::builder().status(429);
        if let Some(header) = header {
            response = response.header(RETRY_AFTER, header);
        }
        ApiError::read(&response.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn the_server_says_when_to_come_back() {
        let seconds = |header, body| api_error(header, body).retry_after.map(|after| after.as_secs());
        let detail = r#"{"kind": "Status", "details": {"retryAfterSeconds": 3}}"#;
        assert_eq!(seconds(Some("7"), detail), Some(7));
        assert_eq!(seconds(None, detail), Some(3));
        assert_eq!(seconds(None, "too busy"), None);
        assert_eq!(seconds(Some("Wed, 21 Oct 2026 07:28:00 GMT"), "too busy"), None);
    }

    #[test]
    fn what_the_server_says_is_passed_on() {
        assert_eq!(api_error(None, "too busy\n").to_string(), "too busy");
        assert_eq!(
            api_error(None, "").to_string(),
            "the server answered 429 Too Many Requests"
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
}
