//! Parses the ids of test cases in specifications, tests and exceptions.

use std::{collections::BTreeSet, fmt, sync::LazyLock};

use regex::Regex;

/// The id of a test case, such as `T-REC-07`, `T-MIR-N11` or `G-12`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestCaseId {
    /// The part before the number, such as `T-REC-`.
    pub(super) family: String,
    pub(super) number: u32,
    digits: usize,
}

impl TestCaseId {
    fn new(family: &str, number: &str) -> Option<Self> {
        Some(Self {
            family: family.to_owned(),
            number: number.parse().ok()?,
            digits: number.len(),
        })
    }

    /// The id with another number of the same family.
    fn with_number(&self, number: u32) -> Self {
        Self {
            family: self.family.clone(),
            number,
            digits: self.digits.max(number.to_string().len()),
        }
    }
}

impl fmt::Display for TestCaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:0digits$}", self.family, self.number, digits = self.digits)
    }
}

/// A full id, or (in the specifications) the short form `**-02` after another id of the family.
static ID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b((?:T-(?:[A-Z][A-Z0-9]{0,4}-){1,2}|G-)[A-Z]?)(\d+)\b|\*\*-(\d+)\b"));
/// Continuation of an id: the end of a range, `…09` or `..09`, or a further number of the family, `, -12`.
static CONTINUATION: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:(…|\.\.)-?|, -)(\d+)\b"));
/// Ranges and lists in function names: `t_val_01_to_07_09_and_12` means `T-VAL-01…07, -09, -12`.
static RANGE_IN_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d)_TO_(\d)"));
static LIST_IN_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d)_(?:AND_)?(\d)"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants and tested below")
}

/// All ids in a text, with ranges expanded.
pub(super) fn ids_in(text: &str) -> BTreeSet<TestCaseId> {
    let mut ids = BTreeSet::new();
    let mut family = "";
    for found in ID.captures_iter(text) {
        let part = |index| found.get(index).map_or("", |part| part.as_str());
        if !part(1).is_empty() {
            family = part(1);
        }
        let Some(first) = TestCaseId::new(family, &[part(2), part(3)].concat()) else {
            continue;
        };
        let end = found.get(0).map_or(0, |whole| whole.end());
        add_continuations(&text[end..], &first, &mut ids);
        ids.insert(first);
    }
    ids
}

fn add_continuations(mut rest: &str, first: &TestCaseId, ids: &mut BTreeSet<TestCaseId>) {
    let mut last = first.number;
    while let Some(found) = CONTINUATION.captures(rest) {
        let Ok(number) = found[2].parse() else { return };
        let numbers = match found.get(1) {
            Some(_) => last + 1..=number,
            None => number..=number,
        };
        ids.extend(numbers.map(|number| first.with_number(number)));
        last = number;
        rest = &rest[found[0].len()..];
    }
}

/// All ids in a function name.
pub(super) fn ids_in_name(name: &str) -> BTreeSet<TestCaseId> {
    let name = name.to_uppercase();
    let name = RANGE_IN_NAME.replace_all(&name, "$1…$2");
    let name = LIST_IN_NAME.replace_all(&name, "$1, -$2");
    ids_in(&name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(ids: &BTreeSet<TestCaseId>) -> String {
        ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranges_and_lists_are_expanded() {
        for (text, expected) in [
            ("T-CUT-08…10", "T-CUT-08 T-CUT-09 T-CUT-10"),
            ("**T-G1P-01..03**", "T-G1P-01 T-G1P-02 T-G1P-03"),
            ("T-API-02, -05, -18…-20", "T-API-02 T-API-05 T-API-18 T-API-19 T-API-20"),
            ("T-EP-99…101, T-EP-101", "T-EP-99 T-EP-100 T-EP-101"),
            ("T-TD-01, -02, T-MIR-INT-01", "T-MIR-INT-01 T-TD-01 T-TD-02"),
            (
                "T-MIR-N01…02 (D1), T-GMIR-X1, G-07",
                "G-07 T-GMIR-X1 T-MIR-N01 T-MIR-N02",
            ),
            ("**T-FIN-01** — 5 pods. **-02** — none", "T-FIN-01 T-FIN-02"),
            ("**T-CIL-06..** and T-ANN-*, R69, G7, UTF-8, 2024-01-02", "T-CIL-06"),
        ] {
            assert_eq!(joined(&ids_in(text)), expected, "{text}");
        }
    }

    #[test]
    fn function_names_are_parsed_like_text() {
        for (name, expected) in [
            ("t_mir_n18_a_deletion", "T-MIR-N18"),
            ("t_x_01_hd1_no_hint", "T-X-01"),
            (
                "t_val_27_40_and_44_to_46_the_object",
                "T-VAL-27 T-VAL-40 T-VAL-44 T-VAL-45 T-VAL-46",
            ),
            ("g_25_bad_addresses", "G-25"),
            ("r72_the_order_of_2_ports", ""),
            ("t_rt_slices_that_exist_get_2_hints", ""),
        ] {
            assert_eq!(joined(&ids_in_name(name)), expected, "{name}");
        }
    }
}
