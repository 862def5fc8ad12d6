//! Schedules: the steps of a play, generated from a seed.

use std::fmt;

use fastrand::Rng;

use crate::server::Rewrite;

/// A class of faults that can be disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Fault {
    /// Relists at any time, also between a write and its response.
    Relist,
    /// Requests and responses that are lost.
    Lost,
    /// Requests that the server executes after the client gave up.
    Late,
    /// Error responses: 403, 422, 429, 500, 503.
    Reject,
    /// 404 of a proxy in response to a write.
    Proxy404,
    /// Other clients edit, delete, relabel and recreate slices.
    Foreign,
    /// A webhook rewrites the labels of slices.
    Webhook,
    /// Watch streams that are held.
    Hold,
    /// Crash and restart of a controller.
    Crash,
    /// The server is restored from an older copy, so that resourceVersions go back.
    Restore,
}

impl Fault {
    /// All classes.
    pub(crate) const ALL: [Self; 10] = [
        Self::Relist,
        Self::Lost,
        Self::Late,
        Self::Reject,
        Self::Proxy404,
        Self::Foreign,
        Self::Webhook,
        Self::Hold,
        Self::Crash,
        Self::Restore,
    ];
}

/// The fixed parameters of a play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Which controllers run.
    pub(crate) controllers: Controllers,
    /// Maximum endpoints per slice of the controller of Services.
    pub(crate) max_endpoints: usize,
    pub(crate) batch_period_ms: u64,
    pub(crate) concurrency: usize,
    /// Whether the play starts with complete lists.
    pub(crate) listed: bool,
}

impl Setup {
    /// For what is the same in all plays.
    pub(crate) const DEFAULT: Self = Self {
        controllers: Controllers::Both,
        max_endpoints: 100,
        batch_period_ms: 0,
        concurrency: 5,
        listed: true,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controllers {
    Services,
    Mirroring,
    Both,
}

/// One step. Indexes are taken modulo the number of candidates; a step without a candidate does nothing, so that any part of a
/// schedule is a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    PutPod {
        pod: u8,
        ready: bool,
        db: bool,
    },
    TerminatePod {
        pod: u8,
    },
    DeletePod {
        pod: u8,
    },
    RecreatePod {
        pod: u8,
    },
    PutService {
        service: u8,
        selects: Selects,
        port: u16,
        label: u8,
        dual: bool,
        not_ready: bool,
    },
    DeleteService {
        service: u8,
    },
    RecreateService {
        service: u8,
    },
    PutNode {
        node: u8,
        zone: u8,
    },
    DeleteNode {
        node: u8,
    },
    PutEndpoints {
        endpoints: u8,
        addresses: u8,
        not_ready: u8,
        port: u16,
    },
    DeleteEndpoints {
        endpoints: u8,
    },
    RecreateEndpoints {
        endpoints: u8,
    },
    /// Deletes the slices whose owner does not exist.
    CollectGarbage,
    /// A stream delivers some events, or a part of its list.
    Deliver {
        controller: u8,
        stream: u8,
        events: u8,
    },
    /// A stream starts a list.
    Relist {
        controller: u8,
        stream: u8,
    },
    Hold {
        controller: u8,
        stream: u8,
    },
    Release {
        controller: u8,
        stream: u8,
    },
    /// Syncs due keys.
    Process {
        controller: u8,
    },
    /// A write arrives at the server.
    Send {
        controller: u8,
        write: u8,
        fate: Fate,
    },
    /// A response arrives at the engine.
    Respond {
        controller: u8,
        write: u8,
    },
    /// The server executes a request that the client gave up.
    ExecuteLate {
        request: u8,
    },
    Foreign {
        slice: u8,
        edit: Edit,
    },
    Webhook {
        rewrite: Option<Rewrite>,
    },
    Crash {
        controller: u8,
    },
    /// A copy of the server is made.
    Copy,
    /// The server is restored from the copy.
    Restore,
    Resync {
        controller: u8,
    },
    Advance {
        ms: u16,
    },
    /// Everything works for a while, except for held streams and the webhook.
    Run {
        ms: u32,
    },
}

/// What selector a Service has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selects {
    Web,
    Db,
    Nothing,
}

