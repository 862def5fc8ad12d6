//! Random damage, generated from the seed only.

use std::{fmt, time::Duration};

use fastrand::Rng;

/// Damage begins within this time of a round.
pub(crate) const DAMAGE_PHASE: Duration = Duration::from_secs(38);
/// The resources that the controllers watch.
const WATCHED: [&str; 5] = ["services", "pods", "nodes", "endpoints", "endpointslices"];

/// One of the two replicas of a program; both are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReplicaId {
    /// The program, in the order of [`testenv::CONTROLLERS`].
    pub(crate) program: usize,
    pub(crate) number: usize,
}

impl ReplicaId {
    pub(crate) const ALL: [Self; 4] = [Self::new(0, 0), Self::new(0, 1), Self::new(1, 0), Self::new(1, 1)];

    const fn new(program: usize, number: usize) -> Self {
        Self { program, number }
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", testenv::CONTROLLERS[self.program], self.number + 1)
    }
}

/// Damage that begins at a time of the round and ends after a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Damage {
    pub(crate) at: Duration,
    pub(crate) lasts: Duration,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Faults of the requests of one replica.
    Requests {
        replica: ReplicaId,
        requests: Requests,
        fault: RequestFault,
    },
    /// Faults of the watch streams of one replica.
    Streams {
        replica: ReplicaId,
        resource: &'static str,
        fault: StreamFault,
    },
    /// Faults of all connections of one replica.
    Connections { replica: ReplicaId, fault: ConnectionFault },
    /// A replica that ends and is started again, or is stopped and continued.
    Process {
        replica: ReplicaId,
        interruption: Interruption,
    },
    /// The same for a server.
    Server { server: Server, interruption: Interruption },
}

/// Where damage is done. Damage at one place is done one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Between a replica and the API server.
    Network(ReplicaId),
    Process(ReplicaId),
    /// kube-apiserver does not start without etcd, so both are one place.
    Servers,
}

