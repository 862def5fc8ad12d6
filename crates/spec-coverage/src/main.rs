//! `cargo xtask catalogue`: whether every test case and every rule of the specifications is shown, or has a reason not to be.

mod deviations;
mod ids;
mod rules;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Parser;
use devtools::{read, rust_files};

use self::{
    ids::{Id, ids_in, ids_in_name},
    rules::Rules,
};

const SPECIFICATIONS: &str = "docs/spec";
const LEFT_OUT: &str = "docs/left-out.md";
/// The tests of the commands name ids without showing them.
const NOT_SEARCHED: [&str; 4] = [
    "crates/conformance/src",
    "crates/demo/src",
    "crates/spec-coverage/src",
    "crates/vectors/src",
];

/// List the test cases of the specifications that no test shows
#[derive(Debug, Parser)]
#[command(name = "cargo xtask catalogue", bin_name = "cargo xtask catalogue")]
struct Args {
    /// Print what is left out, and why
    #[arg(long)]
    left_out: bool,
}

#[derive(Debug, Default)]
struct Catalogue {
    /// Where each id is specified.
    specified: BTreeMap<Id, String>,
    /// A test or scenario that names it.
    tested: BTreeMap<Id, String>,
    /// Why it has none.
    left_out: BTreeMap<Id, String>,
    rules: Rules,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut catalogue = Catalogue::default();
    let mut specifications = String::new();
    for file in specification_files(&root)? {
        let text = read(&root.join(&file))?;
        catalogue.specify(&file, &text);
        specifications.push_str(&text);
    }
    let mut tests = BTreeSet::new();
    for file in rust_files(&root)? {
        if NOT_SEARCHED.iter().any(|directory| file.starts_with(directory)) {
            continue;
        }
        for test in sources::tests(&read(&root.join(&file))?) {
            catalogue.test(&format!("{}: {}", file.display(), test.name), &test);
            tests.insert(test.name);
        }
    }
    for (scenario, rules) in conformance::played() {
        catalogue.play(&format!("scenario {scenario}"), &rules);
    }
    for deviation in vectors::deviations() {
        catalogue.rules.show("recorded steps", deviation);
    }
    catalogue.leave_out(&read(&root.join(LEFT_OUT))?);
    let mut complaints = catalogue.complaints();
    let deviations = read(&root.join(deviations::FILE))?;
    complaints.extend(deviations::complaints(&deviations, &specifications, &tests));
    let excuses = conformance::excuses();
    complaints.extend(deviations::undocumented(&deviations, &excuses));
    catalogue.report(args.left_out, &complaints)
}

fn specification_files(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let directory = root.join(SPECIFICATIONS);
    let listed = fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let names = listed.filter_map(Result::ok).map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    Ok(names.map(|name| format!("{SPECIFICATIONS}/{name}")).collect())
}

impl Catalogue {
    fn specify(&mut self, file: &str, text: &str) {
        for (line, number) in text.lines().zip(1..) {
            for id in ids_in(line) {
                self.specified.entry(id).or_insert_with(|| format!("{file}:{number}"));
            }
        }
        self.rules.specify(file, text);
    }

    fn test(&mut self, place: &str, test: &sources::Test) {
        let ids = ids_in(&test.text).into_iter().chain(ids_in_name(&test.name));
        self.tested.extend(ids.map(|id| (id, place.to_owned())));
        self.rules.test(place, test);
    }

    /// A scenario shows the test cases and rules that it names.
    fn play(&mut self, place: &str, named: &str) {
        self.tested
            .extend(ids_in(named).into_iter().map(|id| (id, place.to_owned())));
        self.rules.show(place, named);
    }

