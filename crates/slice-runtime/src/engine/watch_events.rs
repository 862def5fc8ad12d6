//! Watch events: what the reflectors emit is applied to the controller, the known objects and the slice cache.

use std::time::{Duration, Instant};

use k8s_openapi::{api::discovery::v1::EndpointSlice, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{Controller, Enqueued, Key};

use super::{Engine, foreign_changes::log_change, removal_confirmation::CONFIRMATION_DELAY};
use crate::{
    slice_cache::{SliceCache, decode},
    watch::{ConfirmationRequest, WatchEvent},
};

impl<C: Controller> Engine<C> {
    /// Handles an event of a watch of the controller, given by its index, and enqueues the keys that the event concerns.
    pub(crate) fn handle_event(&mut self, index: usize, event: WatchEvent<C::Object>, now: Instant) {
        let Self {
            controller, context, ..
        } = self;
        let watch = &mut self.watches[index];
        let mut keys = Vec::new();
        match event {
            // Versions of inputs are not kept.
            WatchEvent::NewEpoch => {}
            WatchEvent::Init => watch.relist.start(now),
            WatchEvent::Apply(decoded) => {
                watch.known.insert(&decoded.object_ref, context.interner());
                if let Some(listed) = watch.relist.listed_mut() {
                    listed.insert(&decoded.object_ref, context.interner());
                }
                controller.apply(decoded.object, context);
            }
            WatchEvent::Undecodable(object) => {
                if let Some(listed) = watch.relist.listed_mut() {
                    listed.insert(&object, context.interner());
                }
            }
            WatchEvent::Delete(object) => {
                watch.known.remove(&object);
                if let Some(listed) = watch.relist.listed_mut() {
                    listed.remove(&object);
                }
                controller.delete(watch.id, &object, context);
            }
            WatchEvent::InitDone { .. } => keys = self.complete_list(index, now),
            WatchEvent::InitFailed => keys = watch.relist.fail(),
            WatchEvent::Absent => keys = watch.relist.abandon(),
            WatchEvent::CaughtUp { term } => watch.caught_up = term,
            WatchEvent::Overloaded { retry_after } => return self.on_overload(retry_after, now),
        }
        keys.extend(self.context.take_enqueued());
        let keys = self.watches[index].relist.defer(keys);
        self.enqueue(keys, now);
    }

    /// Completes a list: deletes the objects that it lacks, unless that has to be confirmed. Returns the deferred keys.
    fn complete_list(&mut self, index: usize, now: Instant) -> Vec<Enqueued> {
        let total = || endpoint_count(&self.slices);
        let watch = &mut self.watches[index];
        let Some(list) = watch.relist.finish() else {
            return Vec::new();
        };
        let missing = watch.known.missing_from(&list.listed);
        // Before the list of our slices is complete, the number of endpoints is unknown.
        if list.is_relist && self.slice_relist.is_synced() {
            let (removed, total) = (self.controller.endpoints_affected(watch.id, &missing), total());
            if !watch.removal_confirmation.allows(removed, total, list.started_at, now) {
                let message = format!(
                    "a relist lacks {} objects, which would remove {removed} of {total} endpoints",
                    missing.len()
                );
                tracing::warn!(message, retry_in = ?CONFIRMATION_DELAY, "waiting for a second list before deleting objects");
                self.metrics.relist_unconfirmed();
                let delay = CONFIRMATION_DELAY;
                self.confirmations.push((index, ConfirmationRequest { delay, message }));
                return list.deferred;
            }
        }
        for object in missing {
            watch.known.remove(&object);
            self.controller.delete(watch.id, &object, &mut self.context);
        }
        list.deferred
    }

    /// Takes the requests for lists that confirm another one, by the index of their watch.
    pub(crate) fn take_confirmations(&mut self) -> Vec<(usize, ConfirmationRequest)> {
        std::mem::take(&mut self.confirmations)
    }

    /// Handles an event of the watch of our slices, and enqueues the keys of slices that another writer changed.
    pub(crate) fn handle_slice_event(&mut self, event: WatchEvent<EndpointSlice>, now: Instant) {
        // During the initial lists no delay is needed: no key is synced before they are complete.
        let delay = if self.is_synced() {
            self.config.foreign_change_delay
        } else {
            Duration::ZERO
        };
        if let (Some(version), false) = (event.resource_version(), self.slice_relist.is_listing()) {
            self.slices.observe_version(version);
        }
        let mut keys = Vec::new();
        let changed = match event {
            WatchEvent::NewEpoch => {
                self.slices.start_epoch();
                Vec::new()
            }
            WatchEvent::Init => {
                // The reflector compares versions with those of complete lists only: what a list before the first complete one
                // left may be of another epoch.
                if !self.slice_relist.is_synced() {
                    self.slices.start_epoch();
                }
                self.slice_relist.start(now);
                self.slices.begin_list();
                Vec::new()
            }
            WatchEvent::Undecodable(object) => {
                if let Some(listed) = self.slice_relist.listed_mut() {
                    listed.insert(object.uid.clone().into());
                }
                self.slices.apply_undecodable(None, &object, now).into_iter().collect()
            }
            WatchEvent::Apply(decoded) => {
                if let Some(listed) = self.slice_relist.listed_mut() {
                    listed.insert(decoded.object_ref.uid.into());
                }
                let slice = decode(&decoded.object, self.context.interner());
                let changed = self.slices.apply(self.controller.key_of(&slice.metadata), slice, now);
                self.report_foreign_change(&changed, &decoded.object.metadata, now);
                changed
            }
            WatchEvent::Delete(object) => self.slices.remove(&object.uid).into_iter().collect(),
            WatchEvent::InitDone { version } => {
                let list = self.slice_relist.finish();
                list.map_or_else(Vec::new, |list| {
                    keys = list.deferred;
                    let changed = self.slices.replace(&list.listed, &version);
                    // A restored server may lack what an earlier result ended, such as a terminating namespace (F14).
                    if std::mem::replace(&mut self.resynced_epoch, self.slices.epoch()) != self.slices.epoch() {
                        keys.extend(self.resync_keys());
                    }
                    changed
                })
            }
            WatchEvent::InitFailed => {
                keys = self.slice_relist.fail();
                Vec::new()
            }
            WatchEvent::CaughtUp { term } => {
                self.slices_caught_up = term;
                Vec::new()
            }
            WatchEvent::Absent => unreachable!("the watch of our slices is not optional"),
            WatchEvent::Overloaded { retry_after } => return self.on_overload(retry_after, now),
        };
        keys.extend(changed.into_iter().map(|key| Enqueued::after(key, delay)));
        let keys = self.slice_relist.defer(keys);
        self.enqueue(keys, now);
    }

    /// Reports a slice that appeared at a version which none of our responses had. Not while its key fails: the response to
    /// our own write may have been lost.
    fn report_foreign_change(&mut self, changed: &[Key], slice: &ObjectMeta, now: Instant) {
        // A dry run is beside the controller that writes.
        if self.config.dry_run {
            return;
        }
        let is_failing = |key| self.queue.failures(key) > 0;
        if changed.is_empty() || changed.iter().any(is_failing) || !self.may_sync() || self.slice_relist.is_listing() {
            return;
        }
        self.metrics.foreign_change();
        if let Some(changes) = self.foreign_changes.count(now) {
            log_change(slice, changes);
        }
    }
}

/// The number of endpoints in all cached slices.
fn endpoint_count(slices: &SliceCache) -> usize {
    let slices = slices.keys().flat_map(|key| slices.get(key));
    slices.map(|slice| slice.endpoints.len()).sum()
}
