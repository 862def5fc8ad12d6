//! Rules about source files that no lint covers: their length, the layout of modules and tests, and that each file is compiled.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;
use devtools::{read, rust_files};

/// A longer file has more than one purpose.
const FILE_LINES_MAX: usize = 500;
/// A longer inline `mod tests` belongs in `x/tests.rs` or `x/tests/`.
const INLINE_TESTS_LINES_MAX: usize = 120;
/// Modules that only tests compile.
const TEST_MODULES: [&str; 3] = ["tests", "fixtures", "harness"];

/// Checks every Rust file that Git tracks or would take.
pub(crate) fn run() -> anyhow::Result<()> {
    let files = rust_files(Path::new("."))?;
    let directories: BTreeSet<&Path> = files.iter().filter_map(|path| path.parent()).collect();
    let mut findings = Vec::new();
    for path in &files {
        let text = read(path)?;
        let mut add = |finding: String| findings.push(format!("{}: {finding}", path.display()));
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            add(format!("{lines} lines, {FILE_LINES_MAX} at most: split it"));
        }
        if !is_compiled(path, |parent| fs::read_to_string(parent).ok()) {
            add("in no `mod` list, so it is never compiled".to_owned());
        }
        if !is_target(path) && directories.contains(path.with_extension("").as_path()) {
            add("has submodules: move it to mod.rs in their directory".to_owned());
        }
        layout_of_tests(&text).into_iter().for_each(&mut add);
    }
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    Ok(())
}

/// Whether a file is the root of an integration test or an example, whose modules are beside it.
fn is_target(path: &Path) -> bool {
    let directory = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let is_in_crate_root = path.components().all(|component| component.as_os_str() != "src");
    is_in_crate_root && matches!(directory, Some("tests" | "examples"))
}

/// What of a file's tests has the wrong form.
fn layout_of_tests(text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim() == "#[cfg(test)]")
    {
        let Some(module) = lines.get(index + 1).and_then(|line| line.split_once("mod ")) else {
            continue;
        };
        match module.1.split_once(';') {
            Some((name, _)) if !TEST_MODULES.contains(&name) => {
                findings.push(format!("test module `{name}`: name it {}", TEST_MODULES.join(", ")));
            }
            Some(_) => {}
            None => {
                let indentation = &line[..line.len() - line.trim_start().len()];
                let end = format!("{indentation}}}");
                let length = lines[index..]
                    .iter()
                    .position(|line| *line == end)
                    .map_or(0, |length| length + 1);
                if length > INLINE_TESTS_LINES_MAX {
                    findings.push(format!(
                        "{length} lines of inline tests, {INLINE_TESTS_LINES_MAX} at most: move them to tests.rs"
                    ));
                }
            }
        }
    }
    findings
}

/// Whether a file is the root of a crate, or its parent declares it as a module.
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
    fn test_modules_have_one_of_three_names_and_inline_tests_are_short() {
        for name in TEST_MODULES {
            assert_eq!(layout_of_tests(&format!("#[cfg(test)]\nmod {name};\n")), [""; 0]);
        }
        assert_eq!(layout_of_tests("#[cfg(test)]\npub(crate) mod plans;\n").len(), 1);
        assert_eq!(layout_of_tests("#[cfg(test)]\nuse std::fs;\n"), [""; 0]);
        let inline = |lines: usize| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn f() {}\n".repeat(lines));
        assert_eq!(layout_of_tests(&inline(INLINE_TESTS_LINES_MAX - 3)), [""; 0]);
        assert_eq!(layout_of_tests(&inline(INLINE_TESTS_LINES_MAX)).len(), 1);
    }

    #[test]
    fn integration_tests_may_have_modules_beside_them() {
        assert!(is_target(Path::new("crates/a/tests/it.rs")));
        for module in [
            "crates/a/src/it.rs",
            "crates/a/src/tests/it.rs",
            "crates/a/tests/it/x.rs",
        ] {
            assert!(!is_target(Path::new(module)), "{module}");
        }
    }

    #[test]
    fn file_is_compiled_when_its_parent_declares_it() {
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
        for orphan in ["a/src/lost.rs", "a/src/c/e.rs", "a/src/x/mod.rs"] {
            assert!(!is_compiled(Path::new(orphan), read), "{orphan}");
        }
    }
}