    /// Reads rows such as `| T-EP-01…156 | nobody runs this controller any more |`.
    fn leave_out(&mut self, text: &str) {
        let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.split_once('|'));
        for (ids, reason) in rows {
            let reason = reason.trim_end_matches('|').trim();
            self.left_out
                .extend(ids_in(ids).into_iter().map(|id| (id, reason.to_owned())));
            self.rules.leave_out(ids, reason);
        }
    }

    fn complaints(&self) -> Vec<String> {
        let numbers: BTreeSet<_> = self.specified.keys().map(|id| (&*id.family, id.number)).collect();
        let mut complaints = Vec::new();
        for (id, place) in &self.specified {
            if !self.tested.contains_key(id) && !self.left_out.contains_key(id) {
                complaints.push(format!("{id} ({place}) has neither a test nor a reason in {LEFT_OUT}"));
            }
            if id.number > 1 && !numbers.contains(&(&*id.family, id.number - 1)) {
                complaints.push(format!("{id} ({place}) follows on no other: is one misspelled?"));
            }
        }
        for (id, place) in &self.tested {
            if !self.specified.contains_key(id) {
                complaints.push(format!("{id} ({place}) is in no specification"));
            }
        }
        for (id, reason) in &self.left_out {
            if let Some(place) = self.tested.get(id) {
                complaints.push(format!("{id} has a test ({place}): remove it from {LEFT_OUT}"));
            }
            if !self.specified.contains_key(id) {
                complaints.push(format!("{id} ({LEFT_OUT}) is in no specification"));
            }
            if reason.is_empty() {
                complaints.push(format!("{id} ({LEFT_OUT}) is left out without a reason"));
            }
        }
        complaints.extend(self.rules.complaints());
        complaints
    }

    fn report(&self, left_out: bool, complaints: &[String]) -> anyhow::Result<()> {
        if left_out {
            for (id, reason) in &self.left_out {
                println!("{id}: {reason}");
            }
            self.rules.left_out().for_each(|line| println!("{line}"));
        }
        for complaint in complaints {
            println!("{complaint}");
        }
        println!("rules: {}", self.rules.summary());
        let tested = self.tested.keys().filter(|id| self.specified.contains_key(id)).count();
        println!(
            "catalogue: {} ids, {tested} with a test, {} left out, {} complaints",
            self.specified.len(),
            self.left_out.len(),
            complaints.len()
        );
        if !complaints.is_empty() {
            bail!(
                "the catalogue of tests is not in order: {} complaints",
                complaints.len()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is complained about, given the ids that tests name and the rows of those left out.
    fn complaints(specified: &str, tested: &str, left_out: &str) -> String {
        let mut catalogue = Catalogue::default();
        catalogue.specify("spec.md", specified);
        let test = sources::Test {
            name: "shows_it".to_owned(),
            text: tested.to_owned(),
        };
        catalogue.test("a.rs: shows_it", &test);
        catalogue.leave_out(left_out);
        catalogue.complaints().join("\n")
    }

    #[test]
    fn every_id_has_a_test_or_a_reason() {
        let specified = "| T-REC-01…02 |\n| T-REC-03 |";
        for (tested, left_out, expected) in [
            ("T-REC-01…03", "", ""),
            ("T-REC-01, -03", "| T-REC-02 | unreachable |", ""),
            (
                "T-REC-01…02",
                "",
                "T-REC-03 (spec.md:2) has neither a test nor a reason in docs/left-out.md",
            ),
            (
                "T-REC-01…03",
                "| T-REC-02 | unreachable |",
                "T-REC-02 has a test (a.rs: shows_it): remove it from docs/left-out.md",
            ),
            (
                "T-REC-01…02",
                "| T-REC-03 | |",
                "T-REC-03 (docs/left-out.md) is left out without a reason",
            ),
            ("T-REC-01…04", "", "T-REC-04 (a.rs: shows_it) is in no specification"),
            (
                "T-REC-01…03",
                "| T-REC-04 | unreachable |",
                "T-REC-04 (docs/left-out.md) is in no specification",
            ),
        ] {
            assert_eq!(complaints(specified, tested, left_out), expected);
        }
    }

    #[test]
    fn a_gap_in_the_numbers_is_an_id_that_was_not_read() {
        assert_eq!(
            complaints("G-01, G-03", "G-01, G-03", ""),
            "G-03 (spec.md:1) follows on no other: is one misspelled?"
        );
    }
}
