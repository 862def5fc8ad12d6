//! The log of all requests, for assertions in tests.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use http::{StatusCode, Version};
use tokio::time::Instant;

use super::Match;
use crate::{
    request::{ResourceRequest, Verb},
    serve::ConnectionNumber,
};

/// Maximum size of the log; the oldest requests are evicted first.
const LOG_BYTES_MAX: usize = 64 << 20;
/// Estimated size of a log entry without the body.
const ENTRY_BYTES: usize = 512;

/// One request with the status of its response.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The request. For a create, the name comes from the body, if it has one.
    pub request: ResourceRequest,
    /// The query string, as sent.
    pub query: String,
    /// The request body.
    pub body: Bytes,
    /// The status of the response; `None` if there is no response, or not yet.
    pub status: Option<StatusCode>,
    /// When the request arrived.
    pub at: Instant,
    /// The HTTP version.
    pub version: Version,
    /// The connection; `None` for a client in process.
    pub connection: Option<ConnectionNumber>,
}

impl Recorded {
    /// Whether the request reads a whole collection: a list, or a watch that begins with the existing objects.
    #[must_use]
    pub fn is_list(&self) -> bool {
        match self.request.verb {
            Verb::List => true,
            Verb::Watch => self.query.contains("sendInitialEvents=true"),
            _ => false,
        }
    }
}

/// The requests in order of arrival, bounded in memory.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    entries: VecDeque<Recorded>,
    bytes: usize,
    /// The number of the first entry. Numbers continue after [`clear`](Self::clear).
    first: u64,
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

    /// The number of requests that `matches` covers, by the status of the response.
    ///
    /// # Panics
    /// As [`matching`](Self::matching).
    #[must_use]
    pub fn count_by_status(&self, matches: &Match) -> BTreeMap<Option<StatusCode>, usize> {
        let mut counts = BTreeMap::new();
        for recorded in self.matching(matches) {
            *counts.entry(recorded.status).or_default() += 1;
        }
        counts
    }

    /// The most requests that `matches` covers within any second.
    ///
    /// # Panics
    /// As [`matching`](Self::matching).
    #[must_use]
    pub fn peak_per_second(&self, matches: &Match) -> usize {
        let mut second = VecDeque::new();
        let mut peak = 0;
        for recorded in self.matching(matches) {
            second.push_back(recorded.at);
            while second
                .front()
                .is_some_and(|first| recorded.at.duration_since(*first) >= Duration::from_secs(1))
            {
                second.pop_front();
            }
            peak = peak.max(second.len());
        }
        peak
    }

    /// Records a request and returns its number.
    pub(super) fn push(&mut self, recorded: Recorded) -> u64 {
        self.bytes += entry_size(&recorded.body);
        self.entries.push_back(recorded);
        while self.bytes > LOG_BYTES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= entry_size(&oldest.body);
            self.first += 1;
            self.evicted += 1;
        }
        self.first + self.entries.len() as u64 - 1
    }

    /// Removes all requests. The status of a removed request that is still in progress is not recorded.
    pub(super) fn clear(&mut self) {
        *self = Self {
            first: self.first + self.entries.len() as u64,
            ..Self::default()
        };
    }

    pub(super) fn record_status(&mut self, number: u64, status: StatusCode) {
        let entry = number
            .checked_sub(self.first)
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

    fn create(body: Bytes) -> Recorded {
        Recorded {
            request: ResourceRequest::parse(&Method::POST, "/api/v1/namespaces/a/pods", &Query::default()).unwrap(),
            query: String::new(),
            body,
            status: None,
            at: Instant::now(),
            version: Version::HTTP_11,
            connection: None,
        }
    }

    #[test]
    fn record_status_sets_the_status_of_its_request() {
        let mut log = RequestLog::default();
        log.push(create(Bytes::new()));
        let second = log.push(create(Bytes::new()));
        log.record_status(second, StatusCode::CREATED);
        let statuses: Vec<_> = log.matching(&Match::writes()).iter().map(|r| r.status).collect();
        assert_eq!(statuses, [None, Some(StatusCode::CREATED)]);
        let counts = log.count_by_status(&Match::writes());
        assert_eq!(
            counts.into_iter().collect::<Vec<_>>(),
            [(None, 1), (Some(StatusCode::CREATED), 1)]
        );
    }

    #[test]
    fn the_status_of_a_cleared_request_belongs_to_no_later_one() {
        let mut log = RequestLog::default();
        let cleared = log.push(create(Bytes::new()));
        log.clear();
        log.push(create(Bytes::new()));
        log.record_status(cleared, StatusCode::CREATED);
        assert_eq!(log.matching(&Match::writes())[0].status, None);
    }

    #[test]
    fn the_peak_is_the_fullest_second() {
        let mut log = RequestLog::default();
        let start = Instant::now();
        for milliseconds in [0, 600, 1000, 1500, 1599, 2600] {
            let at = start + Duration::from_millis(milliseconds);
            log.push(Recorded {
                at,
                ..create(Bytes::new())
            });
        }
        assert_eq!(log.peak_per_second(&Match::writes()), 4);
        assert_eq!(log.peak_per_second(&Match::writes().resource("nodes")), 0);
    }

    #[test]
    #[should_panic(expected = "has evicted its first 2 requests")]
    fn matching_panics_after_eviction() {
        let mut log = RequestLog::default();
        let body = Bytes::from(vec![0; LOG_BYTES_MAX / 2]);
        for _ in 0..3 {
            log.push(create(body.clone()));
        }
        let _ = log.matching(&Match::default());
    }
}
