//! The command line of a program: arguments, errors in one line, exit codes.

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};

/// Parses the arguments and runs the program.
///
/// An error is one line on standard error; the exit code is 2 for wrong arguments and 1 for any other error.
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

/// Prints help in full, an error in one line.
fn usage(error: &clap::Error, program: &str) -> ExitCode {
    if error.kind() == ErrorKind::DisplayHelp {
        print!("{error}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprintln!("error: a command is needed; `{program} --help` lists what there is");
        return ExitCode::from(2);
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    eprintln!("{line}; `{program} --help` lists what there is");
    ExitCode::from(2)
}
