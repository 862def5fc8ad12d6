//! Schedules: the steps of a play.

mod generate;

use std::fmt;

use crate::server::{NamespaceFault, Overload, Rewrite};

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
    /// Crash and restart of a replica.
    Crash,
    /// The server is restored from an older copy, so that resourceVersions go back.
    Restore,
    /// Lists that fail before they are complete.
    FailedList,
    /// Objects that cannot be decoded.
    Undecodable,
    /// An API server that rejects all requests for a while.
    Overload,
    /// Slices that finalizers keep.
    Finalizer,
    /// Namespaces that are terminating, and created again.
    Terminating,
    /// One namespace in which writes are denied or hang.
    Namespace,
    /// Lists of an API server with a wrong view, which lack all objects.
    WrongList,
    /// Requests about the lease of leader election that are lost, late or rejected.
    Lease,
    /// Processes that do nothing for a while.
    Freeze,
    /// Machines that are suspended: `Instant` stands still meanwhile, the clock of leases goes on.
    Suspend,
    /// SIGTERM and restart of a replica.
    Stop,
}

impl Fault {
    /// All classes.
    pub(crate) const ALL: [Self; 21] = [
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
        Self::FailedList,
        Self::Undecodable,
        Self::Overload,
        Self::Finalizer,
        Self::Terminating,
        Self::Namespace,
        Self::WrongList,
        Self::Lease,
        Self::Freeze,
        Self::Suspend,
        Self::Stop,
    ];
}

/// The fixed parameters of a play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Which controllers run.
    pub(crate) controllers: Controllers,
    /// The number of replicas of each controller; with several, they elect a leader.
    pub(crate) replicas: u8,
    /// Maximum endpoints per slice of the controller of Services.
    pub(crate) max_endpoints: usize,
    pub(crate) batch_period_ms: u64,
    pub(crate) concurrency: usize,
    /// Whether the play starts with complete lists.
    pub(crate) listed: bool,
    /// The number of namespaces.
    pub(crate) namespaces: usize,
    /// Up to this number, a relist removes endpoints without confirmation.
    pub(crate) unconfirmed_removals: usize,
}

impl Setup {
    /// For what is the same in all plays.
    pub(crate) const DEFAULT: Self = Self {
        controllers: Controllers::Both,
        replicas: 1,
        max_endpoints: 100,
        batch_period_ms: 0,
        concurrency: 5,
        listed: true,
        namespaces: 1,
        unconfirmed_removals: 100,
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
        hints: Hints,
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
        replica: u8,
        stream: u8,
        events: u8,
    },
    /// A stream starts a list.
    Relist {
        replica: u8,
        stream: u8,
    },
    /// A stream starts a list, which fails after some objects.
    FailList {
        replica: u8,
        stream: u8,
        objects: u8,
    },
    /// A stream lists, and receives no objects. Only if that must not be believed.
    WrongList {
        replica: u8,
        stream: u8,
    },
    Hold {
        replica: u8,
        stream: u8,
    },
    Release {
        replica: u8,
        stream: u8,
    },
    /// Syncs due keys.
    Process {
        replica: u8,
    },
    /// A write arrives at the server.
    Send {
        replica: u8,
        write: u8,
        fate: Fate,
    },
    /// A response arrives at the engine.
    Respond {
        replica: u8,
        write: u8,
    },
    /// The candidate of a replica sends its next request about the lease, if one is due.
    SendLease {
        replica: u8,
        fate: LeaseFate,
    },
    /// The response about the lease arrives.
    RespondLease {
        replica: u8,
    },
    /// The process of a replica does nothing for a while.
    Freeze {
        replica: u8,
        ms: u16,
    },
    /// The machine of a replica is suspended for a while.
    Suspend {
        replica: u8,
        ms: u16,
    },
    /// A replica gets SIGTERM, releases its lease and is started again after a pause.
    Stop {
        replica: u8,
        fate: LeaseFate,
        pause_ms: u16,
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
    /// An object gets a version that cannot be decoded.
    Corrupt {
        resource: u8,
        object: u8,
    },
    /// All objects can be decoded again.
    Repair,
    /// The server rejects all requests; none if it no longer does.
    Overload {
        overload: Option<Overload>,
    },
    /// A namespace is deleted.
    Terminate {
        namespace: u8,
    },
    /// Some objects of a terminating namespace are deleted; the namespace too, if it has no more.
    Purge {
        namespace: u8,
        first: u8,
        count: u8,
    },
    /// Writes fail in a namespace; none if they no longer do.
    FailNamespace {
        namespace: u8,
        fault: Option<NamespaceFault>,
    },
    Crash {
        replica: u8,
    },
    /// A copy of the server is made.
    Copy,
    /// The server is restored from the copy.
    Restore,
    Resync {
        replica: u8,
    },
    Advance {
        ms: u16,
    },
    /// Everything works for a while, except for held streams, the webhook, an overloaded server and a namespace in which writes fail.
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

/// How a Service asks for hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hints {
    None,
    /// The annotation for topology.
    Auto,
    SameZone,
    SameNode,
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

impl Fate {
    /// The fate of a request that an overloaded server receives.
    pub(crate) fn rejected_by(self, overload: Overload) -> Self {
        match self {
            Self::RequestLost | Self::NotFoundByProxy => self,
            _ => Self::Rejected {
                code: 429,
                retry_after: Some(overload.retry_after.into()),
            },
        }
    }
}

/// What happens to a request about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseFate {
    Executed,
    RequestLost,
    ResponseLost,
    /// Executed after the client gave up, by [`Step::ExecuteLate`].
    Late,
    Rejected,
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
    AddFinalizer,
    RemoveFinalizers,
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
