//! Watch events for both controllers: objects are decoded by the watches, applied, synced and deleted.

use std::{collections::BTreeSet, num::NonZeroUsize, time::Duration};

use jiff::Timestamp;
use mirroring::controller::MirroringController;
use service_slices::controller::ServiceController;
use slice_controller::{Controller, EventContext, Key, SyncContext, SyncOutcome, SyncResult};
use slice_core::CompactSlice;
use slice_reconciler::{Operation, Plan, Write};

/// Runs both controllers with these objects. Each object is decoded by every watch, whatever its kind is.
pub(crate) fn check(objects: &[Vec<u8>], existing: &[CompactSlice], max: NonZeroUsize) {
    let service = service_slices::controller::Config {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        max_endpoints_per_slice: max,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    run(ServiceController::new(service), objects, existing);
    let mirroring = mirroring::controller::Config {
        managed_by: mirroring::MANAGED_BY.to_owned(),
        max_endpoints_per_subset: max,
        batch_period: Duration::ZERO,
        service_selector: String::new(),
    };
    run(MirroringController::new(mirroring), objects, existing);
}

fn run<C: Controller>(mut controller: C, objects: &[Vec<u8>], existing: &[CompactSlice]) {
    let watches = controller.watches();
    let mut context = EventContext::default();
    let mut applied = Vec::new();
    for watch in &watches {
        // Undecodable objects are skipped, as in the runtime.
        for decoded in objects.iter().filter_map(|object| watch.decode(object).ok()) {
            applied.push((watch.id, decoded.object_ref));
            controller.apply(decoded.object, &mut context);
        }
    }
    let keys = sync_enqueued(&mut controller, &mut context, existing, |_| {});
    for (watch, object) in &applied {
        controller.delete(*watch, object, &mut context);
    }
    for key in keys {
        context.enqueue(key);
    }
    sync_enqueued(&mut controller, &mut context, existing, |plan| {
        let writes = &plan.writes;
        let deletes = |write: &Write| matches!(write.operation, Operation::Delete(_));
        assert!(
            writes.iter().all(deletes),
            "after all objects are deleted, slices are only deleted: {writes:?}"
        );
    });
}

/// Syncs all enqueued keys as if every write succeeded, and returns the keys.
fn sync_enqueued<C: Controller>(
    controller: &mut C,
    context: &mut EventContext,
    existing: &[CompactSlice],
    check: impl Fn(&Plan),
) -> BTreeSet<Key> {
    controller.before_sync(context);
    let keys: BTreeSet<Key> = context
        .take_enqueued()
        .into_iter()
        .map(|enqueued| enqueued.key)
        .collect();
    for key in &keys {
        let context = SyncContext {
            existing,
            reserved_names: &[],
            now: Timestamp::UNIX_EPOCH,
        };
        // An invalid owner is an error, not a panic.
        if let Ok(SyncResult { plan, .. }) = controller.sync(key, &context) {
            check(&plan);
        }
        controller.on_sync_result(key, &SyncOutcome::default());
    }
    keys
}
