//! What a command line is answered with.

use std::process::ExitCode;

use clap::error::ErrorKind;

/// Prints help in full, but a mistake in one line.
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
    let first = first.as_deref().unwrap_or("error: a command is needed");
    eprintln!("{first}; `{program} --help` lists what there is");
    ExitCode::from(2)
}
