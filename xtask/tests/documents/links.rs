//! Links between documents lead to files and headings that exist.

use std::{collections::BTreeSet, fs, path::Path};

use crate::markdown::{Document, documents, root};

/// The targets of the links in a paragraph, outside of code.
fn links(paragraph: &str) -> Vec<String> {
    let text: String = paragraph.split('`').step_by(2).collect();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The anchors of the headings of a document: lower case, spaces to dashes, without punctuation.
fn anchors(document: &Document) -> BTreeSet<String> {
    let headings = document.paragraphs();
    let headings = headings.iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &String| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut checked = 0;
    for document in documents() {
        let path = &document.path;
        let directory = root().join(path.parent().unwrap_or(Path::new("")));
        for link in document.paragraphs().iter().flat_map(|paragraph| links(paragraph)) {
            if link.starts_with("https://") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => root().join(path),
                file => directory.join(file),
            };
            assert!(target.exists(), "{}: no file for the link {link}", path.display());
            if !anchor.is_empty() {
                let target = Document {
                    text: fs::read_to_string(&target).unwrap(),
                    path: target,
                };
                assert!(
                    anchors(&target).contains(anchor),
                    "{}: no heading for the link {link}",
                    path.display()
                );
            }
        }
    }
    assert!(checked > 60, "{checked}");
}
