//! The engines of both controllers behind one interface.

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::{Endpoints, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use mirroring::controller::MirroringController;
use service_slices::controller::ServiceController;
use slice_controller::{Controller, Decoded, Key, ObjectRef};
use slice_runtime::simulation::{NextWrites, Plan, Response, SimulatedEngine, SimulatedEvent, SimulationConfig};

use crate::{
    object::{Object, Resource},
    replica::Job,
    schedule::Setup,
};

/// A watch of an engine.
#[derive(Clone, Debug)]
pub(crate) struct WatchDef {
    pub(crate) resource: Resource,
    /// The managed-by value of the slices that the watch selects.
    pub(crate) managed_by: Option<&'static str>,
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    NewEpoch,
    Init,
    Apply(Object),
    Delete(ObjectRef),
    InitDone(u64),
    InitFailed,
    Undecodable(ObjectRef),
    /// With the `Retry-After`.
    Overloaded(Option<Duration>),
    /// With the number of the term.
    CaughtUp(u64),
}

/// The engine under test, or a broken one in the tests of the checks.
pub(crate) trait Engine {
    /// Handles an event of a watch, by its index in the watches of the controller; the last one is that of its own slices.
    fn handle(&mut self, watch: usize, event: Event, now: Instant);
    fn process_due(&mut self, now: Instant, time: Timestamp) -> Vec<Plan>;
    fn on_response(&mut self, job: &Job, write: usize, response: Response, now: Instant) -> NextWrites;
    fn on_writes_done(&mut self, key: &Key, now: Instant);
    fn resync(&mut self, now: Instant);
    /// Takes the requests for lists that confirm another one, as indexes of watches and delays.
    fn take_confirmations(&mut self) -> Vec<(usize, Duration)>;
    fn next_deadline(&self, now: Instant) -> Option<Instant>;
    fn queue_len(&self) -> usize;
    fn is_queued(&self, key: &Key) -> bool;
    /// The keys that are due and wait for a slot.
    fn waiting_keys(&self, now: Instant) -> Vec<Key>;
    fn term(&self) -> Option<u64>;
    fn set_term(&mut self, term: Option<u64>, now: Instant);
    /// Whether keys may be synced.
    fn may_sync(&self) -> bool;
}

/// Which controller an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Services,
    Mirroring,
}

impl Role {
    pub(crate) fn managed_by(self) -> &'static str {
        match self {
            Self::Services => service_slices::MANAGED_BY,
            Self::Mirroring => mirroring::MANAGED_BY,
        }
    }

    /// The watches of the controller, then that of its slices.
    pub(crate) fn watches(self) -> Vec<WatchDef> {
        let own = WatchDef {
            resource: Resource::Slices,
            managed_by: Some(self.managed_by()),
        };
        let inputs = match self {
            Self::Services => definitions(&services_controller(&Setup::DEFAULT)),
            Self::Mirroring => definitions(&mirroring_controller()),
        };
        inputs.into_iter().chain([own]).collect()
    }

    /// Maximum endpoints per slice (I3).
    pub(crate) fn max_endpoints(self, setup: &Setup) -> usize {
        match self {
            Self::Services => setup.max_endpoints,
            Self::Mirroring => 1000,
        }
    }

    pub(crate) fn start(self, setup: &Setup) -> Box<dyn Engine> {
        let config = SimulationConfig {
            managed_by: self.managed_by(),
            concurrency: NonZeroUsize::new(setup.concurrency).unwrap_or(NonZeroUsize::MIN),
            foreign_change_delay: match self {
                Self::Services => Duration::from_secs(1),
                Self::Mirroring => Duration::ZERO,
            },
            unconfirmed_removals: setup.unconfirmed_removals,
            seed: 0,
        };
        match self {
            Self::Services => Box::new(Played {
                engine: SimulatedEngine::new(services_controller(setup), &config),
                watches: 3,
                input: services_input,
            }),
            Self::Mirroring => Box::new(Played {
                engine: SimulatedEngine::new(mirroring_controller(), &config),
                watches: 3,
                input: mirroring_input,
            }),
        }
    }
}

fn definitions<C: Controller>(controller: &C) -> Vec<WatchDef> {
    let specs = controller.watches();
    let definition = |resource| WatchDef {
        resource,
        // The only selector in use.
        managed_by: (resource == Resource::Slices).then_some(service_slices::MANAGED_BY),
    };
    specs
        .iter()
        .filter_map(|spec| Resource::named(spec.resource).map(definition))
        .collect()
}

