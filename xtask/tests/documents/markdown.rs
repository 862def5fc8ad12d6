//! The Markdown files of the repository, and their parts: code, text, links and tables.

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A Markdown file; its path is relative to the root of the repository.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block of code.
pub(crate) struct Block<'a> {
    pub(crate) language: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

/// Every Markdown file that Git tracks or would take.
pub(crate) fn documents() -> Vec<Document> {
    let paths = devtools::files(root(), &["*.md"]).unwrap();
    let documents: Vec<Document> = paths
        .into_iter()
        .map(|path| Document {
            text: fs::read_to_string(root().join(&path)).unwrap(),
            path,
        })
        .collect();
    assert!(documents.len() > 30, "{} documents", documents.len());
    documents
}

pub(crate) fn document(path: &str) -> Document {
    Document {
        path: PathBuf::from(path),
        text: fs::read_to_string(root().join(path)).unwrap(),
    }
}

impl Document {
    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        self.split().0
    }

    /// The text outside of code blocks: paragraphs, list items, headings and table rows, each in one line.
    pub(crate) fn paragraphs(&self) -> Vec<String> {
        self.split().1
    }

    /// The texts between backticks, outside of code blocks.
    pub(crate) fn code_spans(&self) -> Vec<String> {
        self.paragraphs().iter().flat_map(|line| spans(line)).collect()
    }

    /// The texts between backticks, and the lines of code blocks.
    pub(crate) fn code(&self) -> Vec<String> {
        let blocks = self.blocks();
        let lines = blocks
            .iter()
            .flat_map(|block| block.lines.iter().map(|&line| line.to_owned()));
        self.code_spans().into_iter().chain(lines).collect()
    }

    /// The code spans in the first column of the table with this head, one list per row.
    pub(crate) fn first_column(&self, head: &str) -> Vec<Vec<String>> {
        let mut rows = self
            .text
            .lines()
            .skip_while(|line| !line.starts_with(&format!("| {head} |")));
        assert!(rows.next().is_some(), "{} has no table `{head}`", self.path.display());
        let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
        rows.map(|row| spans(row.split('|').nth(1).unwrap())).collect()
    }

    fn split(&self) -> (Vec<Block<'_>>, Vec<String>) {
        let (mut blocks, mut paragraphs) = (Vec::<Block<'_>>::new(), vec![String::new()]);
        let mut in_block = false;
        for line in self.text.lines() {
            let trimmed = line.trim();
            if let Some(language) = trimmed.strip_prefix("```") {
                in_block = !in_block;
                if in_block {
                    blocks.push(Block {
                        language,
                        lines: Vec::new(),
                    });
                    paragraphs.push(String::new());
                }
            } else if in_block {
                blocks.last_mut().unwrap().lines.push(line);
            } else {
                let starts = ["|", "#", "* ", "- "].iter().any(|start| trimmed.starts_with(start));
                if trimmed.is_empty() || starts {
                    paragraphs.push(String::new());
                }
                let paragraph = paragraphs.last_mut().unwrap();
                if !paragraph.is_empty() {
                    paragraph.push(' ');
                }
                paragraph.push_str(trimmed);
            }
        }
        assert!(!in_block, "{}: a code block is not closed", self.path.display());
        (blocks, paragraphs)
    }
}

/// The parts of a line between backticks.
fn spans(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn code_of_a_document_is_found() {
    let document = Document {
        path: PathBuf::new(),
        text: "# A\ntext `one\ntwo` text\n\n```sh\na\nb\n```\n\n| head |\n|---|\n| `x` and `y` | `z` |\n".to_owned(),
    };
    assert_eq!(document.code(), ["one two", "x", "y", "z", "a", "b"]);
    assert_eq!(document.first_column("head"), [["x", "y"]]);
    assert_eq!(document.blocks()[0].language, "sh");
}
