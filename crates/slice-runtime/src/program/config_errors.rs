//! Configuration errors, collected so that all are reported together.

use std::{num::NonZeroUsize, ops::RangeInclusive};

use slice_controller::ErrorChain;

use crate::escape::Escaped;

/// The valid range of keys with writes in flight (R1, M126).
pub const CONCURRENCY: RangeInclusive<NonZeroUsize> = NonZeroUsize::MIN..=number(50);
/// The valid range of endpoints per slice, and of mirrored endpoints per subset (R1, M127).
pub const ENDPOINTS_PER_SLICE: RangeInclusive<NonZeroUsize> = NonZeroUsize::MIN..=number(1000);

const fn number(number: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(number - 1)
}

/// Configuration errors that keep a program from running, one line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors(Vec<String>);

impl ConfigErrors {
    /// Adds an error, as one line.
    pub fn add(&mut self, error: &impl ToString) {
        // Errors of libraries may have several lines.
        let error = error.to_string();
        let lines: Vec<&str> = error.lines().map(str::trim).collect();
        self.0.push(Escaped(lines.join(" ")).to_string());
    }

    /// Checks the value of a flag, and adds an error in kube-controller-manager's words if it is out of range (R2, M129).
    /// Returns the value, limited to the range.
    pub fn in_range(&mut self, flag: &str, value: i64, allowed: RangeInclusive<NonZeroUsize>) -> NonZeroUsize {
        let (min, max) = allowed.into_inner();
        match usize::try_from(value).ok().and_then(NonZeroUsize::new) {
            Some(value) if value > max => {
                self.add(&format!("{flag} must not be more than {max}, but got {value}"));
                max
            }
            Some(value) if value >= min => value,
            _ => {
                self.add(&format!("{flag} must not be less than {min}, but got {value}"));
                min
            }
        }
    }

    /// Returns the errors as `Err` if there are any.
    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The errors, one line each.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<E: std::error::Error + 'static> From<E> for ConfigErrors {
    fn from(error: E) -> Self {
        let mut errors = Self::default();
        errors.add(&ErrorChain(&error));
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are those of kube-controller-manager (R2, M129).
    #[test]
    fn numbers_out_of_range_are_errors_and_are_limited() {
        let mut errors = ConfigErrors::default();
        let limited = [-1, 0, 1, 50, 51].map(|value| errors.in_range("a", value, CONCURRENCY).get());
        assert_eq!(limited, [1, 1, 1, 50, 50]);
        assert_eq!(
            errors.lines().collect::<Vec<_>>(),
            [
                "a must not be less than 1, but got -1",
                "a must not be less than 1, but got 0",
                "a must not be more than 50, but got 51"
            ]
        );
        assert_eq!(errors.into_result().unwrap_err().lines().count(), 3);
        assert_eq!(ConfigErrors::default().into_result(), Ok(()));
    }

    #[test]
    fn an_error_is_one_line_without_control_characters() {
        let error = std::io::Error::other("one\n  two\u{1b}[2K");
        assert_eq!(
            ConfigErrors::from(error).lines().collect::<Vec<_>>(),
            ["one two\\u{1b}[2K"]
        );
    }
}
