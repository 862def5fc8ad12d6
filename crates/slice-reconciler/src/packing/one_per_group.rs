//! One slice per group, and no more endpoints than fit (M78–M86).

use slice_core::{EndpointRef, Slice};

use super::{NewSlice, Packed, keep::Kept};
use crate::{Group, MetadataPolicy, TriggerTime};

pub(super) fn pack<'a>(
    existing: &[&'a Slice],
    mut group: Group<'a>,
    cap: usize,
    policy: &MetadataPolicy,
    trigger_time: &TriggerTime,
) -> Packed<'a> {
    let mut packed = Packed::default();
    if group.endpoints.is_empty() {
        packed.changes.removed = existing.iter().map(|slice| slice.endpoints.len()).sum();
        packed.delete.extend(existing);
        return packed;
    }
    let Some((slice, duplicates)) = existing.split_first() else {
        let mut endpoints = group.endpoints.into_sorted();
        endpoints.truncate(cap);
        packed.changes.added = endpoints.len();
        packed.create.push(NewSlice {
            ports: group.ports,
            endpoints,
        });
        return packed;
    };
    packed.delete.extend(duplicates);
    let mut kept = Kept::default();
    kept.look_at(slice, &mut group.endpoints);
    packed.changes.removed = kept.dropped;
    packed.changes.changed = kept.changed;
    let room = cap.saturating_sub(kept.len());
    packed.changes.added = group.endpoints.len().min(room);
    let is_intact = kept.is_intact() && kept.len() <= cap;
    if is_intact && packed.changes.added == 0 && !policy.differs(&slice.metadata, trigger_time) {
        packed.unchanged.push(slice);
        return packed;
    }
    let mut to = Slice {
        metadata: slice.metadata.clone(),
        address_type: slice.address_type.clone(),
        ports: slice.ports.clone(),
        endpoints: kept.first(cap),
    };
    policy.apply(&mut to.metadata);
    let added = group.endpoints.into_sorted();
    to.endpoints
        .extend(added.iter().take(room).map(EndpointRef::to_endpoint));
    packed.update.push(to);
    packed
}
