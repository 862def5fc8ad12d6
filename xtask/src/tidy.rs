//! Rules about source files that no lint knows: their length, and that each of them is compiled.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;
use devtools::{read, rust_files};

/// A file that needs more is more than one thing.
const FILE_LINES_MAX: usize = 500;

/// Checks every Rust file that Git knows or would take.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    for path in &rust_files(Path::new("."))? {
        let lines = read(path)?.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!(
                "{} has {lines} lines, {FILE_LINES_MAX} at most: split it",
                path.display()
            ));
        }
        if !is_compiled(path, |parent| fs::read_to_string(parent).ok()) {
            complaints.push(format!(
                "{} is in no `mod` list, so it is never compiled",
                path.display()
            ));
        }
    }
    if !complaints.is_empty() {
        bail!("{}", complaints.join("\n"));
    }
    Ok(())
}

/// Whether a file is the root of a crate, or its parent names it as a module.
fn is_compiled(path: &Path, read: impl Fn(&Path) -> Option<String>) -> bool {
    let (Some(directory), Some(stem)) = (path.parent(), path.file_stem().and_then(|stem| stem.to_str())) else {
        return false;
    };
    let is_root = matches!(stem, "lib" | "main" | "build")
        || matches!(
            directory.file_name().and_then(|name| name.to_str()),
            Some("tests" | "examples" | "benches" | "bin" | "fuzz_targets")
        );
    if is_root {
        return true;
    }
    // `a/b/mod.rs` is the module `b` of `a`; `a/b.rs` likewise.
    let (module, home) = if stem == "mod" {
        let module = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        (module, directory.parent().unwrap_or(directory))
    } else {
        (stem, directory)
    };
    parents(home)
        .iter()
        .filter_map(|parent| read(parent))
        .any(|text| declares(&text, module))
}

/// The files that may declare the modules in a directory.
fn parents(home: &Path) -> Vec<PathBuf> {
    let mut parents: Vec<PathBuf> = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .map(|name| home.join(name))
        .collect();
    parents.push(home.with_extension("rs"));
    // The modules of an integration test lie beside its root, which may be in a directory of its own.
    if home.file_name().is_some_and(|name| name == "tests")
        && let Ok(roots) = fs::read_dir(home)
    {
        for root in roots.filter_map(Result::ok).map(|root| root.path()) {
            parents.push(root.join("main.rs"));
            parents.push(root);
        }
    }
    parents
}

fn declares(text: &str, module: &str) -> bool {
    text.lines().any(|line| {
        line.trim()
            .strip_suffix(';')
            .and_then(|line| line.rsplit_once("mod "))
            .is_some_and(|(visibility, name)| name == module && !visibility.contains("//"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compiled_when_its_parent_names_it() {
        let read = |path: &Path| match path.to_str()? {
            "a/src/lib.rs" => Some("mod b;\n// mod lost;\npub(crate) mod c;\n".to_owned()),
            "a/src/c/mod.rs" => Some("mod d;".to_owned()),
            "a/src/b.rs" => Some("mod e;".to_owned()),
            _ => None,
        };
        for compiled in [
            "a/src/lib.rs",
            "a/src/b.rs",
            "a/src/c/mod.rs",
            "a/src/c/d.rs",
            "a/src/b/e.rs",
            "a/tests/it.rs",
        ] {
            assert!(is_compiled(Path::new(compiled), read), "{compiled}");
        }
        for lost in ["a/src/lost.rs", "a/src/c/e.rs", "a/src/x/mod.rs"] {
            assert!(!is_compiled(Path::new(lost), read), "{lost}");
        }
    }
}
