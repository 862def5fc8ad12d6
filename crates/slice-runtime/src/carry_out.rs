//! A plan, carried out in its order.

use std::future::Future;

use futures::stream::{FuturesUnordered, StreamExt as _};
use slice_reconciler::Write;

/// Writes of one key that are under way at the same time (W22).
const AT_ONCE: usize = 8;

/// How a write ended, as far as the order among writes is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// What it was to bring about is so.
    Done,
    /// It is not, or may not be.
    Failed,
}

/// Carries out the writes of a plan: each after those it waits for, which must be done; one that failed holds back those
/// that wait for it, and nobody else. Each write is either handed to `write` or told to `withheld`, once.
pub(crate) async fn carry_out<'a, F>(
    writes: &'a [Write],
    write: impl Fn(usize, &'a Write) -> F,
    mut withheld: impl FnMut(usize),
) where
    F: Future<Output = (usize, Ended)>,
{
    let mut states = vec![State::Waiting; writes.len()];
    let mut under_way = FuturesUnordered::new();
    loop {
        for index in 0..writes.len() {
            if states[index] != State::Waiting {
                continue;
            }
            let waits_for = &writes[index].after;
            if waits_for
                .iter()
                .any(|before| states[*before] == State::Ended(Ended::Failed))
            {
                states[index] = State::Ended(Ended::Failed);
                withheld(index);
            } else if under_way.len() < AT_ONCE
                && waits_for
                    .iter()
                    .all(|before| states[*before] == State::Ended(Ended::Done))
            {
                states[index] = State::UnderWay;
                under_way.push(write(index, &writes[index]));
            }
        }
        match under_way.next().await {
            Some((index, ended)) => states[index] = State::Ended(ended),
            None => return,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    UnderWay,
    Ended(Ended),
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use slice_reconciler::{Deletion, Operation};

    use super::*;

    fn writes(after: &[&[usize]]) -> Vec<Write> {
        let write = |after: &&[usize]| Write {
            operation: Operation::Delete(Deletion::default()),
            after: after.to_vec(),
        };
        after.iter().map(write).collect()
    }

    /// Carries out writes that yield once each; answers what was sent, in order, and what was withheld.
    fn play(after: &[&[usize]], fail: &[usize]) -> (Vec<usize>, Vec<usize>, usize) {
        let (sent, most) = (RefCell::new(Vec::new()), RefCell::new((0, 0)));
        let mut withheld = Vec::new();
        let writes = writes(after);
        let write = |index: usize, _: &Write| {
            sent.borrow_mut().push(index);
            let mut count = most.borrow_mut();
            count.0 += 1;
            count.1 = count.0.max(count.1);
            let most = &most;
            async move {
                tokio::task::yield_now().await;
                most.borrow_mut().0 -= 1;
                (
                    index,
                    if fail.contains(&index) {
                        Ended::Failed
                    } else {
                        Ended::Done
                    },
                )
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(carry_out(&writes, write, |index| withheld.push(index)));
        let most = most.borrow().1;
        (sent.into_inner(), withheld, most)
    }

    #[test]
    fn writes_wait_for_those_that_they_depend_on() {
        assert_eq!(play(&[&[], &[0], &[1]], &[]), (vec![0, 1, 2], vec![], 1));
        assert_eq!(play(&[], &[]), (vec![], vec![], 0));
    }

    /// M100, I4, W12, D13: what depends on a failed write is withheld, everything else goes on.
    #[test]
    fn a_failure_holds_back_what_depends_on_it_and_nothing_else() {
        let (sent, withheld, _) = play(&[&[], &[], &[0], &[1], &[2, 3]], &[0]);
        assert_eq!((sent, withheld), (vec![0, 1, 3], vec![2, 4]));
    }

    #[test]
    fn so_many_are_under_way_at_once_and_no_more() {
        let independent = vec![&[][..]; 3 * AT_ONCE];
        let (sent, _, most) = play(&independent, &[]);
        assert_eq!((sent.len(), most), (3 * AT_ONCE, AT_ONCE));
    }
}
