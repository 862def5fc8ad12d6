//! CPU quantities.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

const SUFFIXES: [(&str, f64); 15] = [
    ("", 1e3),
    ("n", 1e-6),
    ("u", 1e-3),
    ("m", 1.0),
    ("k", 1e6),
    ("M", 1e9),
    ("G", 1e12),
    ("T", 1e15),
    ("P", 1e18),
    ("E", 1e21),
    ("Ki", 1024e3),
    ("Mi", 1_048_576e3),
    ("Gi", 1_073_741_824e3),
    ("Ti", 1_099_511_627_776e3),
    ("Pi", 1_125_899_906_842_624e3),
];

/// Parses a quantity into thousandths of a CPU; `None` if it is invalid.
pub(crate) fn parse_cpu_millis(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.as_str();
    SUFFIXES.iter().find_map(|(suffix, factor)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number * factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_into_millis() {
        for (text, expected) in [
            ("32", Some(32_000.0)),
            ("100m", Some(100.0)),
            ("0.5", Some(500.0)),
            ("1e3", Some(1_000_000.0)),
            ("2k", Some(2_000_000.0)),
            ("1Ki", Some(1_024_000.0)),
            ("", None),
            ("many", None),
        ] {
            assert_eq!(parse_cpu_millis(&Quantity(text.to_owned())), expected, "{text:?}");
        }
    }
}
