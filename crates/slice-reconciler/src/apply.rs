//! Execution of a plan in its order, with any asynchronous sender.

use std::num::NonZeroUsize;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::{Operation, Plan, Write};

/// Writes of one plan that are in flight at the same time (W22).
pub const MAX_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not zero");

/// The result of one write of an executed plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStatus<T, E> {
    /// It was sent and succeeded.
    Done(T),
    /// It was sent and failed, or may have.
    Failed(E),
    /// It was not sent, because a write that it depends on failed, or because the plan ended before.
    Skipped,
}

/// The result of an executed plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied<E> {
    /// Writes that succeeded.
    pub succeeded: usize,
    /// The errors of those that failed.
    pub failed: Vec<E>,
    /// Writes that were not sent, because one that they depend on failed. The next plan contains them again.
    pub skipped: usize,
}

impl Plan {
    /// Executes the plan: each write after those it depends on, several in flight. A failed write skips the writes that
    /// depend on it, and no others.
    ///
    /// ```
    /// # use slice_reconciler::{Operation, Plan};
    /// # async fn example(plan: Plan) {
    /// let applied = plan
    ///     .apply(|operation| async move {
    ///         match operation {
    ///             Operation::Create(slice) | Operation::Update(slice) => Ok(println!("{:?}", slice.to_k8s())),
    ///             Operation::Delete(deletion) => Err(format!("{} cannot be deleted", deletion.name)),
    ///         }
    ///     })
    ///     .await;
    /// println!("{} succeeded, {} failed, {} skipped", applied.succeeded, applied.failed.len(), applied.skipped);
    /// # }
    /// ```
    pub async fn apply<T, E, F>(self, send: impl Fn(Operation) -> F) -> Applied<E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut applied = Applied {
            succeeded: 0,
            failed: Vec::new(),
            skipped: 0,
        };
        for status in execute(self.writes, MAX_IN_FLIGHT, |_| false, |_, operation| send(operation)).await {
            match status {
                WriteStatus::Done(_) => applied.succeeded += 1,
                WriteStatus::Failed(error) => applied.failed.push(error),
                WriteStatus::Skipped => applied.skipped += 1,
            }
        }
        applied
    }
}

