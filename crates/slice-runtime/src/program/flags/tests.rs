use clap::Parser;

use super::*;

const INFO: ProgramInfo = ProgramInfo::new("a-program", "7", "us.example");

#[derive(Debug, Parser)]
struct Only {
    #[command(flatten)]
    common: CommonArgs,
}

fn read(flags: &[&str]) -> Result<CommonArgs, String> {
    let command_line = std::iter::once(&"a-program").chain(flags);
    let parsed = parse::<Only>(&INFO, command_line).map_err(|error| error.to_string())?;
    let mut complaints = ConfigErrors::default();
    parsed.common.check(&mut complaints);
    complaints
        .check()
        .map_err(|complaints| complaints.lines().collect::<Vec<_>>().join("\n"))?;
    Ok(parsed.common)
}

#[test]
fn without_flags_nothing_is_limited() {
    let common = read(&[]).unwrap();
    assert_eq!(common.controller_name, "us.example");
    assert_eq!((&*common.namespace, &*common.service_selector), ("", ""));
    assert_eq!(
        (&*common.kubeconfig, &*common.master, &*common.http_address),
        ("", "", "")
    );
    assert_eq!((common.dry_run, common.v), (false, 0));
    assert_eq!(common.logging_format, LoggingFormat::Text);
    assert_eq!(common.rate_limit(), None);
}

/// R6.
#[test]
fn everything_is_looked_at_after_once_to_twice_the_period() {
    let hours = |flags: &[&str], chance| read(flags).unwrap().resync(chance).as_secs_f64() / 3600.0;
    let resyncs = [
        hours(&[], 0.0),
        hours(&[], 0.5),
        hours(&["--min-resync-period=1h"], 0.5),
        hours(&["--min-resync-period=0"], 0.9),
    ];
    assert!(
        resyncs
            .iter()
            .zip([12.0, 18.0, 1.5, 0.0])
            .all(|(is, should)| (is - should).abs() < 1e-9),
        "{resyncs:?}"
    );
}

#[test]
fn requests_are_limited_when_asked_for() {
    for (flags, expected) in [
        (&["--kube-api-qps=20", "--kube-api-burst=30"][..], Some((20.0, 30))),
        (&["--kube-api-qps=20"], Some((20.0, 20))),
        (&["--kube-api-qps", "0.5", "--kube-api-burst", "0"], Some((0.5, 1))),
        (&["--kube-api-qps=20", "--kube-api-burst=-1"], Some((20.0, 20))),
        (&["--kube-api-qps=1e300"], Some((1e300, u32::MAX))),
        (&["--kube-api-qps=0", "--kube-api-burst=30"], None),
        (&["--kube-api-qps", "-1"], None),
        (&["--kube-api-qps=NaN"], None),
    ] {
        let limit = read(flags).unwrap().rate_limit();
        assert_eq!(
            limit.map(|limit| (limit.per_second, limit.burst.get())),
            expected,
            "{flags:?}"
        );
    }
}

#[test]
fn flags_are_written_as_for_kube_controller_manager() {
    for accepted in [
        &["--leader-elect=false", "--secure-port=0"][..],
        &["--secure-port", "0"],
        &["--dry-run=false"],
        &["--dry-run=F"],
        &["--v=4"],
        &["-v", "4"],
        &["-v=4"],
        &["--logging-format=json"],
        &["--kubeconfig="],
        &["--master="],
    ] {
        read(accepted).unwrap_or_else(|error| panic!("{accepted:?}: {error}"));
    }
    for on in ["--dry-run", "--dry-run=true", "--dry-run=1"] {
        assert!(read(&[on]).unwrap().dry_run, "{on}");
    }
    assert_eq!(read(&["-v=4"]).unwrap().v, 4);
}

#[test]
fn what_is_not_there_yet_is_refused_and_all_of_it_is_told() {
    let told = read(&["--leader-elect", "--secure-port=10257", "--controller-name="]).unwrap_err();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    for (line, beginning) in lines.iter().zip([
        "leader-elect must be false: ",
        "secure-port must be 0, but got 10257: ",
        "controller-name must not be empty",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for (flag, expected) in [
        ("--min-resync-period=soon", "not a duration such as 1m30s, 500ms or 0"),
        ("--logging-format=xml", "[possible values: text, json]"),
        ("--v=loud", "invalid digit"),
        ("--nonsense", "unexpected argument '--nonsense'"),
    ] {
        let told = read(&[flag]).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn help_lists_every_flag_with_its_variable() {
    let mut command = command::<Only>(&INFO);
    let help = command.render_help().to_string();
    for flag in [
        "kubeconfig",
        "master",
        "controller-name",
        "namespace",
        "service-selector",
        "dry-run",
        "min-resync-period",
        "kube-api-qps",
        "kube-api-burst",
        "http-address",
        "logging-format",
        "v",
        "leader-elect",
        "secure-port",
    ] {
        let variable = format!("[env: ENDPOINTSLICE_{}]", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("--{flag} ")) || help.contains(&format!("--{flag}[")),
            "{flag}: {help}"
        );
        assert!(help.contains(&variable), "{variable}: {help}");
    }
    assert_eq!(help.matches("[env: ").count(), 14, "{help}");
    assert!(help.contains("[default: us.example]"), "{help}");
}
