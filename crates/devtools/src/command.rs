//! Command-line entry point of a program: argument parsing, one-line errors, exit codes.

use std::process::{ExitCode, Output};

use clap::{Parser, error::ErrorKind};

/// Parses the arguments and runs the program.
///
/// Errors are printed as one line to standard error. The exit code is 2 for invalid arguments and 1 for any other error.
pub fn run<A: Parser>(program: impl FnOnce(&A) -> anyhow::Result<()>) -> ExitCode {
    let arguments = match A::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error, A::command().get_name()),
    };
    match program(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the help text, or a usage error in one line.
fn usage(error: &clap::Error, program: &str) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelp {
        print!("{error}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprintln!("error: a command is required; see `{program} --help`");
        return ExitCode::from(2);
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    eprintln!("{line}; see `{program} --help`");
    ExitCode::from(2)
}

/// The error line of a failed program that uses [`run`]: the last line of standard error, and the only one of its kind. For tests.
///
/// # Panics
///
/// If the program did not fail that way.
#[must_use]
pub fn error_line(output: &Output) -> String {
    assert!(!output.status.success(), "the program has succeeded: {output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && text.trim_end().ends_with(errors[0]), "{text}");
    errors[0].to_owned()
}