/// Like [`Plan::apply`], with the index of each write as an argument of `send`, and at most `max_in_flight` writes in flight.
/// After an error for which `ends_plan` is true, no further write is sent: those in flight end, the others are skipped. The
/// results are in the order of the writes.
///
/// # Panics
/// If writes depend on each other in a cycle, which those of a plan never do.
pub async fn execute<T, E, F>(
    writes: Vec<Write>,
    max_in_flight: NonZeroUsize,
    ends_plan: impl Fn(&E) -> bool,
    send: impl Fn(usize, Operation) -> F,
) -> Vec<WriteStatus<T, E>>
where
    F: Future<Output = Result<T, E>>,
{
    let (mut operations, dependencies): (Vec<Option<Operation>>, Vec<Vec<usize>>) = writes
        .into_iter()
        .map(|write| (Some(write.operation), write.depends_on))
        .unzip();
    let mut results: Vec<Option<WriteStatus<T, E>>> = dependencies.iter().map(|_| None).collect();
    let mut in_flight = FuturesUnordered::new();
    let mut ended = false;
    loop {
        // Dependencies come first in a plan, so one pass skips all that depend on a failure.
        for index in 0..operations.len() {
            if operations[index].is_none() {
                continue;
            }
            let mut needed = dependencies[index].iter().map(|needed| &results[*needed]);
            let fails = |result: &Option<_>| matches!(result, Some(WriteStatus::Failed(_) | WriteStatus::Skipped));
            if ended || needed.clone().any(fails) {
                operations[index] = None;
                results[index] = Some(WriteStatus::Skipped);
            } else if in_flight.len() < max_in_flight.get()
                && needed.all(|result| matches!(result, Some(WriteStatus::Done(_))))
                && let Some(operation) = operations[index].take()
            {
                let response = send(index, operation);
                in_flight.push(async move { (index, response.await) });
            }
        }
        match in_flight.next().await {
            Some((index, Ok(done))) => results[index] = Some(WriteStatus::Done(done)),
            Some((index, Err(error))) => {
                ended |= ends_plan(&error);
                results[index] = Some(WriteStatus::Failed(error));
            }
            None => break,
        }
    }
    results
        .into_iter()
        .map(|result| result.expect("without a cycle, every write is sent or skipped"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        future::poll_fn,
        task::Poll,
    };

    use futures_util::FutureExt as _;

    use super::*;
    use crate::DeleteSlice;

    fn writes(dependencies: &[&[usize]]) -> Vec<Write> {
        let write = |dependencies: &&[usize]| Write {
            operation: Operation::Delete(DeleteSlice::default()),
            depends_on: dependencies.to_vec(),
        };
        dependencies.iter().map(write).collect()
    }

    /// Lets the other writes in flight proceed once.
    async fn yield_now() {
        let mut yielded = false;
        poll_fn(|context| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Executes writes of which some fail. Returns the sent and the skipped indices, and the maximum in flight.
    fn run(dependencies: &[&[usize]], fail: &[usize]) -> (Vec<usize>, Vec<usize>, usize) {
        run_until(dependencies, fail, false)
    }

    /// As [`run`]; a failure may end the plan.
    fn run_until(dependencies: &[&[usize]], fail: &[usize], ends_plan: bool) -> (Vec<usize>, Vec<usize>, usize) {
        let (order, in_flight, most) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0));
        let send = |index: usize, _| {
            order.borrow_mut().push(index);
            in_flight.set(in_flight.get() + 1);
            most.set(most.get().max(in_flight.get()));
            let in_flight = &in_flight;
            async move {
                yield_now().await;
                in_flight.set(in_flight.get() - 1);
                if fail.contains(&index) { Err(()) } else { Ok(()) }
            }
        };
        let mut executed = Box::pin(execute(writes(dependencies), MAX_IN_FLIGHT, |()| ends_plan, send));
        let results = loop {
            if let Some(results) = executed.as_mut().now_or_never() {
                break results;
            }
        };
        drop(executed);
        let skipped = results
            .iter()
            .enumerate()
            .filter(|(_, result)| **result == WriteStatus::Skipped);
        let skipped = skipped.map(|(index, _)| index).collect();
        (order.into_inner(), skipped, most.get())
    }

    #[test]
    fn writes_wait_for_their_dependencies() {
        assert_eq!(run(&[&[], &[0], &[1]], &[]), (vec![0, 1, 2], vec![], 1));
        assert_eq!(run(&[], &[]), (vec![], vec![], 0));
    }

    /// A failed write skips its dependents only (M100, I4, W12, D13).
    #[test]
    fn a_failure_skips_dependents_and_nothing_else() {
        let (sent, skipped, _) = run(&[&[], &[], &[0], &[1], &[2, 3]], &[0]);
        assert_eq!((sent, skipped), (vec![0, 1, 3], vec![2, 4]));
    }

    #[test]
    fn concurrency_is_bounded() {
        let most_allowed = MAX_IN_FLIGHT.get();
        let independent = vec![&[][..]; 3 * most_allowed];
        let (sent, _, most) = run(&independent, &[]);
        assert_eq!((sent.len(), most), (3 * most_allowed, most_allowed));
    }

    /// A write without a response is followed by no further write: it would hang as well (I10).
    #[test]
    fn an_error_that_ends_the_plan_skips_all_that_was_not_sent() {
        let independent = vec![&[][..]; 20];
        let (sent, skipped, _) = run_until(&independent, &[0], true);
        assert_eq!((sent.len(), skipped), (8, (8..20).collect()));
    }

    #[test]
    fn apply_counts_results() {
        let plan = Plan {
            writes: writes(&[&[], &[0]]),
            ..Plan::default()
        };
        let applied = plan.apply(async |_| Err::<(), _>("rejected")).now_or_never();
        let expected = Applied {
            succeeded: 0,
            failed: vec!["rejected"],
            skipped: 1,
        };
        assert_eq!(applied, Some(expected));
    }
}
