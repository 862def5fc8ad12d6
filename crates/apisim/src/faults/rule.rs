//! The words in which a fault is described.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::request::{ResourceRequest, Verb};

/// Which requests are meant. An empty match means every request for a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    verbs: Vec<Verb>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Match {
    /// Requests of this verb.
    #[must_use]
    pub fn verb(verb: Verb) -> Self {
        Self {
            verbs: vec![verb],
            ..Self::default()
        }
    }

    /// Requests that change something.
    #[must_use]
    pub fn writes() -> Self {
        use Verb::{Create, Delete, DeleteCollection, Patch, Update};
        Self {
            verbs: vec![Create, Update, Patch, Delete, DeleteCollection],
            ..Self::default()
        }
    }

    /// Only on this resource (its plural name).
    #[must_use]
    pub fn resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Only on this part of the objects, such as `status`.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only the object of this name. A create is known by the name in its body.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Whether `request` is meant.
    #[must_use]
    pub fn covers(&self, request: &ResourceRequest) -> bool {
        let wanted =
            |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| found == Some(wanted));
        (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && wanted(&self.resource, Some(&request.resource))
            && wanted(&self.subresource, request.subresource.as_deref())
            && wanted(&self.namespace, request.namespace.as_deref())
            && wanted(&self.name, request.name.as_deref())
    }
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The server is not asked; this is the answer.
    Answer(Answer),
    /// The request reaches the server only after this time.
    Delay(Duration),
    /// The request waits, unseen by the server, until the rule is removed.
    HoldRequest,
    /// The connection ends before the server sees the request.
    DropRequest,
    /// The server carries the request out; the connection ends before its answer.
    DropAnswer,
    /// A watch stream breaks after it has delivered so many events.
    Stream {
        /// Events that still pass.
        after_events: usize,
        /// What happens then.
        then: StreamFault,
    },
}

/// How a watch stream breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The connection ends between two events.
    Cut,
    /// The connection ends in the middle of the next event.
    CutMidEvent,
    /// Nothing more comes until the rule is removed; then everything does.
    Hold,
    /// Everything more is swallowed, and the connection never ends: what a lost peer looks like.
    HalfOpen,
}

/// An answer in place of the server's.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// `reason` of the `Status` body; by default the one that belongs to the HTTP status.
    pub reason: Option<String>,
    /// `message` of the `Status` body.
    pub message: String,
    /// Extra headers, such as `Retry-After`.
    pub headers: HeaderMap,
    /// How long the answer takes.
    pub delay: Duration,
}

impl Answer {
    /// An answer with this HTTP status.
    ///
    /// # Panics
    /// When `status` is not a number between 100 and 999.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("an HTTP status lies between 100 and 999"),
            reason: None,
            message: format!("injected fault: {status}"),
            headers: HeaderMap::new(),
            delay: Duration::ZERO,
        }
    }

    /// With this `reason` in the `Status` body.
    #[must_use]
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }

    /// With this `message` in the `Status` body.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    /// With this header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// After this time.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl From<u16> for Answer {
    fn from(status: u16) -> Self {
        Self::status(status)
    }
}

/// Which requests meet which fault, from which match on and how often.
///
/// Rules are asked in the order in which they were added; the first that fires decides. A rule counts every request that
/// it covers, also those that an earlier rule took.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) matches: Match,
    pub(super) nth: usize,
    pub(super) times: Option<usize>,
    pub(super) fault: Fault,
}

impl Rule {
    /// Begins a rule for requests of `verb` on `resource`.
    pub fn on(verb: Verb, resource: &str) -> RuleBuilder {
        Self::when(Match::verb(verb).resource(resource))
    }

    /// Begins a rule for the requests that `matches` covers.
    pub fn when(matches: Match) -> RuleBuilder {
        RuleBuilder {
            matches,
            nth: 1,
            times: None,
        }
    }
}

/// A [`Rule`] that does not yet say what goes wrong.
#[derive(Clone, Debug)]
#[must_use = "a rule needs a fault"]
pub struct RuleBuilder {
    matches: Match,
    nth: usize,
    times: Option<usize>,
}

impl RuleBuilder {
    /// Only in this namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.matches = self.matches.namespace(namespace);
        self
    }

    /// Only the object of this name.
    pub fn name(mut self, name: &str) -> Self {
        self.matches = self.matches.name(name);
        self
    }

    /// From the n-th match on (the first is 1).
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth;
        self
    }

    /// At most so often; without it, until the rule is removed.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Answer in place of the server.
    pub fn answer(self, answer: impl Into<Answer>) -> Rule {
        self.fault(Fault::Answer(answer.into()))
    }

    /// Let the request through only after `delay`.
    pub fn delay(self, delay: Duration) -> Rule {
        self.fault(Fault::Delay(delay))
    }

    /// Keep the request from the server until the rule is removed.
    pub fn hold_request(self) -> Rule {
        self.fault(Fault::HoldRequest)
    }

    /// End the connection before the server sees the request.
    pub fn drop_request(self) -> Rule {
        self.fault(Fault::DropRequest)
    }

    /// Let the server carry the request out and lose its answer.
    pub fn drop_answer(self) -> Rule {
        self.fault(Fault::DropAnswer)
    }

    /// Break a watch stream, also one that is open already.
    pub fn stream(self, then: StreamFault) -> Rule {
        self.stream_after(0, then)
    }

    /// Break a watch stream once `events` more have passed, also one that is open already.
    pub fn stream_after(self, events: usize, then: StreamFault) -> Rule {
        self.fault(Fault::Stream {
            after_events: events,
            then,
        })
    }

    fn fault(self, fault: Fault) -> Rule {
        Rule {
            matches: self.matches,
            nth: self.nth,
            times: self.times,
            fault,
        }
    }
}
