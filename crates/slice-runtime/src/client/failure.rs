//! How a call can fail.

use std::{error::Error, fmt, time::Duration};

use http::{StatusCode, header::RETRY_AFTER, response};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The request could not be built, and was not sent.
    #[error(transparent)]
    Unbuilt(#[from] kube::core::request::Error),
    /// The server said no.
    #[error("{0}")]
    Refused(Refusal),
    /// Whether the server did what it was asked is not known.
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// The connection failed; whether the server did what it was asked is not known.
    #[error("{0}")]
    Lost(String),
}

impl CallError {
    /// From the error of a library, which tells the interesting part last.
    pub(crate) fn lost(error: &(dyn Error + 'static)) -> Self {
        let mut told = error.to_string();
        let mut inner = error.source();
        while let Some(error) = inner {
            let part = error.to_string();
            if !told.contains(&part) {
                told = format!("{told}: {part}");
            }
            inner = error.source();
        }
        Self::Lost(told)
    }

    /// The refusal, if the server answered.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Unbuilt(_) | Self::NoAnswer(_) | Self::Lost(_) => None,
        }
    }
}

/// An answer of the server that is not a success.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: StatusCode,
    /// What the server has to say, if it says it in the form of the API.
    pub(crate) status: Box<Status>,
    /// When it may be asked again.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
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

    /// A refusal that came as an event of a watch.
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

    /// Whether the refusal has this reason, in the API's words.
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

impl fmt::Display for Refusal {
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

    fn refusal(header: Option<&str>, body: &str) -> Refusal {
        let mut response = http::Response::builder().status(429);
        if let Some(header) = header {
            response = response.header(RETRY_AFTER, header);
        }
        Refusal::read(&response.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn the_server_says_when_to_come_back() {
        let seconds = |header, body| refusal(header, body).retry_after.map(|after| after.as_secs());
        let detail = r#"{"kind": "Status", "details": {"retryAfterSeconds": 3}}"#;
        assert_eq!(seconds(Some("7"), detail), Some(7));
        assert_eq!(seconds(None, detail), Some(3));
        assert_eq!(seconds(None, "too busy"), None);
        assert_eq!(seconds(Some("Wed, 21 Oct 2026 07:28:00 GMT"), "too busy"), None);
    }

    #[test]
    fn what_the_server_says_is_passed_on() {
        assert_eq!(refusal(None, "too busy\n").to_string(), "too busy");
        assert_eq!(
            refusal(None, "").to_string(),
            "the server answered 429 Too Many Requests"
        );
        let status = refusal(
            None,
            r#"{"message": "no", "reason": "Why", "details": {"causes": [{"reason": "This"}]}}"#,
        );
        assert_eq!(
            (status.to_string().as_str(), status.is("Why"), status.has_cause("This")),
            ("no", true, true)
        );
    }
}
