//! Every request that passed, so that tests can assert on what was asked and written.

use std::collections::VecDeque;

use bytes::Bytes;
use http::StatusCode;

use super::Match;
use crate::request::ResourceRequest;

/// What the log keeps at most; the oldest requests go first.
const LOG_BYTES_MAX: usize = 64 << 20;
/// What a request takes besides its body, roughly.
const ENTRY_BYTES: usize = 512;

/// One request, and how it was answered.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was asked for. A create carries the name in its body, if it has one.
    pub request: ResourceRequest,
    /// The request's body as it was sent.
    pub body: Bytes,
    /// The status of the answer; `None` when none was given (yet).
    pub status: Option<StatusCode>,
}

/// The requests in the order of their arrival, bounded in memory.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    entries: VecDeque<Recorded>,
    bytes: usize,
    forgotten: u64,
}

impl RequestLog {
    /// The requests that `matches` covers, oldest first.
    ///
    /// # Panics
    /// When the log has forgotten requests to stay within its bound, so that no assertion passes on half of the truth:
    /// [`Faults::clear_log`](super::Faults::clear_log) before the part that is to be asserted on.
    #[must_use]
    pub fn matching(&self, matches: &Match) -> Vec<&Recorded> {
        assert!(
            self.forgotten == 0,
            "the request log is full and has forgotten its first {} requests: clear it before the part to assert on",
            self.forgotten
        );
        self.entries
            .iter()
            .filter(|recorded| matches.covers(&recorded.request))
            .collect()
    }

    /// Records a request and answers with its number.
    pub(super) fn push(&mut self, request: ResourceRequest, body: Bytes) -> u64 {
        self.bytes += cost(&body);
        self.entries.push_back(Recorded {
            request,
            body,
            status: None,
        });
        while self.bytes > LOG_BYTES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= cost(&oldest.body);
            self.forgotten += 1;
        }
        self.forgotten + self.entries.len() as u64 - 1
    }

    pub(super) fn answered(&mut self, number: u64, status: StatusCode) {
        let entry = number
            .checked_sub(self.forgotten)
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| self.entries.get_mut(index));
        if let Some(entry) = entry {
            entry.status = Some(status);
        }
    }
}

fn cost(body: &Bytes) -> usize {
    ENTRY_BYTES + body.len()
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::request::Query;

    fn create() -> ResourceRequest {
        ResourceRequest::parse(&Method::POST, "/api/v1/namespaces/a/pods", &Query::default()).unwrap()
    }

    #[test]
    fn an_answer_finds_its_request() {
        let mut log = RequestLog::default();
        log.push(create(), Bytes::new());
        let second = log.push(create(), Bytes::new());
        log.answered(second, StatusCode::CREATED);
        let statuses: Vec<_> = log.matching(&Match::writes()).iter().map(|r| r.status).collect();
        assert_eq!(statuses, [None, Some(StatusCode::CREATED)]);
    }

    #[test]
    #[should_panic(expected = "has forgotten its first 2 requests")]
    fn a_log_that_forgot_refuses_to_count() {
        let mut log = RequestLog::default();
        let body = Bytes::from(vec![0; LOG_BYTES_MAX / 2]);
        for _ in 0..3 {
            log.push(create(), body.clone());
        }
        let _ = log.matching(&Match::default());
    }
}
