//! Writes the seeds of the fuzz target to a directory, for `cargo xtask fuzz`. Files of earlier runs stay.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or_else(|| io::Error::other("usage: fuzz-seeds DIRECTORY"))?;
    fs::create_dir_all(&directory)?;
    for (number, seed) in fuzzing::seeds()?.iter().enumerate() {
        fs::write(directory.join(format!("recorded-{number}")), seed)?;
    }
    Ok(())
}
