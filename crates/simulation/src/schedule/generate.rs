//! The generation of schedules from seeds.

use fastrand::Rng;

use super::{Controllers, Edit, Fate, Fault, Hints, LeaseFate, Schedule, Selects, Setup, Step};
use crate::server::{NamespaceFault, Overload, Rewrite};

impl Schedule {
    /// The schedule of a seed, with this number of replicas if given.
    #[must_use]
    pub(crate) fn generate(seed: u64, faults: &[Fault], replicas: Option<u8>) -> Self {
        let mut random = Rng::with_seed(seed);
        // Few classes at a time: many of them hide each other's effects.
        let mut classes: Vec<Fault> = faults.to_vec();
        random.shuffle(&mut classes);
        classes.truncate(random.usize(0..=4));
        let controllers = [
            Controllers::Services,
            Controllers::Services,
            Controllers::Mirroring,
            Controllers::Both,
        ];
        let random_replicas = random.u8(1..=2);
        let setup = Setup {
            controllers: controllers[random.usize(..4)],
            replicas: replicas.unwrap_or(random_replicas),
            max_endpoints: random.usize(1..5),
            batch_period_ms: random.u64(..2) * 500,
            concurrency: random.usize(1..4),
            listed: random.u8(..4) > 0,
            namespaces: random.usize(1..=2),
            unconfirmed_removals: [2, 100][random.usize(..2)],
        };
        let length = random.usize(10..120);
        let mut generator = Generator {
            random,
            faults: classes,
            replicas: setup.replicas,
        };
        let steps = (0..length).map(|_| generator.step()).collect();
        Self { setup, steps }
    }
}

struct Generator {
    random: Rng,
    faults: Vec<Fault>,
    replicas: u8,
}

impl Generator {
    fn step(&mut self) -> Step {
        let faults = !self.faults.is_empty() && self.random.u8(..5) == 0;
        if faults {
            let fault = self.faults[self.random.usize(..self.faults.len())];
            return self.fault(fault);
        }
        if self.replicas > 1 && self.random.u8(..6) == 0 {
            return self.election();
        }
        match self.random.u8(..32) {
            0..=6 => self.input(),
            7..=13 => Step::Deliver {
                replica: self.random.u8(..),
                stream: self.random.u8(..),
                events: self.random.u8(1..6),
            },
            14..=18 => Step::Process {
                replica: self.random.u8(..),
            },
            19..=22 => self.send(),
            23..=26 => Step::Respond {
                replica: self.random.u8(..),
                write: self.random.u8(..),
            },
            27 | 28 => Step::Advance {
                ms: self.random.u16(..1500),
            },
            29 => Step::CollectGarbage,
            30 => Step::Run {
                ms: self.random.u32(..5_000),
            },
            _ if self.random.u8(..8) == 0 => Step::Resync {
                replica: self.random.u8(..),
            },
            _ => Step::Run {
                ms: self.random.u32(..20_000),
            },
        }
    }

    /// A step of leader election.
    fn election(&mut self) -> Step {
        let replica = self.random.u8(..);
        match self.random.u8(..5) {
            0 | 1 => Step::SendLease {
                replica,
                fate: LeaseFate::Executed,
            },
            2 | 3 => Step::RespondLease { replica },
            _ => Step::Advance {
                ms: self.random.u16(..4000),
            },
        }
    }

    fn lease_fate(&mut self) -> LeaseFate {
        [
            LeaseFate::RequestLost,
            LeaseFate::ResponseLost,
            LeaseFate::Late,
            LeaseFate::Rejected,
        ][self.random.usize(..4)]
    }

    /// A change of a Service, pod, node or Endpoints object.
    fn input(&mut self) -> Step {
        let random = &mut self.random;
        let index = random.u8(..);
        match random.u8(..32) {
            0..=9 => Step::PutPod {
                pod: index,
                ready: random.u8(..4) > 0,
                db: random.u8(..5) == 0,
            },
            10..=12 => Step::DeletePod { pod: index },
            13 => Step::TerminatePod { pod: index },
            14 => Step::RecreatePod { pod: index },
            15..=18 => Step::PutService {
                service: index,
                selects: [Selects::Web, Selects::Web, Selects::Db, Selects::Nothing][random.usize(..4)],
                port: 80 + random.u16(..2),
                label: random.u8(..2),
                dual: random.u8(..4) == 0,
                not_ready: random.u8(..4) == 0,
                hints: match random.u8(..8) {
                    0 | 1 => Hints::Auto,
                    2 => Hints::SameZone,
                    3 => Hints::SameNode,
                    _ => Hints::None,
                },
            },
            19 => Step::DeleteService { service: index },
            20 => Step::RecreateService { service: index },
            21 | 22 => Step::PutNode {
                node: index,
                zone: random.u8(..2),
            },
            23 if random.bool() => Step::DeleteNode { node: index },
            24..=29 => Step::PutEndpoints {
                endpoints: index,
                addresses: random.u8(..),
                not_ready: random.u8(..) & random.u8(..),
                port: 80 + random.u16(..2),
            },
            30 => Step::DeleteEndpoints { endpoints: index },
            _ => Step::RecreateEndpoints { endpoints: index },
        }
    }

    /// A write that arrives, mostly without a fault.
    fn send(&mut self) -> Step {
        Step::Send {
            replica: self.random.u8(..),
            write: self.random.u8(..),
            fate: Fate::Executed {
                reads_late: self.random.bool(),
            },
        }
    }

