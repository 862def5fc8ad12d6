//! Flags, environment variables, metrics and alerts that documents name exist.

use std::{collections::BTreeSet, fs};

use crate::{
    commands::help,
    markdown::{Document, document, documents, root},
};

/// Flags of other programs: Cargo, Helm, libtest, rustc, and kube-controller-manager's that the controllers lack.
const FOREIGN_FLAGS: [&str; 8] = [
    "--cert-dir",
    "--client-ca-file",
    "--controllers",
    "--exact",
    "--remap-path-prefix",
    "--requestheader-…",
    "--set",
    "--test",
];

/// Documents of this project's own behaviour: the specification describes that of others, too.
fn own_documents() -> impl Iterator<Item = Document> {
    let generated_or_spec =
        |document: &Document| ["docs/spec", "docs/reference"].map(|start| document.path.starts_with(start));
    documents()
        .into_iter()
        .filter(move |document| generated_or_spec(document) == [false, false])
}

/// The words of a text that are flags or environment variables of the programs, by their start.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && !"-_…".contains(character));
    words
        .filter(|word| word.starts_with(start) && word.len() > start.len())
        .collect()
}

#[test]
fn every_documented_flag_exists() {
    let reference = document("docs/reference/flags.md").text;
    let commands = ["test", "conformance", "demo", "deploy", "image", "simulate", "soak"];
    let help = commands.map(|command| help(&[command]));
    let texts = [&[reference][..], &help].concat().join("\n");
    let known = words(&texts, "--");
    let mut found = BTreeSet::new();
    // The page about the migration names flags of kubeadm, k3s and others.
    for document in own_documents().filter(|document| !document.path.ends_with("migrate.md")) {
        // Flags of commands are checked with their command.
        for span in document.code_spans().iter().filter(|span| span.starts_with("--")) {
            for flag in words(span, "--") {
                let exists = match flag.strip_suffix('…') {
                    Some(start) => known.iter().any(|known| known.starts_with(start)),
                    None => known.contains(flag),
                };
                let exists = exists || FOREIGN_FLAGS.contains(&flag);
                assert!(exists, "{}: no flag {flag}", document.path.display());
                found.insert(flag.to_owned());
            }
        }
    }
    assert!(found.len() > 20, "{found:?}");
}

#[test]
fn every_documented_environment_variable_exists() {
    let reference = document("docs/reference/flags.md").text;
    let known = words(&reference, "ENDPOINTSLICE_");
    let mut found = 0;
    for document in own_documents() {
        for span in document.code_spans() {
            for variable in words(&span, "ENDPOINTSLICE_") {
                found += 1;
                assert!(
                    known.contains(variable),
                    "{}: no variable {variable}",
                    document.path.display()
                );
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn every_documented_metric_exists() {
    let known: BTreeSet<String> = document("docs/reference/metrics.md").code_spans().into_iter().collect();
    let starts = [
        "endpoint_slice_",
        "workqueue_",
        "rest_client_",
        "leader_election_master",
    ];
    let mut found = 0;
    for document in own_documents() {
        for span in document.code_spans() {
            let name = span.split(['{', '[']).next().unwrap();
            if starts.iter().any(|start| name.starts_with(start)) {
                found += 1;
                // Such as `workqueue_…`.
                let exists = match name.strip_suffix('…') {
                    Some(start) => known.iter().any(|metric| metric.starts_with(start)),
                    None => known.contains(name),
                };
                assert!(exists, "{}: no metric {name}", document.path.display());
            }
        }
    }
    assert!(found > 3, "{found}");
}

#[test]
fn operators_find_every_alert() {
    let rows = document("docs/operate.md").first_column("alert");
    let documented: BTreeSet<String> = rows.concat().iter().map(|name| name.replace('…', "")).collect();
    for (rule, program) in [
        ("endpointslice", "EndpointSliceController"),
        ("mirroring", "EndpointSliceMirroringController"),
    ] {
        let path = root().join(format!("deploy/monitoring/{rule}/prometheus-rule.yaml"));
        let text = fs::read_to_string(path).unwrap();
        let alerts = text.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
        let alerts: BTreeSet<String> = alerts
            .map(|name| name.strip_prefix(program).unwrap().to_owned())
            .collect();
        assert_eq!(documented, alerts, "docs/operate.md and {rule}");
    }
}
