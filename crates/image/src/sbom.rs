//! The SBOM of a program: the crates that are linked into it, in the format `CycloneDX`.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use cyclonedx_bom::{
    models::{
        component::Classification,
        license::{LicenseChoice, Licenses},
    },
    prelude::{Bom, Component, Components, Metadata, Purl, SpdxExpression, SpecVersion, Validate as _},
};
use devtools::cargo;

use crate::{static_program::Target, workspace::Package};

/// Lists the crates of a program by `cargo tree` and encodes them.
pub fn of(package: &Package, target: &Target) -> anyhow::Result<Vec<u8>> {
    let output = cargo()
        .args([
            "tree",
            "--locked",
            "--package",
            &package.name,
            "--target",
            target.triple,
        ])
        // Neither tests, nor build scripts, nor macros are in the program.
        .args(["--edges", "normal,no-proc-macro"])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}\t{l}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .context("cannot start `cargo tree`")?;
    ensure!(
        output.status.success(),
        "`cargo tree` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let tree = String::from_utf8(output.stdout).context("the output of `cargo tree` is not UTF-8")?;
    encode(package, &parse(&tree)?)
}

/// Licences by name and version.
type Crates<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

/// Parses lines such as `clap v4.6.7<tab>MIT OR Apache-2.0`; crates of the workspace have their path after the version.
fn parse(tree: &str) -> anyhow::Result<Crates<'_>> {
    let entry = |line| {
        let (id, license) = str::split_once(line, '\t')?;
        let mut words = id.split(' ');
        let name = words.next()?;
        let version = words.next()?.strip_prefix('v')?;
        Some(((name, version), license))
    };
    tree.lines()
        .map(|line| entry(line).with_context(|| format!("unexpected line of `cargo tree`: {line}")))
        .collect()
}

fn encode(package: &Package, crates: &Crates<'_>) -> anyhow::Result<Vec<u8>> {
    let program = component(
        Classification::Application,
        &package.name,
        &package.version,
        &package.license,
    )?;
    let libraries = crates
        .iter()
        .filter(|((name, _), _)| *name != package.name)
        .map(|((name, version), license)| component(Classification::Library, name, version, license))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let bom = Bom {
        // The default is a random number, and the current time in the metadata.
        serial_number: None,
        metadata: Some(Metadata {
            component: Some(program),
            ..Metadata::default()
        }),
        components: Some(Components(libraries)),
        spec_version: SpecVersion::V1_5,
        ..Bom::default()
    };
    let result = bom.validate_version(SpecVersion::V1_5);
    ensure!(result.passed(), "the SBOM of {} is invalid: {result:?}", package.name);
    let mut json = Vec::new();
    bom.output_as_json_v1_5(&mut json).context("cannot encode the SBOM")?;
    Ok(json)
}

fn component(kind: Classification, name: &str, version: &str, license: &str) -> anyhow::Result<Component> {
    let purl = Purl::new("cargo", name, version).with_context(|| format!("no package URL for {name} {version}"))?;
    let mut component = Component::new(kind, name, version, Some(purl.to_string()));
    component.purl = Some(purl);
    // Old crates write `MIT/Apache-2.0`; a crate may have a licence file only.
    if !license.is_empty() {
        let license = SpdxExpression::parse_lax(license.to_owned());
        let license = license.with_context(|| format!("the licence of {name} {version}"))?;
        component.licenses = Some(Licenses(vec![LicenseChoice::Expression(license)]));
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn components_are_the_crates_once_each_and_the_program_is_the_subject() {
        let package = Package {
            name: "program".to_owned(),
            version: "0.1.0".to_owned(),
            description: String::new(),
            license: "Apache-2.0".to_owned(),
        };
        let tree = "program v0.1.0 (/src)\tApache-2.0\nb v1.0.0\tMIT/Apache-2.0\na v2.1.0-rc.1\tISC\nb v1.0.0\tMIT/Apache-2.0\n";
        let json = encode(&package, &parse(tree).unwrap()).unwrap();
        assert_eq!(json, encode(&package, &parse(tree).unwrap()).unwrap(), "no random part");
        let bom: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(bom["metadata"]["component"]["purl"], "pkg:cargo/program@0.1.0");
        let components = bom["components"].as_array().unwrap().iter();
        let found: Vec<_> = components
            .map(|component| {
                (
                    component["purl"].as_str().unwrap(),
                    component["licenses"][0]["expression"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("pkg:cargo/a@2.1.0-rc.1", "ISC"),
                ("pkg:cargo/b@1.0.0", "MIT OR Apache-2.0")
            ]
        );
    }

    #[test]
    fn unexpected_line_of_cargo_tree_is_an_error() {
        assert!(parse("a 1.0.0\tMIT").is_err());
    }
}
