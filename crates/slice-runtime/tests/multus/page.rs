//! The code blocks of `docs/library.md`.

use serde_json::Value;

pub(crate) const PAGE: &str = include_str!("../../../../docs/library.md");

/// The blocks in a language.
pub(crate) fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = PAGE.split(&*fence).skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0.to_owned())
        .collect()
}

/// The Service of the example.
pub(crate) fn service() -> Value {
    serde_saphyr::from_str(&blocks("yaml")[0]).unwrap()
}
