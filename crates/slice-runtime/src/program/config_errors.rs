//! What is wrong with flags, all at once.

use std::{num::NonZeroUsize, ops::RangeInclusive};

use slice_controller::ErrorChain;

/// How many keys may be written at the same time (R1, M126).
pub const CONCURRENCY: RangeInclusive<NonZeroUsize> = NonZeroUsize::MIN..=number(50);
/// How many endpoints a slice may hold, and how many of a subset may be mirrored (R1, M127).
pub const ENDPOINTS_PER_SLICE: RangeInclusive<NonZeroUsize> = NonZeroUsize::MIN..=number(1000);

const fn number(number: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(number - 1)
}

/// What keeps a program from running, one line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors(Vec<String>);

impl ConfigErrors {
    /// Adds one more.
    pub fn add(&mut self, complaint: &impl ToString) {
        // What others say may have several lines.
        let words: Vec<String> = complaint
            .to_string()
            .lines()
            .map(|line| line.trim().to_owned())
            .collect();
        self.0.push(words.join(" "));
    }

    /// Takes a number from a flag, and complains in kube-controller-manager's words if it is too small or too large (R2,
    /// M129). The answer lies within in any case.
    pub fn in_range(&mut self, flag: &str, value: i64, allowed: RangeInclusive<NonZeroUsize>) -> NonZeroUsize {
        let (least, most) = allowed.into_inner();
        match usize::try_from(value).ok().and_then(NonZeroUsize::new) {
            Some(value) if value > most => {
                self.add(&format!("{flag} must not be more than {most}, but got {value}"));
                most
            }
            Some(value) if value >= least => value,
            _ => {
                self.add(&format!("{flag} must not be less than {least}, but got {value}"));
                least
            }
        }
    }

    /// Nothing, or what there is to complain about.
    pub(super) fn check(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<E: std::error::Error + 'static> From<E> for ConfigErrors {
    fn from(error: E) -> Self {
        let mut complaints = Self::default();
        complaints.add(&ErrorChain(&error));
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R2, M129.
    #[test]
    fn numbers_out_of_range_are_told_in_the_words_of_kube_controller_manager() {
        let mut complaints = ConfigErrors::default();
        let taken = [-1, 0, 1, 50, 51].map(|value| complaints.in_range("a", value, CONCURRENCY).get());
        assert_eq!(taken, [1, 1, 1, 50, 50]);
        assert_eq!(
            complaints.lines().collect::<Vec<_>>(),
            [
                "a must not be less than 1, but got -1",
                "a must not be less than 1, but got 0",
                "a must not be more than 50, but got 51"
            ]
        );
        assert_eq!(complaints.check().unwrap_err().lines().count(), 3);
        assert_eq!(ConfigErrors::default().check(), Ok(()));
    }

    #[test]
    fn a_complaint_is_one_line() {
        let error = std::io::Error::other("one\n  two");
        assert_eq!(ConfigErrors::from(error).lines().collect::<Vec<_>>(), ["one two"]);
    }
}