fn services_controller(setup: &Setup) -> ServiceController {
    ServiceController::new(service_slices::controller::Config {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        max_endpoints_per_slice: NonZeroUsize::new(setup.max_endpoints).unwrap_or(NonZeroUsize::MIN),
        batch_period: Duration::from_millis(setup.batch_period_ms),
        service_selector: String::new(),
    })
}

fn mirroring_controller() -> MirroringController {
    MirroringController::new(mirroring::controller::Config {
        managed_by: mirroring::MANAGED_BY.to_owned(),
        max_endpoints_per_subset: NonZeroUsize::new(1000).unwrap_or(NonZeroUsize::MIN),
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    })
}

fn services_input(object: &Object) -> service_slices::controller::Input {
    use service_slices::controller::Input;
    match object {
        Object::Pod(pod) => Input::Pod(Box::new(Pod::clone(pod))),
        Object::Service(service) => Input::Service(Box::new(Service::clone(service))),
        Object::Node(node) => Input::Node(Box::new(Node::clone(node))),
        Object::Endpoints(_) | Object::Slice(_) => unreachable!("no watch of this resource"),
    }
}

fn mirroring_input(object: &Object) -> mirroring::controller::Input {
    use mirroring::controller::Input;
    match object {
        Object::Endpoints(endpoints) => Input::Endpoints(Box::new(Endpoints::clone(endpoints))),
        Object::Service(service) => Input::Service(Box::new(Service::clone(service))),
        Object::Slice(slice) => Input::PodSlice(Box::new(ObjectMeta::clone(&slice.metadata))),
        Object::Pod(_) | Object::Node(_) => unreachable!("no watch of this resource"),
    }
}

/// The engine of the runtime.
struct Played<C: Controller> {
    engine: SimulatedEngine<C>,
    /// The number of watches of the controller.
    watches: usize,
    input: fn(&Object) -> C::Object,
}

impl<C: Controller> Engine for Played<C> {
    fn handle(&mut self, watch: usize, event: Event, now: Instant) {
        if watch < self.watches {
            let event = simulated(event, self.input);
            self.engine.handle_event(watch, event, now);
        } else {
            let event = simulated(event, |object| match object {
                Object::Slice(slice) => EndpointSlice::clone(slice),
                _ => unreachable!("the watch of slices"),
            });
            self.engine.handle_slice_event(event, now);
        }
    }

    fn process_due(&mut self, now: Instant, time: Timestamp) -> Vec<Plan> {
        self.engine.process_due(now, time)
    }

    fn on_response(&mut self, job: &Job, write: usize, response: Response, now: Instant) -> NextWrites {
        let operation = job.operation(write);
        self.engine
            .on_response((&job.key, job.probe), (write, operation), response, now)
    }

    fn on_writes_done(&mut self, key: &Key, now: Instant) {
        self.engine.on_writes_done(key, now);
    }

    fn resync(&mut self, now: Instant) {
        self.engine.resync(now);
    }

    fn take_confirmations(&mut self) -> Vec<(usize, Duration)> {
        self.engine.take_confirmations()
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.engine.next_deadline(now)
    }

    fn queue_len(&self) -> usize {
        self.engine.queue_len()
    }

    fn is_queued(&self, key: &Key) -> bool {
        self.engine.is_queued(key)
    }

    fn waiting_keys(&self, now: Instant) -> Vec<Key> {
        self.engine.waiting_keys(now)
    }

    fn term(&self) -> Option<u64> {
        self.engine.term()
    }

    fn set_term(&mut self, term: Option<u64>, now: Instant) {
        self.engine.set_term(term, now);
    }

    fn may_sync(&self) -> bool {
        self.engine.may_sync()
    }
}

fn simulated<O>(event: Event, input: impl Fn(&Object) -> O) -> SimulatedEvent<O> {
    match event {
        Event::NewEpoch => SimulatedEvent::NewEpoch,
        Event::Init => SimulatedEvent::Init,
        Event::Apply(object) => SimulatedEvent::Apply(Decoded {
            object_ref: object.object_ref(),
            object: input(&object),
        }),
        Event::Delete(object) => SimulatedEvent::Delete(object),
        Event::InitDone(version) => SimulatedEvent::InitDone(version),
        Event::InitFailed => SimulatedEvent::InitFailed,
        Event::Undecodable(object) => SimulatedEvent::Undecodable(object),
        Event::Overloaded(retry_after) => SimulatedEvent::Overloaded(retry_after),
        Event::CaughtUp(term) => SimulatedEvent::CaughtUp(term),
    }
}
