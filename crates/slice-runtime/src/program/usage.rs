//! Output of `--help`, `--version` and usage errors.

use std::process::ExitCode;

use clap::error::ErrorKind;

/// Prints help or version in full, and a usage error in one line. Returns the exit code.
#[must_use]
pub fn print_usage_error(error: &clap::Error, program: &str) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print!("{error}");
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let first: Vec<&str> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let first = Some(first.join(" ")).filter(|line| line.starts_with("error: "));
    let first = first.as_deref().unwrap_or("error: invalid command line");
    eprintln!("{first}; run `{program} --help` for usage");
    ExitCode::from(2)
}
