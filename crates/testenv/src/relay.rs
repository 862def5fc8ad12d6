//! A TCP relay whose traffic can be frozen, on threads of its own: it outlives the tokio runtime of a test.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

const BUFFER_BYTES: usize = 64 << 10;

/// Forwards connections of a loopback port to another address until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    Flows,
    Frozen,
    Ended,
}

struct State {
    traffic: Mutex<Traffic>,
    changed: Condvar,
}

impl Relay {
    pub(crate) fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            traffic: Mutex::new(Traffic::Flows),
            changed: Condvar::new(),
        });
        thread::spawn({
            let state = Arc::clone(&state);
            move || accept(&listener, target, &state)
        });
        Ok(Self { address, state })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections stay open, and new ones are accepted, but no byte is forwarded.
    pub(crate) fn freeze(&self) {
        self.state.set(Traffic::Frozen);
    }

    /// Forwards what arrived meanwhile, and all that follows.
    pub(crate) fn thaw(&self) {
        self.state.set(Traffic::Flows);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.set(Traffic::Ended);
        // Ends the thread that accepts connections.
        drop(TcpStream::connect(self.address));
    }
}

impl State {
    fn set(&self, traffic: Traffic) {
        *self.traffic.lock().unwrap_or_else(PoisonError::into_inner) = traffic;
        self.changed.notify_all();
    }

    /// Waits while the traffic is frozen; returns whether it flows.
    fn wait(&self) -> bool {
        let traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.changed.wait_while(traffic, |traffic| *traffic == Traffic::Frozen);
        *wait.unwrap_or_else(PoisonError::into_inner) == Traffic::Flows
    }
}

fn accept(listener: &TcpListener, target: SocketAddr, state: &Arc<State>) {
    for client in listener.incoming() {
        if *state.traffic.lock().unwrap_or_else(PoisonError::into_inner) == Traffic::Ended {
            return;
        }
        // A connection that fails is closed.
        let _ = client.and_then(|client| relay(client, TcpStream::connect(target)?, state));
    }
}

fn relay(client: TcpStream, server: TcpStream, state: &Arc<State>) -> io::Result<()> {
    for (from, to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        let state = Arc::clone(state);
        thread::spawn(move || {
            // The end of one direction ends the connection, however it ends.
            let _ = forward(&from, &to, &state);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

fn forward(mut from: &TcpStream, mut to: &TcpStream, state: &State) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 || !state.wait() {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn frozen_traffic_is_forwarded_after_the_thaw() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(server.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut received = [0; 3];
        client.write_all(b"one").unwrap();
        accepted.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"one");

        relay.freeze();
        client.write_all(b"two").unwrap();
        accepted.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let error = accepted.read(&mut received).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        relay.thaw();
        accepted.set_read_timeout(None).unwrap();
        accepted.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"two");

        drop(relay);
        client.write_all(b"end").unwrap();
        assert_eq!(accepted.read(&mut received).unwrap(), 0);
    }
}
