//! An in-memory API server that executes plans.

use proptest::{bool::weighted, collection::vec, prelude::*};
use slice_core::CompactSlice;
use slice_reconciler::{Operation, Plan};

/// The slices, and the latest resourceVersion.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    slices: Vec<CompactSlice>,
    version: u64,
}

impl Store {
    pub(crate) fn new(slices: Vec<CompactSlice>) -> Self {
        Self { slices, version: 1000 }
    }

    pub(crate) fn slices(&self) -> &[CompactSlice] {
        &self.slices
    }

    pub(crate) fn into_slices(self) -> Vec<CompactSlice> {
        self.slices
    }

    /// Executes a whole plan.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        self.execute(plan, &Schedule::default(), |_| {});
    }

    /// Executes writes in the order of a schedule, each after its dependencies. Some fail, and those that depend on them are
    /// skipped. Calls `observe` before the first write and after each.
    pub(crate) fn execute(&mut self, plan: &Plan, schedule: &Schedule, mut observe: impl FnMut(&[CompactSlice])) {
        let mut done = vec![false; plan.writes.len()];
        let mut pending: Vec<usize> = (0..plan.writes.len()).collect();
        observe(&self.slices);
        loop {
            let ready = |index: &usize| plan.writes[*index].depends_on.iter().all(|other| done[*other]);
            let Some(next) = pending
                .iter()
                .copied()
                .filter(ready)
                .min_by_key(|index| schedule.rank(*index))
            else {
                return;
            };
            pending.retain(|index| *index != next);
            if !schedule.fails(next) {
                self.write(&plan.writes[next].operation);
                done[next] = true;
                observe(&self.slices);
            }
        }
    }

    /// Updates and deletes have the current resourceVersion as precondition (I8).
    fn write(&mut self, operation: &Operation) {
        self.version += 1;
        match operation {
            Operation::Create(slice) => {
                assert!(
                    self.find(slice.metadata.name.as_deref()).is_none(),
                    "the name is in use"
                );
                let mut slice = slice.clone();
                slice.metadata.uid = Some(format!("uid-of-{}", self.version));
                slice.metadata.resource_version = Some(self.version.to_string());
                self.slices.push(slice);
            }
            Operation::Update(slice) => {
                let version = self.version.to_string();
                let current = self.find(slice.metadata.name.as_deref()).expect("the slice exists");
                assert_eq!(current.metadata.resource_version, slice.metadata.resource_version);
                *current = slice.clone();
                current.metadata.resource_version = Some(version);
            }
            Operation::Delete(deletion) => {
                let current = self.find(Some(&deletion.name)).expect("the slice exists");
                assert_eq!(current.metadata.uid, deletion.uid);
                assert_eq!(current.metadata.resource_version, deletion.resource_version);
                self.slices
                    .retain(|slice| slice.metadata.name.as_ref() != Some(&deletion.name));
            }
        }
    }

    fn find(&mut self, name: Option<&str>) -> Option<&mut CompactSlice> {
        self.slices
            .iter_mut()
            .find(|slice| slice.metadata.name.as_deref() == name)
    }
}

/// The order of independent writes, and which of them fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule(Vec<(u8, bool)>);

impl Schedule {
    fn of(&self, index: usize) -> (u8, bool) {
        let cycle = self.0.iter().cycle();
        cycle.into_iter().nth(index).copied().unwrap_or_default()
    }

    fn rank(&self, index: usize) -> (u8, usize) {
        (self.of(index).0, index)
    }

    fn fails(&self, index: usize) -> bool {
        self.of(index).1
    }
}

pub(crate) fn schedules() -> impl Strategy<Value = Schedule> {
    vec((any::<u8>(), weighted(0.3)), 0..24).prop_map(Schedule)
}
