//! docs/operate.md has a row for every log line of level INFO and above, and no other rows.

use std::fs;

use crate::markdown::{document, root};

/// The packages that the programs consist of.
const PACKAGES: [&str; 8] = [
    "bins/endpointslice-controller",
    "bins/endpointslice-mirroring-controller",
    "crates/mirroring",
    "crates/service-slices",
    "crates/slice-controller",
    "crates/slice-core",
    "crates/slice-reconciler",
    "crates/slice-runtime",
];

/// The messages that the macros of these names log in a source text: of each call, the last string literal that is an argument.
fn messages(source: &str, macros: &[&str]) -> Vec<String> {
    let calls = macros.iter().flat_map(|name| {
        let start = format!("{name}!(");
        let starts: Vec<usize> = source
            .match_indices(&start)
            .map(|(index, _)| index + start.len())
            .collect();
        starts
    });
    let message = |start: usize| {
        literals(&source[start..])
            .pop()
            .unwrap_or_else(|| panic!("{}", &source[start..]))
    };
    calls.map(message).collect()
}

/// The string literals among the arguments of a call, outside of nested calls, up to its closing bracket.
fn literals(arguments: &str) -> Vec<String> {
    let (mut depth, mut literals) = (0, Vec::new());
    let mut characters = arguments.chars();
    while let Some(character) = characters.next() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            '"' => {
                let mut literal = String::new();
                while let Some(character) = characters.next().filter(|character| *character != '"') {
                    match character {
                        '\\' => literal.extend(characters.next()),
                        character => literal.push(character),
                    }
                }
                if depth == 0 {
                    // After a backslash, the line break and the indentation are no part of it.
                    let lines = literal.lines().enumerate();
                    let lines = lines.map(|(index, line)| if index == 0 { line } else { line.trim_start() });
                    literals.push(lines.collect());
                }
            }
            _ => {}
        }
    }
    literals
}

/// The code of all packages without that of tests.
fn sources() -> Vec<String> {
    let mut sources = Vec::new();
    for package in PACKAGES {
        let directory = root().join(package).join("src");
        for path in devtools::rust_files(&directory).unwrap() {
            let of_tests = ["tests", "tests.rs", "fixtures.rs"];
            if path.iter().any(|part| of_tests.iter().any(|name| part == *name)) {
                continue;
            }
            let text = fs::read_to_string(directory.join(path)).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            sources.push(code.to_owned());
        }
    }
    sources
}

/// Whether the rows of the table with this head are the messages of these macros.
fn check(head: &str, macros: &[&str], at_least: usize) {
    let messages: Vec<String> = sources().iter().flat_map(|source| messages(source, macros)).collect();
    assert!(messages.len() >= at_least, "{messages:#?}");
    let rows = document("docs/operate.md").first_column(head);
    for message in &messages {
        let described = rows.iter().flatten().any(|start| message.starts_with(start));
        assert!(described, "docs/operate.md lacks in the table `{head}`: {message}");
    }
    for row in rows {
        assert!(
            !row.is_empty(),
            "docs/operate.md: a row of the table `{head}` names no line"
        );
        for start in row {
            let logged = messages.iter().any(|message| message.starts_with(&start));
            assert!(logged, "docs/operate.md, table `{head}`: no code logs {start}");
        }
    }
}

#[test]
fn operators_find_every_warning_and_error_in_the_log() {
    check("line begins with", &["warn", "error"], 25);
}

#[test]
fn operators_find_every_info_line_in_the_log() {
    check("INFO line begins with", &["info"], 20);
}

/// Log lines are written by the macros that the other tests find.
#[test]
fn no_code_logs_by_other_macros() {
    for source in sources() {
        for other in ["tracing::event!", "log::", "event!(", "enabled!("] {
            let uses = source.match_indices(other);
            let mut uses = uses.filter(|(index, _)| {
                !source[..*index].ends_with(|before: char| before.is_alphanumeric() || before == '_')
            });
            assert_eq!(uses.next(), None, "{other}");
        }
    }
}

#[test]
fn messages_are_the_last_arguments_of_calls() {
    let source = r#"
        Ok(()) => tracing::info!("stopped"),
        Err(error) => tracing::warn!(%error, list = list.join(", "), "it \"failed\"; \
                 {} times", count("x")),
    "#;
    assert_eq!(messages(source, &["info"]), ["stopped"]);
    assert_eq!(messages(source, &["warn"]), [r#"it "failed"; {} times"#]);
}
