//! Objects as a watch sends them, in the hands of the controllers: read by their own decoders, observed, decided about, and
//! gone again.

use std::{num::NonZeroUsize, time::Duration};

use jiff::Timestamp;
use mirroring::controller::MirroringController;
use service_slices::controller::ServiceController;
use slice_controller::{Change, Controller, Outcome, SyncContext, Wakes};
use slice_core::Slice;

/// Both controllers, each from its first object to its last. Every object is taken for whatever a controller watches.
pub(crate) fn check(objects: &[Vec<u8>], existing: &[Slice], max: NonZeroUsize) {
    let service = service_slices::controller::Config {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        max_endpoints_per_slice: max,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    live(ServiceController::new(service), objects, existing);
    let mirroring = mirroring::controller::Config {
        managed_by: mirroring::MANAGED_BY.to_owned(),
        max_endpoints_per_subset: max,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    live(MirroringController::new(mirroring), objects, existing);
}

fn live<C: Controller>(mut controller: C, objects: &[Vec<u8>], existing: &[Slice]) {
    let sources = controller.sources();
    let mut wakes = Wakes::default();
    for source in &sources {
        // What cannot be read is not observed: the runtime skips it, too.
        for seen in objects.iter().filter_map(|object| (source.decode)(object).ok()) {
            controller.observe(Change::Applied(seen.object), &mut wakes);
        }
    }
    look(&mut controller, wakes, existing);
    let mut wakes = Wakes::default();
    for source in &sources {
        let kind = source.kind;
        for identity in controller.held(kind) {
            controller.observe(Change::Deleted { kind, identity }, &mut wakes);
        }
        assert_eq!(controller.held(kind), [], "what is gone is not held");
    }
    look(&mut controller, wakes, existing);
}

/// Decides about all keys that were woken, as if every write succeeded.
fn look<C: Controller>(controller: &mut C, mut wakes: Wakes, existing: &[Slice]) {
    controller.settle(&mut wakes);
    for (key, _) in wakes.drain() {
        let context = SyncContext {
            existing,
            taken: &[],
            now: Timestamp::UNIX_EPOCH,
        };
        // That an owner cannot be planned for is an answer.
        let _ = controller.sync(&key, &context);
        controller.finished(&key, &Outcome::default());
    }
}