    fn faulty_send(&mut self, fate: Fate) -> Step {
        Step::Send {
            replica: self.random.u8(..),
            write: self.random.u8(..),
            fate,
        }
    }

    fn fault(&mut self, fault: Fault) -> Step {
        let (replica, stream) = (self.random.u8(..), self.random.u8(..));
        match fault {
            Fault::Relist => Step::Relist { replica, stream },
            Fault::Lost if self.random.bool() => self.faulty_send(Fate::RequestLost),
            Fault::Lost => self.faulty_send(Fate::ResponseLost),
            Fault::Late if self.random.bool() => self.faulty_send(Fate::Late),
            Fault::Late => Step::ExecuteLate {
                request: self.random.u8(..),
            },
            Fault::Reject => {
                let fate = self.rejection();
                self.faulty_send(fate)
            }
            Fault::Proxy404 => self.faulty_send(Fate::NotFoundByProxy),
            Fault::Foreign => Step::Foreign {
                slice: self.random.u8(..),
                edit: self.edit(),
            },
            Fault::Webhook => Step::Webhook {
                rewrite: [
                    None,
                    Some(Rewrite::ServiceName),
                    Some(Rewrite::StripServiceName),
                    Some(Rewrite::ManagedBy),
                ][self.random.usize(..4)],
            },
            Fault::Hold if self.random.bool() => Step::Hold { replica, stream },
            Fault::Hold => Step::Release { replica, stream },
            Fault::Restore => match self.random.u8(..4) {
                0 => Step::Restore,
                1 => Step::Copy,
                _ => self.step_without_faults(),
            },
            Fault::FailedList => Step::FailList {
                replica,
                stream,
                objects: self.random.u8(..6),
            },
            Fault::Undecodable if self.random.u8(..4) == 0 => Step::Repair,
            Fault::Undecodable => Step::Corrupt {
                resource: self.random.u8(..),
                object: self.random.u8(..),
            },
            Fault::Overload => Step::Overload {
                overload: self.random.bool().then(|| Overload {
                    retry_after: self.random.u8(..4),
                }),
            },
            Fault::WrongList if self.random.bool() => Step::WrongList { replica, stream },
            Fault::WrongList => Step::Run {
                ms: self.random.u32(..40_000),
            },
            Fault::Finalizer | Fault::Terminating | Fault::Namespace => self.deletion_or_namespace_fault(fault),
            Fault::Crash if self.random.bool() => Step::Crash { replica },
            Fault::Crash => self.step_without_faults(),
            Fault::Lease | Fault::Freeze | Fault::Suspend | Fault::Stop => self.replica_fault(fault),
        }
    }

    /// A fault of leader election, of a process or of a machine.
    fn replica_fault(&mut self, fault: Fault) -> Step {
        let (replica, ms) = (self.random.u8(..), self.random.u16(..20_000));
        match fault {
            Fault::Lease if self.replicas > 1 => Step::SendLease {
                replica,
                fate: self.lease_fate(),
            },
            Fault::Freeze => Step::Freeze { replica, ms },
            Fault::Suspend => Step::Suspend { replica, ms },
            Fault::Stop if self.random.bool() => Step::Stop {
                replica,
                fate: if self.random.bool() {
                    LeaseFate::Executed
                } else {
                    self.lease_fate()
                },
                pause_ms: ms / 4,
            },
            _ => self.step_without_faults(),
        }
    }

    fn rejection(&mut self) -> Fate {
        let seconds = [self.random.u64(..4), self.random.u64(..4)];
        let (code, retry_after) = [
            (403, None),
            (422, None),
            (429, Some(seconds[0])),
            (500, None),
            (503, Some(seconds[1])),
        ][self.random.usize(..5)];
        Fate::Rejected { code, retry_after }
    }

    /// A fault of slices that are deleted, or of a namespace.
    fn deletion_or_namespace_fault(&mut self, fault: Fault) -> Step {
        match fault {
            Fault::Finalizer => Step::Foreign {
                slice: self.random.u8(..),
                edit: [
                    Edit::AddFinalizer,
                    Edit::AddFinalizer,
                    Edit::Delete,
                    Edit::RemoveFinalizers,
                ][self.random.usize(..4)],
            },
            Fault::Terminating if self.random.u8(..3) == 0 => Step::Terminate {
                namespace: self.random.u8(..),
            },
            Fault::Terminating => Step::Purge {
                namespace: self.random.u8(..),
                first: self.random.u8(..),
                count: [1, 3, u8::MAX][self.random.usize(..3)],
            },
            _ => Step::FailNamespace {
                namespace: self.random.u8(..),
                fault: [None, Some(NamespaceFault::Denied), Some(NamespaceFault::Hangs)][self.random.usize(..3)],
            },
        }
    }

    fn step_without_faults(&mut self) -> Step {
        let faults = std::mem::take(&mut self.faults);
        let step = self.step();
        self.faults = faults;
        step
    }

    fn edit(&mut self) -> Edit {
        match self.random.u8(..16) {
            0..=4 => Edit::Delete,
            5 | 6 => Edit::Recreate,
            7 | 8 => Edit::RemoveEndpoint,
            9 => Edit::Duplicate(self.random.u8(..2)),
            10 => Edit::ServiceName { db: self.random.bool() },
            11 => Edit::ManagedBy,
            12 => Edit::Owner,
            13 | 14 => Edit::Label,
            _ => Edit::Annotation,
        }
    }
}
