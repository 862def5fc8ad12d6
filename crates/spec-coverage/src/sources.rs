//! Finds the tests in a Rust source file.

/// A test with its doc comment and body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) name: String,
    /// Comments without slashes and code without indentation, joined to one line.
    pub(crate) text: String,
}

/// All tests in a source file. Relies on the layout of `cargo fmt`.
pub(crate) fn tests(source: &str) -> Vec<Test> {
    let lines: Vec<&str> = source.lines().collect();
    let is_test = |line: &&str| line.trim() == "#[test]" || line.trim().starts_with("#[tokio::test");
    let attributes = lines.iter().enumerate().filter(|(_, line)| is_test(line));
    attributes.filter_map(|(index, _)| test_at(&lines, index)).collect()
}

fn test_at(lines: &[&str], attribute: usize) -> Option<Test> {
    let above = lines[..attribute].iter().rev();
    let above = above.take_while(|line| line.trim().starts_with("//") || line.trim().starts_with("#["));
    let start = attribute - above.count();
    let indentation = &lines[attribute][..lines[attribute].find('#')?];
    let closing = format!("{indentation}}}");
    let end = attribute + lines[attribute..].iter().position(|line| *line == closing)?;
    let name = lines[attribute..end].iter().find_map(|line| line.split_once("fn "))?.1;
    let text = lines[start..=end]
        .iter()
        .map(|line| line.trim().trim_start_matches("//").trim_start_matches('/').trim());
    Some(Test {
        name: name.split('(').next()?.to_owned(),
        text: text.collect::<Vec<_>>().join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_with_its_comments_and_body() {
        let source = "\
//! T-NO-01: about the file.

/// T-NO-02: about a helper.
fn helper() {}

mod tests {
    /// T-YES-01,
    /// -02.
    #[tokio::test(flavor = \"multi_thread\")]
    #[ignore]
    async fn one() {
        for id in [1] {
            // T-YES-03
        }
    }

    #[test]
    fn two() {
        two();
    }

    // T-NO-03: behind.
}
";
        let found = tests(source);
        let names: Vec<&str> = found.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert!(found[0].text.starts_with("T-YES-01, -02. #[tokio"), "{found:?}");
        assert!(found[0].text.contains("T-YES-03"), "{found:?}");
        assert!(found.iter().all(|test| !test.text.contains("T-NO")), "{found:?}");
    }
}
