//! Coverage of the rules of the specifications.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::LazyLock,
};

use regex::Regex;

use crate::{EXCEPTIONS, sources};

/// The id of a rule, such as `R56a`.
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

/// Definition of a rule: the id at the start of a line, a list item or a table row.
static DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:\| |[-*] |\d+\. )?(?:\*\*)?([RMSHIG])(\d+)([a-z]?)(?:\.|\*\*| \|)"));
/// Mention of a rule, alone or as a range such as `R117…R126`, `M69–M74`, `H68 to 70`.
static MENTION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b([RMSHIG])(\d+)([a-z]?)(?:(?:…|–| to )[RMSHIG]?(\d+)([a-z]?))?\b"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are constants and tested below")
}

/// All rules, their coverage, and the exceptions.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Location of each definition.
    specified: BTreeMap<Rule, String>,
    /// What covers the rule: a test, a scenario or a recorded step.
    covered: BTreeMap<Rule, String>,
    /// The reason why nothing covers it.
    exceptions: BTreeMap<Rule, String>,
}

impl Rules {
    pub(super) fn add_specification(&mut self, file: &str, text: &str) {
        for (line, number) in text.lines().zip(1..) {
            let Some(found) = DEFINITION.captures(line) else {
                continue;
            };
            if let Some(rule) = Rule::new(&found[1], &found[2], &found[3]) {
                self.specified.entry(rule).or_insert_with(|| format!("{file}:{number}"));
            }
        }
    }

    /// Adds a test, which covers the rules in its doc comment, body and name.
    pub(super) fn add_test(&mut self, location: &str, test: &sources::Test) {
        self.cover(location, &test.text);
        self.cover(location, &name_as_text(&test.name));
    }

    /// Marks the rules in a text as covered.
    pub(super) fn cover(&mut self, location: &str, text: &str) {
        let rules = mentioned(text, &self.specified);
        self.covered
            .extend(rules.into_iter().map(|rule| (rule, location.to_owned())));
    }

    /// Adds the exceptions of a row such as `| R45…47 | reason |`.
    pub(super) fn add_exceptions(&mut self, rules: &str, reason: &str) {
        let rules = mentioned(rules, &self.specified);
        self.exceptions
            .extend(rules.into_iter().map(|rule| (rule, reason.to_owned())));
    }

    /// One line for each rule that is neither covered nor an exception, or both.
    pub(super) fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (rule, location) in &self.specified {
            match (self.covered.get(rule), self.exceptions.get(rule)) {
                (None, None) => findings.push(format!(
                    "{rule} ({location}) has no scenario, no recorded step, no test, and no reason in {EXCEPTIONS}"
                )),
                (Some(location), Some(_)) => {
                    findings.push(format!("{rule} is covered ({location}): remove it from {EXCEPTIONS}"));
                }
                (None, Some(reason)) if reason.is_empty() => {
                    findings.push(format!("{rule} ({EXCEPTIONS}) has no reason"));
                }
                _ => {}
            }
        }
        findings
    }

    /// The exceptions with their reasons, one line each.
    pub(super) fn exceptions(&self) -> impl Iterator<Item = String> {
        self.exceptions.iter().map(|(rule, reason)| format!("{rule}: {reason}"))
    }

    pub(super) fn summary(&self) -> String {
        let (specified, covered) = (self.specified.len(), self.covered.len());
        let exceptions = self.exceptions.len();
        format!("rules: {specified} specified, {covered} covered, {exceptions} exceptions")
    }
}

/// The specified rules that a text mentions. A range stands for all specified rules between its ends.
fn mentioned(text: &str, specified: &BTreeMap<Rule, String>) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    for found in MENTION.captures_iter(text) {
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

/// Converts a test name to text: `r103a_to_r103d_hints` becomes `R103a to R103d hints`.
fn name_as_text(name: &str) -> String {
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
**R1.** A rule. R7 is only mentioned.
**R2. Another.** And
**R2a.** its annex.
| **R3** *has* | in a table |
- **M8** in a list
2. **M9** in a list of steps
| S1 | a scenario |
| I7 against M83 | mentioned |
";

    fn rules() -> Rules {
        let mut rules = Rules::default();
        rules.add_specification("spec.md", SPECIFICATION);
        rules
    }

    fn covered_by(name: &str, words: &str) -> String {
        let mut rules = rules();
        let test = sources::Test {
            name: name.to_owned(),
            text: words.to_owned(),
        };
        rules.add_test("a test", &test);
        rules
            .covered
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn only_definitions_are_specified() {
        let found: Vec<String> = rules().specified.keys().map(ToString::to_string).collect();
        assert_eq!(found, ["M8", "M9", "R1", "R2", "R2a", "R3", "S1"]);
    }

    #[test]
    fn tests_cover_rules_in_their_text_and_name() {
        for (name, text, expected) in [
            ("a", "R1, R2a: it is so", "R1 R2a"),
            ("a", "R2–R3", "R2 R2a R3"),
            ("a", "R1…2 and M8 to M9", "M8 M9 R1 R2"),
            ("a", "R77, XR1, R1b, r1", ""),
            ("r2a_the_annex", "", "R2a"),
            ("r1_to_r2_and_m8_hold", "", "M8 R1 R2"),
            ("the_first_of_r3", "", "R3"),
        ] {
            assert_eq!(covered_by(name, text), expected, "{name} {text}");
        }
    }

    #[test]
    fn every_rule_is_covered_or_has_a_reason() {
        for (covered, exceptions, reason, expected) in [
            ("R1…3, M8…9, S1", "", "", String::new()),
            ("R1…3, M8…9", "S1", "not observable", String::new()),
            (
                "R1…3, M8…9",
                "",
                "",
                format!("S1 (spec.md:7) has no scenario, no recorded step, no test, and no reason in {EXCEPTIONS}"),
            ),
            ("R1…3, M8…9", "S1", "", format!("S1 ({EXCEPTIONS}) has no reason")),
            (
                "R1…3, M8…9, S1",
                "S1",
                "not observable",
                format!("S1 is covered (here): remove it from {EXCEPTIONS}"),
            ),
        ] {
            let mut rules = rules();
            rules.cover("here", covered);
            rules.add_exceptions(exceptions, reason);
            assert_eq!(rules.findings().join("\n"), expected, "{covered}");
        }
    }
}
