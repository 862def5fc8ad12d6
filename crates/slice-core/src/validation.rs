//! Validation of names and label values, as the API server does it (R142, R145, R146).

use crate::limits::{DNS_LABEL_MAX, DNS_NAME_MAX, LABEL_VALUE_MAX};

/// A DNS-1123 label, such as a hostname or a port name: lower-case letters, digits and inner dashes.
#[must_use]
pub fn is_dns1123_label(text: &str) -> bool {
    text.len() <= DNS_LABEL_MAX && is_dns_part(text.as_bytes())
}

/// A DNS-1123 subdomain, such as the name of a node or a slice: labels of any length with dots between.
#[must_use]
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= DNS_NAME_MAX && text.split('.').all(|part| is_dns_part(part.as_bytes()))
}

/// A fully qualified domain name: two labels or more, optionally with a trailing dot (R144).
#[must_use]
pub fn is_fqdn(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    name.len() <= DNS_NAME_MAX && name.contains('.') && name.split('.').all(is_dns1123_label)
}

/// A label value: empty, or letters, digits and inner `-`, `_` and `.`.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= LABEL_VALUE_MAX && is_label_text(text))
}

/// A qualified name, such as a label key: a name, optionally with a DNS-1123 subdomain and a slash before it.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    let (domain, name) = text
        .split_once('/')
        .map_or((None, text), |(domain, name)| (Some(domain), name));
    domain.is_none_or(is_dns1123_subdomain) && name.len() <= LABEL_VALUE_MAX && is_label_text(name)
}

fn is_dns_part(text: &[u8]) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_form(text, outer, b"-")
}

fn is_label_text(text: &str) -> bool {
    has_form(text.as_bytes(), |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether the text is not empty, has `outer` characters at both ends and `outer` or `inner` ones between.
fn has_form(text: &[u8], outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let ends = [text.first(), text.last()];
    ends.iter().all(|end| end.is_some_and(|byte| outer(*byte)))
        && text.iter().all(|byte| outer(*byte) || inner.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r145_r146_names_and_label_values() {
        let (long, longest) = ("a".repeat(64), "a".repeat(63));
        let long_name = format!("{}.a", ["a"; 126].join("."));
        for (text, label, name, fqdn, value, qualified) in [
            ("a-1", true, true, false, true, true),
            ("1", true, true, false, true, true),
            (&longest, true, true, false, true, true),
            (&long, false, true, false, false, false),
            ("a.b", false, true, true, true, true),
            ("a.b.", false, false, true, false, false),
            ("a..b", false, false, false, true, true),
            ("", false, false, false, true, false),
            (".", false, false, false, false, false),
            ("-a", false, false, false, false, false),
            ("a-", false, false, false, false, false),
            ("A_b", false, false, false, true, true),
            ("a b", false, false, false, false, false),
            ("é", false, false, false, false, false),
            ("example.com/A", false, false, false, false, true),
            ("/a", false, false, false, false, false),
            ("a/", false, false, false, false, false),
            ("a/b/c", false, false, false, false, false),
            (&long_name, false, true, true, false, false),
            (&format!("a{long_name}a"), false, false, false, false, false),
            (&format!("{long}.a"), false, true, false, false, false),
        ] {
            assert_eq!(
                (is_dns1123_label(text), is_dns1123_subdomain(text), is_fqdn(text)),
                (label, name, fqdn),
                "{text:?}"
            );
            assert_eq!(
                (is_label_value(text), is_qualified_name(text)),
                (value, qualified),
                "{text:?}"
            );
        }
    }

    /// All short texts, compared with the definition (R146).
    #[test]
    fn dns_subdomain_is_labels_with_dots_between() {
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer = texts
                .iter()
                .flat_map(|text| ["a", "1", "-", ".", "_"].map(|end| format!("{text}{end}")));
            texts = longer.chain([String::new()]).collect();
            for text in &texts {
                assert_eq!(
                    is_dns1123_subdomain(text),
                    text.split('.').all(is_dns1123_label),
                    "{text:?}"
                );
            }
        }
    }
}
