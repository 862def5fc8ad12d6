//! Validation of names and labels. Each function returns error messages; an empty list means valid.

/// A DNS-1123 label: lower case letters, digits and inner dashes, at most 63 bytes.
pub(crate) fn dns1123_label(value: &str) -> Vec<String> {
    let mut messages = at_most(value, 63);
    if !is_dns1123_label(value) {
        messages.push(if value.split('.').all(is_dns1123_label) {
            "may not contain dots".to_owned()
        } else {
            "must be lower case letters, digits and dashes, with a letter or digit at both ends".to_owned()
        });
    }
    messages
}

/// A DNS-1123 subdomain: labels joined by dots, at most 253 bytes.
pub(crate) fn dns1123_subdomain(value: &str) -> Vec<String> {
    let mut messages = at_most(value, 253);
    if !value.split('.').all(is_dns1123_label) {
        messages.push(
            "must be lower case letters, digits, dashes and dots, with a letter or digit at both ends of each part"
                .to_owned(),
        );
    }
    messages
}

/// A name that is valid as a segment of a URL path.
pub(crate) fn path_segment(value: &str) -> Vec<String> {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    path_segment_prefix(value)
}

/// The prefix of a name that is valid as a segment of a URL path.
pub(crate) fn path_segment_prefix(value: &str) -> Vec<String> {
    ['/', '%']
        .into_iter()
        .filter(|forbidden| value.contains(*forbidden))
        .map(|forbidden| format!("may not contain '{forbidden}'"))
        .collect()
}

/// Replaces a trailing dash of a `generateName`, so that the prefix validates as a name.
pub(crate) fn without_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        // The character before the dash is dropped too: it may be a dash itself.
        Some(rest) if !rest.is_empty() => {
            let mut shortened: String = rest.to_owned();
            shortened.pop();
            shortened.push('a');
            shortened
        }
        _ => prefix.to_owned(),
    }
}

/// A qualified name, the key of labels and annotations: a name with an optional domain prefix and slash.
pub(crate) fn qualified_name(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        ["", name] => {
            messages.push("the part before the slash may not be empty".to_owned());
            name
        }
        [domain, name] => {
            let prefix_messages = dns1123_subdomain(domain).into_iter();
            messages.extend(prefix_messages.map(|message| format!("the part before the slash {message}")));
            name
        }
        _ => return vec!["must be a name, or a domain, one slash and a name".to_owned()],
    };
    if name.is_empty() {
        messages.push("the name may not be empty".to_owned());
    } else {
        messages.extend(at_most(name, 63));
    }
    if !has_label_characters(name) {
        messages
            .push("the name must be letters, digits, '-', '_' and '.', with a letter or digit at both ends".to_owned());
    }
    messages
}

/// A label value, which may be empty.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut messages = at_most(value, 63);
    if !value.is_empty() && !has_label_characters(value) {
        messages
            .push("must be empty or letters, digits, '-', '_' and '.', with a letter or digit at both ends".to_owned());
    }
    messages
}

/// The name of a container port.
pub(crate) fn port_name(value: &str) -> Vec<String> {
    let mut messages = at_most(value, 15);
    let mut push_if = |invalid: bool, message: &str| {
        if invalid {
            messages.push(message.to_owned());
        }
    };
    let allowed = |b: u8| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit();
    push_if(
        value.is_empty() || !value.bytes().all(allowed),
        "may only hold lower case letters, digits and dashes",
    );
    push_if(
        !value.bytes().any(|b| b.is_ascii_lowercase()),
        "needs at least one letter",
    );
    push_if(value.contains("--"), "may not have two dashes in a row");
    push_if(
        value.starts_with('-') || value.ends_with('-'),
        "may not begin or end with a dash",
    );
    messages
}

/// A port number from 1 to 65535.
pub(crate) fn port_number(value: i32) -> Vec<String> {
    if (1..=65535).contains(&value) {
        Vec::new()
    } else {
        vec!["must be between 1 and 65535".to_owned()]
    }
}

fn at_most(value: &str, bytes: usize) -> Vec<String> {
    if value.len() > bytes {
        vec![format!("may not be longer than {bytes} bytes")]
    } else {
        Vec::new()
    }
}

/// Checks the characters of a DNS-1123 label, not the length.
fn is_dns1123_label(value: &str) -> bool {
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    matches_bytes(value, outer, |b| outer(b) || b == b'-')
}

fn has_label_characters(value: &str) -> bool {
    let outer = |b: u8| b.is_ascii_alphanumeric();
    matches_bytes(value, outer, |b| outer(b) || b"-_.".contains(&b))
}

fn matches_bytes(value: &str, end: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => end(*only),
        [first, inner @ .., last] => end(*first) && end(*last) && inner.iter().all(|b| middle(*b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&str) -> Vec<String>;

    #[test]
    fn number_of_messages_per_check() {
        let long = "a".repeat(64);
        let cases: &[(Check, &str, usize)] = &[
            (dns1123_label, "a-1", 0),
            (dns1123_label, "1", 0),
            (dns1123_label, "", 1),
            (dns1123_label, "a.b", 1),
            (dns1123_label, "-a", 1),
            (dns1123_label, &long, 1),
            (dns1123_subdomain, "a.b-c.d", 0),
            (dns1123_subdomain, "a..b", 1),
            (dns1123_subdomain, "A", 1),
            (path_segment, "..", 1),
            (path_segment, "a/b%c", 2),
            (qualified_name, "example.com/My_Name.1", 0),
            (qualified_name, "", 2),
            (qualified_name, "/x", 1),
            (qualified_name, "a/b/c", 1),
            (qualified_name, "EXAMPLE.com/x", 1),
            (qualified_name, "--", 1),
            (label_value, "", 0),
            (label_value, "a b", 1),
            (port_name, "http-1", 0),
            (port_name, "", 2),
            (port_name, "123", 1),
            (port_name, "-a--b-", 2),
            (port_name, "abcdefghijklmnop", 1),
        ];
        for (check, value, messages) in cases {
            assert_eq!(check(value).len(), *messages, "{value:?}: {:?}", check(value));
        }
    }

    #[test]
    fn generate_name_can_end_in_dashes() {
        assert_eq!(
            ["web-", "w-", "web--", "-"].map(without_trailing_dash),
            ["wea", "a", "weba", "-"]
        );
    }
}
