//! What responses and errors say about connections and credentials.

use std::{
    error::Error,
    io::{self, ErrorKind},
    time::{Duration, Instant},
};

use http::StatusCode;

/// Whether an error shows that the path to the server is broken: unused connections to it are probably broken as well, and
/// would each fail only after a timeout.
///
/// A connection that the server closed does not: it closed the others too, or they work. Nor does a failed attempt to connect,
/// which existing connections need not share.
pub(super) fn is_broken_connection(error: &(dyn Error + 'static)) -> bool {
    let mut broken = false;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>()
            && error.is_connect()
        {
            return false;
        }
        // A ping without a response.
        broken |= error
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_timeout);
        // An error of HTTP/2 does not have the error of its connection as its source.
        let http2 = error.downcast_ref::<h2::Error>().and_then(h2::Error::get_io);
        broken |= http2.or_else(|| error.downcast_ref()).is_some_and(is_broken_path);
        next = error.source();
    }
    broken
}

fn is_broken_path(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TimedOut
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}

/// Counts responses 401 Unauthorized in a row.
#[derive(Debug, Default)]
pub(super) struct UnauthorizedRun {
    started_at: Option<Instant>,
    responses: u32,
}

impl UnauthorizedRun {
    /// One may come from a token that expires just then, which is read again soon.
    const MIN_RESPONSES: u32 = 3;

    /// Records a response. Returns whether all have been 401 for `duration`; the count then starts again.
    pub(super) fn record(&mut self, status: StatusCode, now: Instant, duration: Duration) -> bool {
        if status != StatusCode::UNAUTHORIZED {
            *self = Self::default();
            return false;
        }
        self.responses += 1;
        let started_at = *self.started_at.get_or_insert(now);
        let lasting = self.responses >= Self::MIN_RESPONSES && now.saturating_duration_since(started_at) >= duration;
        if lasting {
            *self = Self::default();
        }
        lasting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unauthorized_responses_must_last_and_be_in_a_row() {
        let (start, duration) = (Instant::now(), Duration::from_secs(10));
        let mut run = UnauthorizedRun::default();
        let mut record = |status, seconds| run.record(status, start + Duration::from_secs(seconds), duration);
        let (denied, ok) = (StatusCode::UNAUTHORIZED, StatusCode::OK);
        for (status, seconds, lasting) in [
            (denied, 0, false),
            (denied, 1, false),
            // Three, but within 10 s.
            (denied, 9, false),
            (denied, 10, true),
            // Counts from the start again.
            (denied, 30, false),
            (denied, 50, false),
            (ok, 51, false),
            (denied, 52, false),
            (denied, 62, false),
            (denied, 63, true),
        ] {
            assert_eq!(record(status, seconds), lasting, "at {seconds} s");
        }
    }

    #[test]
    fn broken_paths_are_distinguished_from_closed_connections() {
        for (kind, broken) in [
            (ErrorKind::TimedOut, true),
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::UnexpectedEof, false),
            (ErrorKind::InvalidData, false),
        ] {
            let error = kube::Error::Service(io::Error::from(kind).into());
            assert_eq!(is_broken_connection(&error), broken, "{kind:?}");
        }
    }
}
