//! Files that are generated from the code and committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// A directory of the repository with generated files.
#[derive(Clone, Copy, Debug)]
pub struct Generated<'a> {
    /// The directory, relative to the root of the repository.
    pub directory: &'a str,
    /// Directories below it in which all files are generated. `""` is the directory itself.
    pub complete: &'a [&'a str],
    /// The command that writes the files.
    pub command: &'a str,
}

impl Generated<'_> {
    /// Writes the files that differ from `files`, with names relative to the directory, and removes those that are no longer
    /// generated. With `check`, writes nothing and fails if there are any.
    pub fn update(&self, files: &BTreeMap<String, String>, check: bool) -> anyhow::Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        self.update_in(&root.join(self.directory), files, check)
    }

    fn update_in(&self, directory: &Path, files: &BTreeMap<String, String>, check: bool) -> anyhow::Result<()> {
        let outdated = self.outdated(directory, files)?;
        if check && !outdated.is_empty() {
            let names: Vec<String> = outdated
                .iter()
                .map(|name| format!("{}/{name}", self.directory))
                .collect();
            bail!("{} differ from the code: run `{}`", names.join(", "), self.command);
        }
        for name in outdated {
            let path = directory.join(&name);
            match files.get(&name) {
                Some(content) => write(&path, content),
                None => fs::remove_file(&path),
            }
            .with_context(|| format!("cannot write {}/{name}", self.directory))?;
        }
        Ok(())
    }

    /// The files that are missing, differ, or are no longer generated.
    fn outdated(&self, directory: &Path, files: &BTreeMap<String, String>) -> anyhow::Result<BTreeSet<String>> {
        let differs = |(name, content): &(&String, &String)| {
            fs::read_to_string(directory.join(name)).ok().as_ref() != Some(*content)
        };
        let mut outdated: BTreeSet<String> = files.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        for complete in self.complete {
            let mut found = Vec::new();
            list(&directory.join(complete), &mut found)
                .with_context(|| format!("cannot list {}/{complete}", self.directory))?;
            let names = found.iter().filter_map(|path| path.strip_prefix(directory).ok());
            let names = names.map(|name| name.display().to_string());
            outdated.extend(names.filter(|name| !files.contains_key(name)));
        }
        Ok(outdated)
    }
}

/// Appends the files below a directory, which need not exist.
fn list(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn write(path: &Path, content: &str) -> io::Result<()> {
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
        let directory = directory.path();
        let files: BTreeMap<String, String> = ["all/same.yaml", "all/changed.yaml", "all/missing.yaml"]
            .map(|name| (name.to_owned(), name.to_owned()))
            .into();
        write(&directory.join("all/same.yaml"), "all/same.yaml").unwrap();
        write(&directory.join("all/changed.yaml"), "changed").unwrap();
        write(&directory.join("chart/a/stale.yaml"), "").unwrap();
        write(&directory.join("README.md"), "").unwrap();
        let generated = Generated {
            directory: "deploy",
            complete: &["all", "chart"],
            command: "cargo xtask manifests",
        };
        let error = generated.update_in(directory, &files, true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "deploy/all/changed.yaml, deploy/all/missing.yaml, deploy/chart/a/stale.yaml differ from the code: run `cargo xtask \
             manifests`"
        );
        generated.update_in(directory, &files, false).unwrap();
        generated.update_in(directory, &files, true).unwrap();
        assert!(!directory.join("chart/a/stale.yaml").exists());
        assert!(directory.join("README.md").exists());
    }
}
