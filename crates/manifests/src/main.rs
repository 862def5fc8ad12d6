//! `cargo xtask manifests`: generates the manifests, kustomizations and the Helm chart of `deploy/` from the code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Parser;
use manifests::GENERATED_DIRECTORIES;

const DIRECTORY: &str = "deploy";

/// Generate deploy/ from the code: manifests, kustomizations, Helm chart
#[derive(Debug, Parser)]
#[command(name = "cargo xtask manifests", bin_name = "cargo xtask manifests")]
struct Args {
    /// Write nothing, and fail if a file differs from the code
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DIRECTORY);
    let generated: BTreeMap<String, String> = manifests::files().into_iter().collect();
    let outdated = outdated(&directory, &generated)?;
    if args.check {
        if !outdated.is_empty() {
            let names: Vec<String> = outdated.iter().map(|name| format!("{DIRECTORY}/{name}")).collect();
            bail!("{} differ from the code: run `cargo xtask manifests`", names.join(", "));
        }
        return Ok(());
    }
    for name in outdated {
        let path = directory.join(&name);
        match generated.get(&name) {
            Some(content) => write(&path, content),
            None => fs::remove_file(&path),
        }
        .with_context(|| format!("cannot write {DIRECTORY}/{name}"))?;
    }
    Ok(())
}

/// The files that are missing, differ, or are no longer generated.
fn outdated(directory: &Path, generated: &BTreeMap<String, String>) -> anyhow::Result<BTreeSet<String>> {
    let mut outdated = BTreeSet::new();
    for (name, content) in generated {
        if fs::read_to_string(directory.join(name)).ok().as_ref() != Some(content) {
            outdated.insert(name.clone());
        }
    }
    for name in GENERATED_DIRECTORIES {
        let mut found = Vec::new();
        list(directory, name, &mut found).with_context(|| format!("cannot list {DIRECTORY}/{name}"))?;
        outdated.extend(found.into_iter().filter(|name| !generated.contains_key(name)));
    }
    Ok(outdated)
}

/// Appends the files below `directory`/`name`, as paths relative to `directory`.
fn list(directory: &Path, name: &str, found: &mut Vec<String>) -> std::io::Result<()> {
    let path = directory.join(name);
    if !path.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            list(directory, &name, found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}

fn write(path: &Path, content: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_changed_and_stale_files_are_outdated() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let generated: BTreeMap<String, String> = ["all/same.yaml", "all/changed.yaml", "all/missing.yaml"]
            .map(|name| (name.to_owned(), name.to_owned()))
            .into();
        write(&file("all/same.yaml"), "all/same.yaml").unwrap();
        write(&file("all/changed.yaml"), "changed").unwrap();
        write(&file("chart/a/stale.yaml"), "").unwrap();
        write(&file("README.md"), "").unwrap();
        let expected = ["all/changed.yaml", "all/missing.yaml", "chart/a/stale.yaml"];
        assert_eq!(
            outdated(directory.path(), &generated).unwrap(),
            expected.map(str::to_owned).into()
        );
    }
}
