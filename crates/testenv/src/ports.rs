//! Free ports on the loopback interface.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Below the ephemeral ports, so that no outgoing connection takes the port before the process binds it.
const RANGE: std::ops::Range<u16> = 20_000..30_000;
const MAX_ATTEMPTS: usize = 100;

/// A port that is free at the moment. Another process may bind it first: see [`port_in_use`].
pub(crate) fn free() -> io::Result<u16> {
    let mut last = None;
    for _ in 0..MAX_ATTEMPTS {
        let port = fastrand::u16(RANGE);
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse)))
}

/// Whether a process ended because its port was in use, by its log.
pub(crate) fn port_in_use(log: &str) -> bool {
    log.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free().unwrap();
        assert!(RANGE.contains(&port));
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn a_port_in_use_is_recognised_by_the_error_text_of_go() {
        assert!(port_in_use("listen tcp 127.0.0.1:20001: bind: address already in use"));
        assert!(!port_in_use("unknown flag: --nonsense"));
    }
}