/// The requests that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requests {
    All,
    SliceWrites,
    Leases,
    Lists,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestFault {
    /// Each request arrives later.
    Delay(Duration),
    /// The proxy responds; 429 with `Retry-After: 1`.
    Answer(u16),
    /// The connection closes before the request arrives.
    DropRequest,
    /// The connection closes after the server has executed the request.
    DropAnswer,
    /// Requests arrive at the end of the damage.
    HoldRequest,
    /// Responses arrive at the end of the damage.
    HoldAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFault {
    /// Cut after so many more events.
    CutAfter(usize),
    CutMidEvent,
    /// Events arrive at the end of the damage.
    Hold,
    /// New watches are rejected with 410 Gone; open ones are cut.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionFault {
    /// No byte passes until the end of the damage.
    Freeze,
    Close,
    /// GOAWAY, or `Connection: close`.
    Drain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// SIGKILL, and a start at the end of the damage.
    Kill,
    /// SIGTERM, and a start at the end of the damage.
    Terminate,
    /// SIGSTOP, and SIGCONT at the end of the damage.
    Freeze,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Etcd,
    Apiserver,
}

impl Damage {
    pub(crate) fn place(&self) -> Place {
        match self.kind {
            Kind::Requests { replica, .. } | Kind::Streams { replica, .. } | Kind::Connections { replica, .. } => {
                Place::Network(replica)
            }
            Kind::Process { replica, .. } => Place::Process(replica),
            Kind::Server { .. } => Place::Servers,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Requests {
                replica,
                requests,
                fault,
            } => write!(out, "{replica}: {fault:?} of {requests:?}")?,
            Kind::Streams {
                replica,
                resource,
                fault,
            } => write!(out, "{replica}: {fault:?} of watches of {resource}")?,
            Kind::Connections { replica, fault } => write!(out, "{replica}: {fault:?} of connections")?,
            Kind::Process { replica, interruption } => write!(out, "{replica}: {interruption:?}")?,
            Kind::Server { server, interruption } => write!(out, "{server:?}: {interruption:?}")?,
        }
        write!(out, " for {:.1?}", self.lasts)
    }
}

/// Generates the damage of one round after the other.
#[derive(Debug)]
pub(crate) struct Generator(Rng);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        // Other numbers than those of the changes, which come from the same seed.
        Self(Rng::with_seed(seed.wrapping_add(0x5350_4f41_4b00)))
    }

    /// The damage of the next round, in the order of its beginning.
    pub(crate) fn next_round(&mut self) -> Vec<Damage> {
        let mut round = Vec::new();
        let mut at = self.milliseconds(200..2000);
        while at < DAMAGE_PHASE {
            let (kind, lasts) = self.damage();
            round.push(Damage { at, lasts, kind });
            at += self.milliseconds(200..2000);
        }
        round
    }

    fn damage(&mut self) -> (Kind, Duration) {
        let replica = self.one_of(&ReplicaId::ALL);
        match self.0.u8(..100) {
            0..50 => {
                let requests = self.one_of(&[
                    Requests::All,
                    Requests::SliceWrites,
                    Requests::SliceWrites,
                    Requests::Leases,
                    Requests::Lists,
                ]);
                let fault = self.request_fault();
                let kind = Kind::Requests {
                    replica,
                    requests,
                    fault,
                };
                (kind, self.milliseconds(200..8000))
            }
            50..68 => {
                let kind = Kind::Streams {
                    replica,
                    resource: self.one_of(&WATCHED),
                    fault: self.stream_fault(),
                };
                (kind, self.milliseconds(200..15_000))
            }
            68..78 => {
                let fault = self.one_of(&[ConnectionFault::Freeze, ConnectionFault::Close, ConnectionFault::Drain]);
                (Kind::Connections { replica, fault }, self.milliseconds(500..15_000))
            }
            78..93 => {
                let interruption = self.interruption();
                (
                    Kind::Process { replica, interruption },
                    self.milliseconds(match interruption {
                        // Half of them longer than the lease.
                        Interruption::Freeze => 500..8000,
                        _ => 0..4000,
                    }),
                )
            }
            _ => {
                let server = self.one_of(&[Server::Etcd, Server::Apiserver]);
                let interruption = self.interruption();
                (Kind::Server { server, interruption }, self.milliseconds(0..6000))
            }
        }
    }

    fn request_fault(&mut self) -> RequestFault {
        match self.0.u8(..10) {
            0 | 1 => RequestFault::Delay(self.milliseconds(20..2500)),
            2..5 => RequestFault::Answer(self.one_of(&[409, 429, 500, 503, 504])),
            5 => RequestFault::DropRequest,
            6 | 7 => RequestFault::DropAnswer,
            8 => RequestFault::HoldRequest,
            _ => RequestFault::HoldAnswer,
        }
    }

    fn stream_fault(&mut self) -> StreamFault {
        match self.0.u8(..6) {
            0 | 1 => StreamFault::CutAfter(self.0.usize(..5)),
            2 => StreamFault::CutMidEvent,
            3 => StreamFault::Gone,
            _ => StreamFault::Hold,
        }
    }

    fn interruption(&mut self) -> Interruption {
        self.one_of(&[Interruption::Kill, Interruption::Terminate, Interruption::Freeze])
    }

    fn milliseconds(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.0.u64(range))
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.usize(..values.len())]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rounds(seed: u64, count: usize) -> Vec<Vec<Damage>> {
        let mut generator = Generator::new(seed);
        std::iter::repeat_with(|| generator.next_round()).take(count).collect()
    }

    #[test]
    fn damage_depends_on_the_seed_only() {
        assert_eq!(rounds(7, 20), rounds(7, 20));
        assert_ne!(rounds(7, 20), rounds(8, 20));
    }

    #[test]
    fn damage_of_a_round_begins_in_its_phase_and_in_order() {
        for round in rounds(1, 50) {
            assert!(round.len() > 10, "{round:?}");
            assert!(round.is_sorted_by_key(|damage| damage.at));
            assert!(round.iter().all(|damage| damage.at < DAMAGE_PHASE));
            assert!(round.iter().all(|damage| damage.lasts <= Duration::from_secs(15)));
        }
    }

    #[test]
    fn thirty_rounds_damage_every_place_in_every_way() {
        let damage = rounds(1, 30).concat();
        let places: BTreeSet<Place> = damage.iter().map(Damage::place).collect();
        assert_eq!(places.len(), 9);
        for interruption in [Interruption::Kill, Interruption::Terminate, Interruption::Freeze] {
            for server in [Server::Etcd, Server::Apiserver] {
                let kind = Kind::Server { server, interruption };
                assert!(damage.iter().any(|damage| damage.kind == kind), "{kind:?}");
            }
            for replica in ReplicaId::ALL {
                let kind = Kind::Process { replica, interruption };
                assert!(damage.iter().any(|damage| damage.kind == kind), "{kind:?}");
            }
        }
    }

    #[test]
    fn damage_is_described_by_place_fault_and_duration() {
        let damage = Damage {
            at: Duration::ZERO,
            lasts: Duration::from_millis(1500),
            kind: Kind::Requests {
                replica: ReplicaId::ALL[3],
                requests: Requests::Leases,
                fault: RequestFault::Answer(429),
            },
        };
        assert_eq!(
            damage.to_string(),
            "endpointslice-mirroring-controller-2: Answer(429) of Leases for 1.5s"
        );
    }
}
