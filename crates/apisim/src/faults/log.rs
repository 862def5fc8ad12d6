//! The log of all requests, for assertions in tests.

use std::collections::VecDeque;

use bytes::Bytes;
use http::StatusCode;

use super::Match;
use crate::request::ResourceRequest;

/// Maximum size of the log; the oldest requests are evicted first.
const LOG_BYTES_MAX: usize = 64 << 20;
/// Estimated size of a log entry without the body.
const ENTRY_BYTES: usize = 512;

/// One request with the status of its response.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The request. For a create, the name comes from the body, if it has one.
    pub request: ResourceRequest,
    /// The request body.
    pub body: Bytes,
    /// The status of the response; `None` if there is no response, or not yet.
    pub status: Option<StatusCode>,
}

/// The requests in order of arrival, bounded in memory.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    entries: VecDeque<Recorded>,
    bytes: usize,
    evicted: u64,
}

impl RequestLog {
    /// The requests that `matches` covers, oldest first.
    ///
    /// # Panics
    /// When the log has evicted requests, because an assertion on an incomplete log could pass wrongly. Call
    /// [`Faults::clear_log`](super::Faults::clear_log) before the requests to assert on.
    #[must_use]
    pub fn matching(&self, matches: &Match) -> Vec<&Recorded> {
        assert!(
            self.evicted == 0,
            "the request log is full and has evicted its first {} requests; call clear_log before the requests to assert on",
            self.evicted
        );
        self.entries
            .iter()
            .filter(|recorded| matches.covers(&recorded.request))
            .collect()
    }

    /// Records a request and returns its number.
    pub(super) fn push(&mut self, request: ResourceRequest, body: Bytes) -> u64 {
        self.bytes += entry_size(&body);
        self.entries.push_back(Recorded {
            request,
            body,
            status: None,
        });
        while self.bytes > LOG_BYTES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= entry_size(&oldest.body);
            self.evicted += 1;
        }
        self.evicted + self.entries.len() as u64 - 1
    }

    pub(super) fn record_status(&mut self, number: u64, status: StatusCode) {
        let entry = number
            .checked_sub(self.evicted)
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| self.entries.get_mut(index));
        if let Some(entry) = entry {
            entry.status = Some(status);
        }
    }
}

fn entry_size(body: &Bytes) -> usize {
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
    fn record_status_sets_the_status_of_its_request() {
        let mut log = RequestLog::default();
        log.push(create(), Bytes::new());
        let second = log.push(create(), Bytes::new());
        log.record_status(second, StatusCode::CREATED);
        let statuses: Vec<_> = log.matching(&Match::writes()).iter().map(|r| r.status).collect();
        assert_eq!(statuses, [None, Some(StatusCode::CREATED)]);
    }

    #[test]
    #[should_panic(expected = "has evicted its first 2 requests")]
    fn matching_panics_after_eviction() {
        let mut log = RequestLog::default();
        let body = Bytes::from(vec![0; LOG_BYTES_MAX / 2]);
        for _ in 0..3 {
            log.push(create(), body.clone());
        }
        let _ = log.matching(&Match::default());
    }
}
