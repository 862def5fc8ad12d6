//! Escaping of text that the API server sent, so that it cannot break a log line or an error message.

use std::fmt::{self, Write as _};

/// Displays a value with its control characters and line separators escaped, as in Rust's string literals.
///
/// Names, reasons and messages of the server pass through this type before they reach a log field by `%` or an error text. A
/// log field of type `&str` needs none: the formatters quote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper(f), "{}", self.0)
    }
}

struct Escaper<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                write!(self.0, "{}", character.escape_default())?;
            } else {
                self.0.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_all_others_stay() {
        for (text, expected) in [
            ("pods \"web\" is forbidden: größer", "pods \"web\" is forbidden: größer"),
            ("no\nINFO forged line\r", "no\\nINFO forged line\\r"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\u{85}b\u{2028}c", "a\\u{85}b\\u{2028}c"),
        ] {
            assert_eq!(Escaped(text).to_string(), expected);
        }
    }
}
