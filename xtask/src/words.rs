//! Words that the repository does not use: `xtask/words.txt` lists them with the words of the field that replace them.

use std::{collections::BTreeMap, fmt, path::Path};

use anyhow::{Context as _, bail, ensure};
use devtools::{files, read};

/// The list, relative to the root of the repository. The list itself is not checked.
const LIST: &str = "xtask/words.txt";
const CHECKED: [&str; 4] = ["*.rs", "*.md", "*.toml", "*.yml"];
const EXCEPTIONS_MAX: usize = 20;

/// Checks every file that Git tracks or would take.
pub(crate) fn run() -> anyhow::Result<()> {
    let list: List = read(Path::new(LIST))?
        .parse()
        .with_context(|| format!("cannot parse {LIST}"))?;
    let mut findings = Vec::new();
    let mut used = vec![false; list.exceptions.len()];
    for path in files(Path::new("."), &CHECKED)? {
        let name = path.display().to_string();
        for (number, line) in read(&path)?.lines().enumerate() {
            for found in list.find(line) {
                match list
                    .exceptions
                    .iter()
                    .position(|exception| exception.covers(&name, line, found))
                {
                    Some(index) => used[index] = true,
                    None => findings.push(format!(
                        "{name}:{}: {found:?} is not a word of this repository; use: {}",
                        number + 1,
                        list.replacements[found]
                    )),
                }
            }
        }
    }
    let unused = list.exceptions.iter().zip(used).filter(|(_, used)| !used);
    findings
        .extend(unused.map(|(exception, _)| format!("{LIST}: remove the exception {exception}, which covers no line")));
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    Ok(())
}

/// The banned phrases and the exceptions.
#[derive(Debug)]
struct List {
    /// Each phrase, and what to use instead.
    replacements: BTreeMap<String, String>,
    exceptions: Vec<Exception>,
}

/// A line that may have a phrase: `path: phrase: part of the line: reason`.
#[derive(Debug)]
struct Exception {
    path: String,
    phrase: String,
    part: String,
}

impl Exception {
    fn covers(&self, path: &str, line: &str, phrase: &str) -> bool {
        self.path == path && self.phrase == phrase && line.contains(&self.part)
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path, self.phrase, self.part)
    }
}

impl std::str::FromStr for List {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let lines = || text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut replacements = BTreeMap::new();
        for line in lines().take_while(|line| *line != "[exceptions]") {
            let (phrases, replacement) = line
                .split_once(": ")
                .with_context(|| format!("no replacement in {line:?}"))?;
            for phrase in phrases.split(", ") {
                replacements.insert(phrase.to_owned(), replacement.to_owned());
            }
        }
        let mut exceptions = Vec::new();
        for line in lines().skip_while(|line| *line != "[exceptions]").skip(1) {
            let fields: Vec<&str> = line.splitn(4, ": ").collect();
            let [path, phrase, part, reason] = fields[..] else {
                bail!("{line:?} is not `path: phrase: part of the line: reason`");
            };
            ensure!(!reason.trim().is_empty(), "{line:?} has no reason");
            exceptions.push(Exception {
                path: path.to_owned(),
                phrase: phrase.to_owned(),
                part: part.to_owned(),
            });
        }
        ensure!(
            exceptions.len() <= EXCEPTIONS_MAX,
            "{} exceptions, {EXCEPTIONS_MAX} at most",
            exceptions.len()
        );
        Ok(Self {
            replacements,
            exceptions,
        })
    }
}

impl List {
    /// The banned phrases of a line.
    fn find(&self, line: &str) -> Vec<&str> {
        let words = format!(" {} ", words(line).join(" "));
        let phrases = self.replacements.keys().map(String::as_str);
        phrases
            .filter(|phrase| words.contains(&format!(" {phrase} ")))
            .collect()
    }
}

/// The words of a line in lower case. `camelCase`, `CamelCase`, `snake_case` and `kebab-case` are several words.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lowercase = false;
    for character in line.chars() {
        if !character.is_alphabetic() || (character.is_uppercase() && after_lowercase) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        }
        after_lowercase = character.is_lowercase();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        read(&Path::new("..").join(LIST)).unwrap().parse().unwrap()
    }

    #[test]
    fn listed_phrase_is_found_in_identifiers_comments_and_texts() {
        let list = list();
        for phrase in list.replacements.keys() {
            let parts: Vec<&str> = phrase.split(' ').collect();
            let capitalized = |part: &&str| part[..1].to_uppercase() + &part[1..];
            let camel: String = parts.iter().map(capitalized).collect();
            for line in [
                format!("/// The key, {phrase}."),
                format!("fn {}(self)", parts.join("_")),
                format!("struct {camel};"),
                format!("`docs/{}.md`", parts.join("-")),
            ] {
                assert!(list.find(&line).contains(&&**phrase), "{line}");
            }
        }
    }

    #[test]
    fn part_of_a_word_is_not_found() {
        for line in [
            "newsletter",
            "unwanted",
            "settlement",
            "clear the table",
            "let heredoc = 1;",
        ] {
            assert_eq!(list().find(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn exception_needs_path_phrase_part_and_reason() {
        for (exception, expected) in [
            ("a.rs: oldword: the line: a quotation", true),
            ("a.rs: oldword: the line:  ", false),
            ("a.rs: oldword", false),
        ] {
            let parsed = format!("oldword: event\n[exceptions]\n{exception}").parse::<List>();
            assert_eq!(parsed.is_ok(), expected, "{exception}");
        }
        let many = "a.rs: oldword: the line: a quotation\n".repeat(EXCEPTIONS_MAX + 1);
        assert!(format!("oldword: event\n[exceptions]\n{many}").parse::<List>().is_err());
    }

    #[test]
    fn exception_covers_one_line_of_one_file() {
        let list: List = "oldword: event\n[exceptions]\na.rs: oldword: the line: a quotation"
            .parse()
            .unwrap();
        let [exception] = &list.exceptions[..] else {
            panic!("{list:?}")
        };
        assert!(exception.covers("a.rs", "the line has oldword", "oldword"));
        assert!(!exception.covers("b.rs", "the line has oldword", "oldword"));
        assert!(!exception.covers("a.rs", "another has oldword", "oldword"));
    }
}
