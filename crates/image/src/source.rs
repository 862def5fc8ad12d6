//! The time and the commit of the source. The time of the build is in no image: it would change the digest.

use std::{path::Path, process::Command};

use anyhow::{Context as _, bail};
use jiff::Timestamp;

/// See <https://reproducible-builds.org/specs/source-date-epoch/>.
const TIME_VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// When and what: the source of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `SOURCE_DATE_EPOCH`, or the time of the commit.
    pub time: Timestamp,
    /// The commit, with the suffix `-dirty` if files differ from it. None outside of a Git repository.
    pub revision: Option<String>,
}

impl Source {
    /// Reads the environment and asks Git.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let variable = match std::env::var(TIME_VARIABLE) {
            Ok(value) => Some(value),
            Err(std::env::VarError::NotPresent) => None,
            Err(error) => bail!("{TIME_VARIABLE}: {error}"),
        };
        let commit = git(directory, &["log", "-1", "--format=%ct %H"]);
        let status = git(directory, &["status", "--porcelain"]);
        Self::new(variable.as_deref(), commit.as_deref(), status.as_deref())
    }

    /// From the variable, and from what Git printed: time and id of the commit, and changed files.
    fn new(variable: Option<&str>, commit: Option<&str>, status: Option<&str>) -> anyhow::Result<Self> {
        let commit = commit.and_then(|line| line.trim().split_once(' '));
        let seconds = variable.or(commit.map(|(time, _)| time)).with_context(|| {
            format!("Git reports no commit: run this command in a Git checkout, or set {TIME_VARIABLE} to seconds since 1970")
        })?;
        let time = seconds.parse().ok();
        let time = time.and_then(|seconds| Timestamp::from_second(seconds).ok());
        let time = time.with_context(|| {
            format!("{seconds:?} is not a number of seconds since 1970: correct or unset {TIME_VARIABLE}")
        })?;
        let is_dirty = status.is_some_and(|files| !files.trim().is_empty());
        let revision = commit.map(|(_, id)| format!("{id}{}", if is_dirty { "-dirty" } else { "" }));
        Ok(Self { time, revision })
    }
}

/// The output of a Git command; None if it fails, for example outside of a repository.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .output()
        .ok()?;
    output.status.success().then_some(())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_the_variable_or_the_commit() {
        let commit = Some("1700000000 abc\n");
        let source = Source::new(None, commit, Some("")).unwrap();
        assert_eq!(
            (source.time.as_second(), source.revision.as_deref()),
            (1_700_000_000, Some("abc"))
        );
        let source = Source::new(Some("7"), commit, Some(" M Cargo.toml\n")).unwrap();
        assert_eq!(
            (source.time.as_second(), source.revision.as_deref()),
            (7, Some("abc-dirty"))
        );
        let source = Source::new(Some("7"), None, None).unwrap();
        assert_eq!((source.time.as_second(), source.revision), (7, None));
    }

    #[test]
    fn missing_or_invalid_time_is_an_error_with_the_remedy() {
        for (variable, expected) in [
            (None, "in a Git checkout"),
            (Some("now"), "\"now\""),
            (Some(""), "\"\""),
        ] {
            let error = Source::new(variable, None, None).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(TIME_VARIABLE), "{error}");
        }
    }
}
