//! Free ports on the loopback interface.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that the system gives to outgoing connections, so that none
/// of those takes the port between this look and the program's start.
const RANGE: std::ops::Range<u16> = 20_000..30_000;
const TRIES: usize = 100;

/// A port that nobody listens on at the moment. Somebody may before it is
/// used: see [`was_taken`].
pub(crate) fn free() -> io::Result<u16> {
    let mut last = None;
    for _ in 0..TRIES {
        let port = fastrand::u16(RANGE);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse)))
}

/// Whether a program ended, by its log, because its port was not free.
pub(crate) fn was_taken(log: &str) -> bool {
    log.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_listened_on() {
        let port = free().unwrap();
        assert!(RANGE.contains(&port));
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn knows_a_lost_port_by_the_words_of_go() {
        assert!(was_taken("listen tcp 127.0.0.1:20001: bind: address already in use"));
        assert!(!was_taken("unknown flag: --nonsense"));
    }
}
