//! Label values for names that are too long or otherwise invalid as label value.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use slice_core::{limits::LABEL_VALUE_MAX, validation::is_label_value};

use crate::naming::encode;

/// About 76 bits, enough to rule out collisions in practice.
const HASH_LENGTH: usize = 16;

/// A label value for any text: the text itself if it is valid, else a prefix of it, a dash, and a hash of the whole text
/// (G38). Different texts give different values.
///
/// A label value has at most 63 characters, while most object names have up to 253. To keep the full text readable, store it
/// in an annotation, as [`MetadataPolicy::set_owner_label`](crate::MetadataPolicy::set_owner_label) does.
///
/// ```
/// use slice_reconciler::label_value;
///
/// assert_eq!(label_value("db"), "db");
/// let long = "a".repeat(200);
/// assert_eq!(label_value(&long).len(), 63);
/// assert!(label_value(&long).starts_with("aaaa"));
/// ```
#[must_use]
pub fn label_value(text: &str) -> Cow<'_, str> {
    if is_label_value(text) {
        return Cow::Borrowed(text);
    }
    let allowed = |character: char| match character {
        '-' | '_' | '.' => character,
        _ if character.is_ascii_alphanumeric() => character,
        _ => '-',
    };
    let prefix = text.chars().map(allowed).take(LABEL_VALUE_MAX - HASH_LENGTH - 1);
    let prefix: String = prefix.collect();
    let prefix = prefix.trim_start_matches(|character: char| !character.is_ascii_alphanumeric());
    let hash: String = encode(&Sha256::digest(text)).take(HASH_LENGTH).collect();
    if prefix.is_empty() {
        return Cow::Owned(hash);
    }
    Cow::Owned(format!("{prefix}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text gives a valid label value (G38, T-GX-10, the part about the value).
    #[test]
    fn any_text_gives_a_valid_label_value() {
        for same in ["", "db", "a.b_c-D", &"a".repeat(63)] {
            assert_eq!(label_value(same), same);
        }
        let long = "a".repeat(200);
        let prefixes = [
            (long.as_str(), "a".repeat(46)),
            ("ns/name", "ns-name".to_owned()),
            ("-x", "x".to_owned()),
            ("été", "t-".to_owned()),
            ("x.", "x.".to_owned()),
        ];
        for (text, prefix) in prefixes {
            let value = label_value(text);
            assert!(is_label_value(&value), "{value:?}");
            let (actual, hash) = value.rsplit_once('-').unwrap();
            assert_eq!((actual, hash.len()), (prefix.as_str(), HASH_LENGTH), "{text:?}");
        }
        assert_eq!(label_value("//").len(), HASH_LENGTH);
        assert!(is_label_value(&label_value("//")));
    }

    #[test]
    fn different_texts_give_different_values() {
        let long = "a".repeat(200);
        assert_ne!(label_value(&long), label_value(&long[1..]));
        assert_ne!(label_value("a/b"), label_value("a%b"));
        assert_eq!(label_value(&long), label_value(&"a".repeat(200)));
    }
}
