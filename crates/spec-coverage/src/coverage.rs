//! Coverage of the test cases, and the report of all findings.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

use crate::{
    EXCEPTIONS,
    ids::{TestCaseId, ids_in, ids_in_name},
    rules::Rules,
    sources,
};

/// Specified ids, the tests that cover them, and the exceptions.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// Location of each test case in the specification.
    specified: BTreeMap<TestCaseId, String>,
    /// A test or scenario that mentions the id.
    covered: BTreeMap<TestCaseId, String>,
    /// The reason why no test covers it.
    exceptions: BTreeMap<TestCaseId, String>,
    pub(crate) rules: Rules,
}

impl Coverage {
    pub(crate) fn add_specification(&mut self, file: &str, text: &str) {
        for (line, number) in text.lines().zip(1..) {
            for id in ids_in(line) {
                self.specified.entry(id).or_insert_with(|| format!("{file}:{number}"));
            }
        }
        self.rules.add_specification(file, text);
    }

    pub(crate) fn add_test(&mut self, location: &str, test: &sources::Test) {
        let ids = ids_in(&test.text).into_iter().chain(ids_in_name(&test.name));
        self.covered.extend(ids.map(|id| (id, location.to_owned())));
        self.rules.add_test(location, test);
    }

    /// Adds a scenario, which covers the listed test cases and rules.
    pub(crate) fn add_scenario(&mut self, location: &str, ids: &str) {
        self.covered
            .extend(ids_in(ids).into_iter().map(|id| (id, location.to_owned())));
        self.rules.cover(location, ids);
    }

    /// Reads rows such as `| T-EP-01…156 | not part of this project |`.
    pub(crate) fn add_exceptions(&mut self, text: &str) {
        let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.split_once('|'));
        for (ids, reason) in rows {
            let reason = reason.trim_end_matches('|').trim();
            self.exceptions
                .extend(ids_in(ids).into_iter().map(|id| (id, reason.to_owned())));
            self.rules.add_exceptions(ids, reason);
        }
    }

    /// One line for each id that is neither covered nor an exception, or both, or unknown.
    pub(crate) fn findings(&self) -> Vec<String> {
        let numbers: BTreeSet<_> = self.specified.keys().map(|id| (&*id.family, id.number)).collect();
        let mut findings = Vec::new();
        for (id, location) in &self.specified {
            if !self.covered.contains_key(id) && !self.exceptions.contains_key(id) {
                findings.push(format!(
                    "{id} ({location}) has neither a test nor a reason in {EXCEPTIONS}"
                ));
            }
            if id.number > 1 && !numbers.contains(&(&*id.family, id.number - 1)) {
                findings.push(format!(
                    "{id} ({location}): the previous number is missing, check the ids before it"
                ));
            }
        }
        for (id, location) in &self.covered {
            if !self.specified.contains_key(id) {
                findings.push(format!("{id} ({location}) is in no specification"));
            }
        }
        for (id, reason) in &self.exceptions {
            if let Some(location) = self.covered.get(id) {
                findings.push(format!("{id} has a test ({location}): remove it from {EXCEPTIONS}"));
            }
            if !self.specified.contains_key(id) {
                findings.push(format!("{id} ({EXCEPTIONS}) is in no specification"));
            }
            if reason.is_empty() {
                findings.push(format!("{id} ({EXCEPTIONS}) has no reason"));
            }
        }
        findings.extend(self.rules.findings());
        findings
    }

    /// Prints the exceptions if requested, the findings and the totals. Fails if there is a finding.
    pub(crate) fn report(&self, with_exceptions: bool, findings: &[String]) -> anyhow::Result<()> {
        if with_exceptions {
            for (id, reason) in &self.exceptions {
                println!("{id}: {reason}");
            }
            self.rules.exceptions().for_each(|line| println!("{line}"));
        }
        for finding in findings {
            println!("{finding}");
        }
        println!("{}", self.rules.summary());
        let covered = self.covered.keys().filter(|id| self.specified.contains_key(id)).count();
        println!(
            "test cases: {} specified, {covered} covered, {} exceptions",
            self.specified.len(),
            self.exceptions.len()
        );
        println!("findings: {}", findings.len());
        if !findings.is_empty() {
            bail!("spec coverage is incomplete: {} findings, see above", findings.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Findings for a specification, the text of a test, and a table of exceptions.
    fn findings(specified: &str, covered: &str, exceptions: &str) -> String {
        let mut coverage = Coverage::default();
        coverage.add_specification("spec.md", specified);
        let test = sources::Test {
            name: "covers_it".to_owned(),
            text: covered.to_owned(),
        };
        coverage.add_test("a.rs: covers_it", &test);
        coverage.add_exceptions(exceptions);
        coverage.findings().join("\n")
    }

    #[test]
    fn every_id_has_a_test_or_a_reason() {
        let specified = "| T-REC-01…02 |\n| T-REC-03 |";
        for (covered, exceptions, expected) in [
            ("T-REC-01…03", "", String::new()),
            ("T-REC-01, -03", "| T-REC-02 | unreachable |", String::new()),
            (
                "T-REC-01…02",
                "",
                format!("T-REC-03 (spec.md:2) has neither a test nor a reason in {EXCEPTIONS}"),
            ),
            (
                "T-REC-01…03",
                "| T-REC-02 | unreachable |",
                format!("T-REC-02 has a test (a.rs: covers_it): remove it from {EXCEPTIONS}"),
            ),
            (
                "T-REC-01…02",
                "| T-REC-03 | |",
                format!("T-REC-03 ({EXCEPTIONS}) has no reason"),
            ),
            (
                "T-REC-01…04",
                "",
                "T-REC-04 (a.rs: covers_it) is in no specification".to_owned(),
            ),
            (
                "T-REC-01…03",
                "| T-REC-04 | unreachable |",
                format!("T-REC-04 ({EXCEPTIONS}) is in no specification"),
            ),
        ] {
            assert_eq!(findings(specified, covered, exceptions), expected);
        }
    }

    /// A gap means that an id before it was misspelt and not recognised.
    #[test]
    fn a_gap_in_the_numbers_is_a_finding() {
        assert_eq!(
            findings("G-01, G-03", "G-01, G-03", ""),
            "G-03 (spec.md:1): the previous number is missing, check the ids before it"
        );
    }
}
