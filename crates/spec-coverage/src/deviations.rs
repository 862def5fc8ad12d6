//! Checks the tables of deviations: ids exist in the specification, and tests exist.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

pub(super) const FILE: &str = "docs/deviations.md";

/// The id of a rule or weakness, or the number of an issue; also a range such as `X1…10`.
static ID: LazyLock<Regex> = LazyLock::new(|| regex(r"\b([A-Z]{1,2})?(\d+[a-z]?)(?:…(\d+))?\b"));
/// A table row of the specifications with a weakness or defect of upstream.
static WEAKNESS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\| \**((?:W|D|HD|X)\d+[a-z]?)\** \|"));
/// A rule of the specifications that is marked as fixed here.
static FIX: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\*\*([GH]\d+[a-z]?)\..*\*\*FIX"));
static CODE: LazyLock<Regex> = LazyLock::new(|| regex("`([^`]+)`"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants and tested below")
}

/// Findings in the tables of deviations. The first cell of a row holds ids; in a table with the column "shown by", the last cell
/// lists tests.
pub(super) fn findings(text: &str, specifications: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut documented = BTreeSet::new();
    let mut lists_tests = false;
    for line in text
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|-"))
    {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        if *first == "id" {
            lists_tests = *last == "shown by";
            continue;
        }
        let ids = ids_in_cell(first);
        if ids.is_empty() {
            findings.push(format!("{FILE}: no id in {line:?}"));
        }
        for id in ids {
            if !contains_word(specifications, &id) {
                findings.push(format!("{FILE}: {id} is in no specification"));
            }
            documented.insert(id);
        }
        if lists_tests {
            findings.extend(missing_tests(first, last, tests));
        }
    }
    let required = WEAKNESS
        .captures_iter(specifications)
        .chain(FIX.captures_iter(specifications));
    let required: BTreeSet<&str> = required.filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let missing = required.into_iter().filter(|id| !documented.contains(*id));
    findings.extend(missing.map(|id| format!("{FILE} has no row for {id}")));
    findings
}

/// Deviations that scenarios allow but the tables do not document.
pub(super) fn undocumented(text: &str, allowed: &BTreeSet<&str>) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.split_once('|'));
    let documented: BTreeSet<String> = rows.flat_map(|(ids, _)| ids_in_cell(ids)).collect();
    let missing = allowed.iter().filter(|deviation| !documented.contains(**deviation));
    missing
        .map(|deviation| format!("{FILE} has no row for {deviation}, a deviation that scenarios allow"))
        .collect()
}

fn missing_tests(row: &str, test_cell: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let names: Vec<&str> = CODE
        .captures_iter(test_cell)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    if names.is_empty() {
        return vec![format!("{FILE}: {row} lists no test")];
    }
    let missing = names.into_iter().filter(|name| !tests.contains(*name));
    missing
        .map(|name| format!("{FILE}: {row} lists the test {name}, which does not exist"))
        .collect()
}

/// The ids in a cell, with ranges expanded.
fn ids_in_cell(cell: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for found in ID.captures_iter(cell) {
        let letters = found.get(1).map_or("", |letters| letters.as_str());
        ids.push(format!("{letters}{}", &found[2]));
        let last = found.get(3).and_then(|last| last.as_str().parse::<u32>().ok());
        if let (Ok(first), Some(last)) = (found[2].parse::<u32>(), last) {
            ids.extend((first + 1..=last).map(|number| format!("{letters}{number}")));
        }
    }
    ids
}

fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(word)
        .any(|(start, _)| !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIFICATIONS: &str = "\
| W1 | upstream forgets |
| **D2b** | a race |
| X1 | legacy |
| X2 | legacy |
**G8.** Two groups. **FIX**: merge them.
**G9.** Fine.
";
    const TABLES: &str = "\
| id | upstream | here | why | shown by |
|---|---|---|---|---|
| W1, G8 | forgets | remembers | better | `it_remembers`, vectors |

| id | reason |
|---|---|
| D2b | matched |
| X1…2 | legacy |
";

    fn findings_of(tables: &str) -> String {
        let tests = BTreeSet::from(["it_remembers".to_owned()]);
        findings(tables, SPECIFICATIONS, &tests).join("\n")
    }

    #[test]
    fn deviations_that_scenarios_allow_need_a_row() {
        assert_eq!(
            undocumented(TABLES, &BTreeSet::from(["W1", "X2"])),
            Vec::<String>::new()
        );
        let findings = undocumented(TABLES, &BTreeSet::from(["W1", "W2"])).join("\n");
        assert!(findings.contains("has no row for W2"), "{findings}");
    }

    #[test]
    fn every_weakness_has_a_row_and_every_listed_test_exists() {
        assert_eq!(findings_of(TABLES), "");
        for (from, to, expected) in [
            (
                "it_remembers",
                "it_forgets",
                "W1, G8 lists the test it_forgets, which does not exist",
            ),
            ("`it_remembers`, ", "", "W1, G8 lists no test"),
            ("W1, G8", "W1, G8, R99", "R99 is in no specification"),
            ("W1, G8", "nothing", "no id in"),
            ("W1, G8", "W1", "docs/deviations.md has no row for G8"),
            ("X1…2", "X1", "docs/deviations.md has no row for X2"),
        ] {
            let findings = findings_of(&TABLES.replace(from, to));
            assert!(findings.contains(expected), "{to}: {findings}");
        }
    }
}
