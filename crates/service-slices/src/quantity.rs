//! Parser for Kubernetes resource quantities, as in `status.allocatable`.

/// Parses a quantity into thousandths, rounded up as upstream does; `None` if it is negative or invalid. The result is exact,
/// because zone ratios are computed from sums of CPUs.
pub(crate) fn parse_cpu_millis(quantity: &str) -> Option<u64> {
    let quantity = quantity.strip_prefix('+').unwrap_or(quantity);
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, suffix) = quantity.split_at(quantity.find(|c| !is_number(c)).unwrap_or(quantity.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    // Rejects more digits than fit, a second point, and a number without digits.
    let digits: u128 = match (number, whole.len() + fraction.len()) {
        ("" | ".", _) => return None,
        (_, 0) => 0,
        _ => format!("{whole}{fraction}").parse().ok()?,
    };
    let (factor, exponent) = scale(suffix)?;
    let amount = digits.checked_mul(factor)?;
    let decimals = i32::try_from(fraction.len()).ok()?;
    let exponent = exponent.checked_add(3)?.checked_sub(decimals)?;
    let power = 10_u128.saturating_pow(exponent.unsigned_abs());
    let milli = if exponent < 0 {
        amount.div_ceil(power)
    } else {
        amount.saturating_mul(power)
    };
    Some(u64::try_from(milli).unwrap_or(u64::MAX))
}

/// The multiplier of a suffix: a factor and a power of ten.
fn scale(suffix: &str) -> Option<(u128, i32)> {
    Some(match suffix {
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "" => (1, 0),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => (1, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs are counted in thousandths (H22).
    #[test]
    fn quantities_are_parsed_exactly_and_rounded_up_to_thousandths() {
        for (quantity, expected) in [
            ("4", 4000),
            ("+4", 4000),
            ("004.", 4000),
            ("3920m", 3920),
            ("1.5", 1500),
            (".5", 500),
            ("0.3", 300),
            ("0.1", 100),
            ("1.0010", 1001),
            ("0.0001", 1),
            ("1.0000000001", 1001),
            ("0.5m", 1),
            ("0", 0),
            ("0.0", 0),
            (".0", 0),
            ("1n", 1),
            ("1000001n", 2),
            ("100u", 1),
            ("2000u", 2),
            ("1k", 1_000_000),
            ("1.5M", 1_500_000_000),
            ("2G", 2_000_000_000_000),
            ("3T", 3_000_000_000_000_000),
            ("4P", 4_000_000_000_000_000_000),
            ("0.001E", 1_000_000_000_000_000_000),
            ("2Ki", 2_048_000),
            ("0.5Ki", 512_000),
            ("1Mi", 1_048_576_000),
            ("1Gi", 1_073_741_824_000),
            ("1Ti", 1_099_511_627_776_000),
            ("1Pi", 1_125_899_906_842_624_000),
            ("0.0078125Ei", 9_007_199_254_740_992_000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1e+3", 1_000_000),
            ("1.5e-1", 150),
            ("1e-4", 1),
            ("1e-99", 1),
            ("0e-99", 0),
            ("0e99", 0),
            // Too large for a u64: saturates.
            ("1E", u64::MAX),
            ("1Ei", u64::MAX),
            ("1e99", u64::MAX),
        ] {
            assert_eq!(parse_cpu_millis(quantity), Some(expected), "{quantity:?}");
        }
    }

    #[test]
    fn invalid_and_negative_quantities_are_none() {
        for text in [
            "",
            ".",
            "-1",
            "-0.1",
            "+",
            "++1",
            "many",
            "m",
            "Ki",
            "1.2.3",
            "1 ",
            " 1",
            "1K",
            "1mi",
            "1Zi",
            "1e",
            "1e1.5",
            "1e99999999999",
            "1_000",
            "١",
            "1000000000000000000000000000000000000000000",
        ] {
            assert_eq!(parse_cpu_millis(text), None, "{text:?}");
        }
    }
}
