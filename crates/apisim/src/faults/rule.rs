//! Rules: which requests get which fault.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::request::{ResourceRequest, Verb};

/// A filter for requests. The default matches every resource request.
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

    /// Write requests.
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

    /// Only on this subresource, such as `status`.
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

    /// Only the object of this name. For a create, this is the name in the body.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Whether `request` matches.
    #[must_use]
    pub fn covers(&self, request: &ResourceRequest) -> bool {
        let matches =
            |filter: &Option<String>, value: Option<&str>| filter.as_deref().is_none_or(|filter| value == Some(filter));
        (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && matches(&self.resource, Some(&request.resource))
            && matches(&self.subresource, request.subresource.as_deref())
            && matches(&self.namespace, request.namespace.as_deref())
            && matches(&self.name, request.name.as_deref())
    }
}

/// A fault.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The request does not reach the server; the client gets this response.
    Answer(Answer),
    /// The request reaches the server after this delay.
    Delay(Duration),
    /// The request does not reach the server until the rule is removed.
    HoldRequest,
    /// The connection closes before the request reaches the server.
    DropRequest,
    /// The server executes the request; the connection closes before the response.
    DropAnswer,
    /// The server executes the request; the response is held until the rule is removed.
    HoldAnswer,
    /// A watch stream fails after a number of events.
    Stream {
        /// Number of events that are still delivered.
        after_events: usize,
        /// The fault after these events.
        then: StreamFault,
    },
}

/// A fault of a watch stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The connection closes between two events.
    Cut,
    /// The connection closes in the middle of the next event.
    CutMidEvent,
    /// Events are held until the rule is removed and then delivered.
    Hold,
    /// Events are discarded and the connection stays open, as after the loss of the peer.
    HalfOpen,
}

/// A response instead of that of the server.
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
    /// The delay of the response.
    pub delay: Duration,
}

impl Answer {
    /// A response with this HTTP status.
    ///
    /// # Panics
    /// When `status` is not between 100 and 999.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("an HTTP status is between 100 and 999"),
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

/// A fault for the requests of a [`Match`], from the n-th match on and at most so many times.
///
/// Rules are evaluated in the order of [`Faults::add`](super::Faults::add); the first active one applies. A rule counts every
/// request that it covers, including those to which an earlier rule applies.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) matches: Match,
    pub(super) nth: usize,
    pub(super) times: Option<usize>,
    pub(super) fault: Fault,
}

impl Rule {
    /// Starts a rule for requests with `verb` on `resource`.
    pub fn on(verb: Verb, resource: &str) -> RuleBuilder {
        Self::when(Match::verb(verb).resource(resource))
    }

    /// Starts a rule for the requests that `matches` covers.
    pub fn when(matches: Match) -> RuleBuilder {
        RuleBuilder {
            matches,
            nth: 1,
            times: None,
        }
    }
}

/// A [`Rule`] without a fault.
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

    /// Starts at the n-th match (the first is 1).
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth;
        self
    }

    /// Applies at most this many times. The default is no limit.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Respond instead of the server.
    pub fn answer(self, answer: impl Into<Answer>) -> Rule {
        self.fault(Fault::Answer(answer.into()))
    }

    /// Forward the request after `delay`.
    pub fn delay(self, delay: Duration) -> Rule {
        self.fault(Fault::Delay(delay))
    }

    /// Hold the request until the rule is removed.
    pub fn hold_request(self) -> Rule {
        self.fault(Fault::HoldRequest)
    }

    /// Close the connection before the request reaches the server.
    pub fn drop_request(self) -> Rule {
        self.fault(Fault::DropRequest)
    }

    /// Forward the request and drop the response.
    pub fn drop_answer(self) -> Rule {
        self.fault(Fault::DropAnswer)
    }

    /// Forward the request and hold the response until the rule is removed.
    pub fn hold_answer(self) -> Rule {
        self.fault(Fault::HoldAnswer)
    }

    /// Inject a fault into watch streams, including open ones.
    pub fn stream(self, then: StreamFault) -> Rule {
        self.stream_after(0, then)
    }

    /// Inject a fault into watch streams after `events` more events, including open ones.
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
