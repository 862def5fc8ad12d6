//! What an API server would hold while a plan is carried out.

use proptest::{bool::weighted, collection::vec, prelude::*};
use slice_core::CompactSlice;
use slice_reconciler::{Operation, Plan};

/// Stored slices, and the versions of their last writes.
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

    /// Carries out a whole plan.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        self.carry_out(plan, &Schedule::default(), |_| {});
    }

    /// Carries out what a schedule lets succeed, each write after those that it waits for, and withholds what waits for one
    /// that failed. Looks at the slices before the first write and after each.
    pub(crate) fn carry_out(&mut self, plan: &Plan, schedule: &Schedule, mut look: impl FnMut(&[CompactSlice])) {
        let mut done = vec![false; plan.writes.len()];
        let mut open: Vec<usize> = (0..plan.writes.len()).collect();
        look(&self.slices);
        loop {
            let ready = |index: &usize| plan.writes[*index].after.iter().all(|other| done[*other]);
            let Some(next) = open
                .iter()
                .copied()
                .filter(ready)
                .min_by_key(|index| schedule.turn(*index))
            else {
                return;
            };
            open.retain(|index| *index != next);
            if !schedule.fails(next) {
                self.write(&plan.writes[next].operation);
                done[next] = true;
                look(&self.slices);
            }
        }
    }

    /// I8: updates and deletes name the version that they replace, and it is the one that is stored.
    fn write(&mut self, operation: &Operation) {
        self.version += 1;
        match operation {
            Operation::Create(slice) => {
                assert!(self.find(slice.metadata.name.as_deref()).is_none(), "the name is taken");
                let mut slice = slice.clone();
                slice.metadata.uid = Some(format!("uid-of-{}", self.version));
                slice.metadata.resource_version = Some(self.version.to_string());
                self.slices.push(slice);
            }
            Operation::Update(slice) => {
                let version = self.version.to_string();
                let stored = self.find(slice.metadata.name.as_deref()).expect("the slice is there");
                assert_eq!(stored.metadata.resource_version, slice.metadata.resource_version);
                *stored = slice.clone();
                stored.metadata.resource_version = Some(version);
            }
            Operation::Delete(deletion) => {
                let stored = self.find(Some(&deletion.name)).expect("the slice is there");
                assert_eq!(stored.metadata.uid, deletion.uid);
                assert_eq!(stored.metadata.resource_version, deletion.resource_version);
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

/// In which order writes that wait for nobody are sent, and which fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule(Vec<(u8, bool)>);

impl Schedule {
    fn of(&self, index: usize) -> (u8, bool) {
        let cycle = self.0.iter().cycle();
        cycle.into_iter().nth(index).copied().unwrap_or_default()
    }

    fn turn(&self, index: usize) -> (u8, usize) {
        (self.of(index).0, index)
    }

    fn fails(&self, index: usize) -> bool {
        self.of(index).1
    }
}

pub(crate) fn schedules() -> impl Strategy<Value = Schedule> {
    vec((any::<u8>(), weighted(0.3)), 0..24).prop_map(Schedule)
}
