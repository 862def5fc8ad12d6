//! Whether what is said about deviations leads somewhere.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

pub(super) const FILE: &str = "docs/deviations.md";

/// A rule, a weakness, or the number of an issue; ranges as in `X1…10`.
static MARK: LazyLock<Regex> = LazyLock::new(|| regex(r"\b([A-Z]{1,2})?(\d+[a-z]?)(?:…(\d+))?\b"));
/// A row of the tables in which the specifications list what upstream does wrong.
static WEAKNESS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\| \**((?:W|D|HD|X)\d+[a-z]?)\** \|"));
/// A rule that the specifications ask us to do better.
static FIX: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\*\*([GH]\d+[a-z]?)\..*\*\*FIX"));
static CODE: LazyLock<Regex> = LazyLock::new(|| regex("`([^`]+)`"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("it is tested below")
}

/// What is wrong with the tables of deviations. The first cell of a row holds ids, the last one of a table that says
/// "shown by" names tests.
pub(super) fn complaints(text: &str, specifications: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut documented = BTreeSet::new();
    let mut names_tests = false;
    for line in text
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|-"))
    {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        if *first == "id" {
            names_tests = *last == "shown by";
            continue;
        }
        let marks = marks(first);
        if marks.is_empty() {
            complaints.push(format!("{FILE}: no id in {line:?}"));
        }
        for mark in marks {
            if !contains_word(specifications, &mark) {
                complaints.push(format!("{FILE}: {mark} is in no specification"));
            }
            documented.insert(mark);
        }
        if names_tests {
            complaints.extend(missing_tests(first, last, tests));
        }
    }
    let marked = WEAKNESS
        .captures_iter(specifications)
        .chain(FIX.captures_iter(specifications));
    let marked: BTreeSet<&str> = marked.filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let unsaid = marked.into_iter().filter(|mark| !documented.contains(*mark));
    complaints.extend(unsaid.map(|mark| format!("{FILE} does not say what becomes of {mark}")));
    complaints
}

/// Excuses of scenarios for which the tables have no row.
pub(super) fn undocumented(text: &str, excuses: &BTreeSet<&str>) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.split_once('|'));
    let documented: BTreeSet<String> = rows.flat_map(|(ids, _)| marks(ids)).collect();
    let missing = excuses.iter().filter(|excuse| !documented.contains(**excuse));
    missing
        .map(|excuse| format!("{FILE} does not speak of {excuse}, by which scenarios excuse a difference"))
        .collect()
}

fn missing_tests(row: &str, shown_by: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let names: Vec<&str> = CODE
        .captures_iter(shown_by)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    if names.is_empty() {
        return vec![format!("{FILE}: no test shows {row}")];
    }
    let missing = names.into_iter().filter(|name| !tests.contains(*name));
    missing
        .map(|name| format!("{FILE}: there is no test {name}, which is to show {row}"))
        .collect()
}

/// The ids in a cell, ranges spelled out.
fn marks(cell: &str) -> Vec<String> {
    let mut marks = Vec::new();
    for found in MARK.captures_iter(cell) {
        let letters = found.get(1).map_or("", |letters| letters.as_str());
        marks.push(format!("{letters}{}", &found[2]));
        let last = found.get(3).and_then(|last| last.as_str().parse::<u32>().ok());
        if let (Ok(first), Some(last)) = (found[2].parse::<u32>(), last) {
            marks.extend((first + 1..=last).map(|number| format!("{letters}{number}")));
        }
    }
    marks
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

    fn said(tables: &str) -> String {
        let tests = BTreeSet::from(["it_remembers".to_owned()]);
        complaints(tables, SPECIFICATIONS, &tests).join("\n")
    }

    #[test]
    fn scenarios_excuse_themselves_by_what_is_documented() {
        assert_eq!(
            undocumented(TABLES, &BTreeSet::from(["W1", "X2"])),
            Vec::<String>::new()
        );
        let said = undocumented(TABLES, &BTreeSet::from(["W1", "W2"])).join("\n");
        assert!(said.contains("does not speak of W2"), "{said}");
    }

    #[test]
    fn every_mark_is_spoken_of_and_every_name_leads_to_a_test() {
        assert_eq!(said(TABLES), "");
        for (from, to, expected) in [
            (
                "it_remembers",
                "it_forgets",
                "there is no test it_forgets, which is to show W1, G8",
            ),
            ("`it_remembers`, ", "", "no test shows W1, G8"),
            ("W1, G8", "W1, G8, R99", "R99 is in no specification"),
            ("W1, G8", "nothing", "no id in"),
            ("W1, G8", "W1", "docs/deviations.md does not say what becomes of G8"),
            ("X1…2", "X1", "docs/deviations.md does not say what becomes of X2"),
        ] {
            let said = said(&TABLES.replace(from, to));
            assert!(said.contains(expected), "{to}: {said}");
        }
    }
}
