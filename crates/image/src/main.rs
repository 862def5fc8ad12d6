//! `cargo xtask image`: builds an OCI image per controller without Docker.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;
use devtools::{ARCHIVE, LOAD_COMMANDS};
use image::{
    PROGRAMS,
    image::{Image, Input, build},
    sbom,
    source::Source,
    static_program::{self, Target},
    workspace::Workspace,
};

/// Build an OCI image per controller without Docker, for the architecture of this machine
#[derive(Debug, Parser)]
#[command(name = "cargo xtask image", bin_name = "cargo xtask image")]
struct Args {
    /// Directory to write (default: images in Cargo's target directory)
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Tag of the images; can be repeated (default: the version of the program)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Profile of Cargo; tests use one that compiles faster
    #[arg(long, default_value = "release", hide = true)]
    profile: String,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let target = Target::host()?;
    let workspace = Workspace::read()?;
    let source = Source::read(&workspace.workspace_root)?;
    let directory = args.output.clone();
    let directory = directory.unwrap_or_else(|| workspace.target_directory.join("images"));
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;

    eprintln!("building {} for {} …", PROGRAMS.join(" and "), target.triple);
    let programs = static_program::build(&workspace, &target, &args.profile, &PROGRAMS)?;
    for (name, path) in PROGRAMS.iter().zip(programs) {
        let package = workspace.package(name)?;
        let program = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let image = build(&Input {
            package,
            source: &source,
            architecture: target.architecture.clone(),
            program: &program,
            sbom: &sbom::of(package, &target)?,
            tags: if args.tags.is_empty() {
                std::slice::from_ref(&package.version)
            } else {
                &args.tags
            },
        })?;
        let (layout, archive) = (directory.join(name), directory.join(format!("{name}.tar")));
        image.write_layout(&layout)?;
        let bytes = image.archive()?;
        fs::write(&archive, &bytes).with_context(|| format!("cannot write {}", archive.display()))?;
        println!("{}", image.references.join(" "));
        println!("  {:<11}{}", "digest", image.digest);
        println!("  {:<11}{}", "layout", layout.display());
        println!(
            "  {:<11}{} ({}, the program {})",
            "archive",
            archive.display(),
            megabytes(bytes.len()),
            megabytes(program.len())
        );
        print_usage(&image, &archive.display().to_string());
    }
    Ok(())
}

/// Prints how to load an archive.
fn print_usage(image: &Image, archive: &str) {
    for (cluster, command) in LOAD_COMMANDS {
        println!("  {cluster:<11}{}", command.replace(ARCHIVE, archive));
    }
    println!("  {:<11}docker load --input {archive}", "Docker");
    let reference = image.references.first().map_or("", String::as_str);
    println!(
        "  {:<11}skopeo copy docker-archive:{archive} docker://REGISTRY/{reference}",
        "registry"
    );
}

#[expect(clippy::cast_precision_loss, reason = "one digit after the point is printed")]
fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
