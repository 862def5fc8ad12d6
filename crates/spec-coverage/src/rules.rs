//! The rules of the specifications: which of them nothing shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::LazyLock,
};

use regex::Regex;

use super::LEFT_OUT;
use crate::sources;

/// A rule, such as `R56a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    family: String,
    number: u32,
    letter: String,
}

impl Rule {
    fn new(family: &str, number: &str, letter: &str) -> Option<Self> {
        Some(Self {
            family: family.to_owned(),
            number: number.parse().ok()?,
            letter: letter.to_owned(),
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.family, self.number, self.letter)
    }
}

/// How a rule is laid down: at the beginning of a line, of an item or of a row.
static LAID_DOWN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:\| |[-*] |\d+\. )?(?:\*\*)?([RMSHIG])(\d+)([a-z]?)(?:\.|\*\*| \|)"));
/// How it is named elsewhere, alone or as in `R117…R126`, `M69–M74`, `H68 to 70`.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b([RMSHIG])(\d+)([a-z]?)(?:(?:…|–| to )[RMSHIG]?(\d+)([a-z]?))?\b"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("it is tested below")
}

/// All rules, who shows them, and why the others are shown by nobody.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Where each is laid down.
    specified: BTreeMap<Rule, String>,
    /// Who shows it: a test, a scenario or a recorded step.
    shown: BTreeMap<Rule, String>,
    left_out: BTreeMap<Rule, String>,
}

impl Rules {
    pub(super) fn specify(&mut self, file: &str, text: &str) {
        for (line, number) in text.lines().zip(1..) {
            let Some(found) = LAID_DOWN.captures(line) else {
                continue;
            };
            if let Some(rule) = Rule::new(&found[1], &found[2], &found[3]) {
                self.specified.entry(rule).or_insert_with(|| format!("{file}:{number}"));
            }
        }
    }

    /// A test names rules in and above it, and in its name.
    pub(super) fn test(&mut self, place: &str, test: &sources::Test) {
        self.show(place, &test.text);
        self.show(place, &spelled_out(&test.name));
    }

    /// Something shows the rules that a text names.
    pub(super) fn show(&mut self, place: &str, text: &str) {
        let named = named(text, &self.specified);
        self.shown
            .extend(named.into_iter().map(|rule| (rule, place.to_owned())));
    }

    /// Reads a row such as `| R45…47 | how it starts: … |`.
    pub(super) fn leave_out(&mut self, rules: &str, reason: &str) {
        let named = named(rules, &self.specified);
        self.left_out
            .extend(named.into_iter().map(|rule| (rule, reason.to_owned())));
    }

    pub(super) fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (rule, place) in &self.specified {
            match (self.shown.get(rule), self.left_out.get(rule)) {
                (None, None) => complaints.push(format!(
                    "{rule} ({place}) has no scenario, no recorded step, no test, and no reason in {LEFT_OUT}"
                )),
                (Some(shown), Some(_)) => {
                    complaints.push(format!("{rule} is shown ({shown}): remove it from {LEFT_OUT}"));
                }
                (None, Some(reason)) if reason.is_empty() => {
                    complaints.push(format!("{rule} ({LEFT_OUT}) is left out without a reason"));
                }
                _ => {}
            }
        }
        complaints
    }

    /// What is left out, and why.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|(rule, reason)| format!("{rule}: {reason}"))
    }

    pub(super) fn summary(&self) -> String {
        let (all, shown) = (self.specified.len(), self.shown.len());
        format!("{all} rules, {shown} shown, {} left out", self.left_out.len())
    }
}

/// The rules that a text names, of those that there are. A range is all that there are between its ends.
fn named(text: &str, specified: &BTreeMap<Rule, String>) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    for found in NAMED.captures_iter(text) {
        let part = |index| found.get(index).map_or("", |part| part.as_str());
        let Some(first) = Rule::new(part(1), part(2), part(3)) else {
            continue;
        };
        let last = Rule::new(part(1), part(4), part(5)).unwrap_or_else(|| first.clone());
        if first <= last {
            rules.extend(specified.range(first..=last).map(|(rule, _)| rule.clone()));
        }
    }
    rules
}

/// `r103a_to_r103d_hints` as `R103a to R103d hints`.
fn spelled_out(name: &str) -> String {
    let words = name.split('_').map(|word| match word.chars().next() {
        Some(first) if word[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{}{}", first.to_ascii_uppercase(), &word[first.len_utf8()..])
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIFICATION: &str = "\
**R1.** A rule. R7 is only spoken of.
**R2. Another.** And
**R2a.** its annex.
| **R3** *has* | in a table |
- **M8** in a list
2. **M9** in a list of steps
| S1 | a scenario |
| I7 against M83 | spoken of |
";

    fn rules() -> Rules {
        let mut rules = Rules::default();
        rules.specify("spec.md", SPECIFICATION);
        rules
    }

    fn shown_by(name: &str, words: &str) -> String {
        let mut rules = rules();
        let test = sources::Test {
            name: name.to_owned(),
            text: words.to_owned(),
        };
        rules.test("a test", &test);
        rules
            .shown
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn rules_are_found_where_they_are_laid_down() {
        let found: Vec<String> = rules().specified.keys().map(ToString::to_string).collect();
        assert_eq!(found, ["M8", "M9", "R1", "R2", "R2a", "R3", "S1"]);
    }

    #[test]
    fn tests_name_rules_in_words_and_in_their_names() {
        for (name, text, expected) in [
            ("a", "R1, R2a: it is so", "R1 R2a"),
            ("a", "R2–R3", "R2 R2a R3"),
            ("a", "R1…2 and M8 to M9", "M8 M9 R1 R2"),
            ("a", "R77, XR1, R1b, r1", ""),
            ("r2a_the_annex", "", "R2a"),
            ("r1_to_r2_and_m8_hold", "", "M8 R1 R2"),
            ("the_first_of_r3", "", "R3"),
        ] {
            assert_eq!(shown_by(name, text), expected, "{name} {text}");
        }
    }

    #[test]
    fn every_rule_is_shown_or_has_a_reason() {
        for (shown, left_out, reason, expected) in [
            ("R1…3, M8…9, S1", "", "", ""),
            ("R1…3, M8…9", "S1", "nobody can see it", ""),
            (
                "R1…3, M8…9",
                "",
                "",
                "S1 (spec.md:7) has no scenario, no recorded step, no test, and no reason in docs/left-out.md",
            ),
            (
                "R1…3, M8…9",
                "S1",
                "",
                "S1 (docs/left-out.md) is left out without a reason",
            ),
            (
                "R1…3, M8…9, S1",
                "S1",
                "nobody can see it",
                "S1 is shown (here): remove it from docs/left-out.md",
            ),
        ] {
            let mut rules = rules();
            rules.show("here", shown);
            rules.leave_out(left_out, reason);
            assert_eq!(rules.complaints().join("\n"), expected, "{shown}");
        }
    }
}
