//! Which connections are open, and which one is closed to make room for another.

use std::collections::HashMap;

use tokio::time::{Duration, Instant};

/// Maximum number of connections of a port. A scraper, a few probes and an operator need a handful.
pub(super) const MAX_CONNECTIONS: usize = 256;
/// How long a connection may have no request in flight. Longer than the usual interval of scrapes.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// The open connections of a port, each with a handle that closes it.
#[derive(Debug)]
pub(super) struct ConnectionTable<H> {
    open: HashMap<u64, Connection<H>>,
    next_id: u64,
}

#[derive(Debug)]
struct Connection<H> {
    handle: H,
    requests_in_flight: usize,
    /// When it was opened, or its last request ended.
    idle_since: Instant,
}

impl<H> Default for ConnectionTable<H> {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            next_id: 0,
        }
    }
}

impl<H> ConnectionTable<H> {
    /// Makes room for one more connection. A request is in flight once it is authorized. Returns the one to close for it, if any: the one that has been idle for longest, so
    /// that connections without requests cannot keep others out. An error if all have requests in flight.
    pub(super) fn make_room(&mut self) -> Result<Option<H>, TooManyConnections> {
        if self.open.len() < MAX_CONNECTIONS {
            return Ok(None);
        }
        let idle = self.open.iter().filter(|(_, open)| open.requests_in_flight == 0);
        let longest = idle.min_by_key(|(id, open)| (open.idle_since, **id));
        let id = *longest.ok_or(TooManyConnections)?.0;
        Ok(self.remove(id))
    }

    /// The id of the next connection to [`add`](Self::add).
    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn add(&mut self, id: u64, handle: H, now: Instant) {
        let connection = Connection {
            handle,
            requests_in_flight: 0,
            idle_since: now,
        };
        self.open.insert(id, connection);
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<H> {
        self.open.remove(&id).map(|connection| connection.handle)
    }

    pub(super) fn request_started(&mut self, id: u64) {
        if let Some(connection) = self.open.get_mut(&id) {
            connection.requests_in_flight += 1;
        }
    }

    pub(super) fn request_ended(&mut self, id: u64, now: Instant) {
        if let Some(connection) = self.open.get_mut(&id) {
            connection.requests_in_flight = connection.requests_in_flight.saturating_sub(1);
            connection.idle_since = now;
        }
    }

    /// Removes the connections that have been idle for too long.
    pub(super) fn take_idle(&mut self, now: Instant) -> Vec<H> {
        let idle = self.open.extract_if(|_, open| {
            open.requests_in_flight == 0 && now.saturating_duration_since(open.idle_since) >= IDLE_TIMEOUT
        });
        idle.map(|(_, connection)| connection.handle).collect()
    }
}

/// All connections have requests in flight.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyConnections;

#[cfg(test)]
mod tests {
    use super::*;

    /// A table that is full, with connections opened one second after another. Handles are ids.
    fn full(start: Instant) -> ConnectionTable<u64> {
        let mut table = ConnectionTable::default();
        for second in 0..MAX_CONNECTIONS as u64 {
            assert_eq!(table.make_room(), Ok(None));
            let id = table.next_id();
            table.add(id, id, start + Duration::from_secs(second));
        }
        table
    }

    #[test]
    fn the_connection_that_is_idle_for_longest_makes_room() {
        let start = Instant::now();
        let mut table = full(start);
        // The first one has a request in flight, the second one just had one.
        table.request_started(1);
        table.request_started(2);
        table.request_ended(2, start + Duration::from_secs(1000));
        assert_eq!(table.make_room(), Ok(Some(3)));
        assert_eq!(table.make_room(), Ok(None), "there is room now");
        let id = table.next_id();
        table.add(id, id, start + Duration::from_secs(1000));
        assert_eq!(table.make_room(), Ok(Some(4)));
    }

    #[test]
    fn a_connection_is_refused_if_all_others_have_requests_in_flight() {
        let start = Instant::now();
        let mut table = full(start);
        for id in 1..=MAX_CONNECTIONS as u64 {
            table.request_started(id);
        }
        assert_eq!(table.make_room(), Err(TooManyConnections));
        table.request_started(7);
        table.request_ended(7, start);
        assert_eq!(
            table.make_room(),
            Err(TooManyConnections),
            "one of two requests has ended"
        );
        table.request_ended(7, start);
        assert_eq!(table.make_room(), Ok(Some(7)));
    }

    #[test]
    fn idle_connections_are_closed_after_the_timeout() {
        let start = Instant::now();
        let mut table = ConnectionTable::default();
        for id in [1, 2, 3] {
            table.add(id, id, start);
        }
        table.request_started(2);
        table.request_started(3);
        table.request_ended(3, start + Duration::from_secs(1));
        assert!(table.take_idle(start + IDLE_TIMEOUT / 2).is_empty());
        assert_eq!(table.take_idle(start + IDLE_TIMEOUT), [1]);
        assert_eq!(table.take_idle(start + IDLE_TIMEOUT * 2), [3]);
    }
}