/// What happens to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Executed. After a conflict, the live slice is read when the response is due, or at once.
    Executed {
        reads_late: bool,
    },
    RequestLost,
    ResponseLost,
    /// Executed after the client gave up, by [`Step::ExecuteLate`].
    Late,
    Rejected {
        code: u16,
        retry_after: Option<u64>,
    },
    NotFoundByProxy,
}

/// An edit of a slice by another client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Delete,
    Recreate,
    RemoveEndpoint,
    Duplicate(u8),
    ServiceName { db: bool },
    ManagedBy,
    Owner,
    Label,
    Annotation,
}

/// A play: its setup and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<Step>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.setup)?;
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4} {step:?}", index + 1)?;
        }
        Ok(())
    }
}

impl Schedule {
    /// The schedule of a seed.
    #[must_use]
    pub(crate) fn generate(seed: u64, faults: &[Fault]) -> Self {
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
        let setup = Setup {
            controllers: controllers[random.usize(..4)],
            max_endpoints: random.usize(1..5),
            batch_period_ms: random.u64(..2) * 500,
            concurrency: random.usize(1..4),
            listed: random.u8(..4) > 0,
        };
        let length = random.usize(10..120);
        let mut generator = Generator {
            random,
            faults: classes,
        };
        let steps = (0..length).map(|_| generator.step()).collect();
        Self { setup, steps }
    }
}

struct Generator {
    random: Rng,
    faults: Vec<Fault>,
}

impl Generator {
    fn step(&mut self) -> Step {
        let faults = !self.faults.is_empty() && self.random.u8(..5) == 0;
        if faults {
            let fault = self.faults[self.random.usize(..self.faults.len())];
            return self.fault(fault);
        }
        match self.random.u8(..32) {
            0..=6 => self.input(),
            7..=13 => Step::Deliver {
                controller: self.random.u8(..),
                stream: self.random.u8(..),
                events: self.random.u8(1..6),
            },
            14..=18 => Step::Process {
                controller: self.random.u8(..),
            },
            19..=22 => self.send(),
            23..=26 => Step::Respond {
                controller: self.random.u8(..),
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
                controller: self.random.u8(..),
            },
            _ => Step::Run {
                ms: self.random.u32(..20_000),
            },
        }
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
            controller: self.random.u8(..),
            write: self.random.u8(..),
            fate: Fate::Executed {
                reads_late: self.random.bool(),
            },
        }
    }

    fn faulty_send(&mut self, fate: Fate) -> Step {
        Step::Send {
            controller: self.random.u8(..),
            write: self.random.u8(..),
            fate,
        }
    }

    fn fault(&mut self, fault: Fault) -> Step {
        let (controller, stream) = (self.random.u8(..), self.random.u8(..));
        match fault {
            Fault::Relist => Step::Relist { controller, stream },
            Fault::Lost if self.random.bool() => self.faulty_send(Fate::RequestLost),
            Fault::Lost => self.faulty_send(Fate::ResponseLost),
            Fault::Late if self.random.bool() => self.faulty_send(Fate::Late),
            Fault::Late => Step::ExecuteLate {
                request: self.random.u8(..),
            },
            Fault::Reject => {
                let fate = [
                    Fate::Rejected {
                        code: 403,
                        retry_after: None,
                    },
                    Fate::Rejected {
                        code: 422,
                        retry_after: None,
                    },
                    Fate::Rejected {
                        code: 429,
                        retry_after: Some(self.random.u64(..4)),
                    },
                    Fate::Rejected {
                        code: 500,
                        retry_after: None,
                    },
                    Fate::Rejected {
                        code: 503,
                        retry_after: Some(self.random.u64(..4)),
                    },
                ][self.random.usize(..5)];
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
            Fault::Hold if self.random.bool() => Step::Hold { controller, stream },
            Fault::Hold => Step::Release { controller, stream },
            Fault::Restore => match self.random.u8(..4) {
                0 => Step::Restore,
                1 => Step::Copy,
                _ => self.step_without_faults(),
            },
            Fault::Crash if self.random.bool() => Step::Crash { controller },
            Fault::Crash => self.step_without_faults(),
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
