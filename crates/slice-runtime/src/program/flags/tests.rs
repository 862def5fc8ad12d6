use std::time::Duration;

use clap::Parser;

use super::*;
use crate::leader_election::LeaderElection;

const INFO: ProgramInfo = ProgramInfo::new("a-program", "7", "us.example");

#[derive(Debug, Parser)]
struct Only {
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_flags(flags: &[&str]) -> Result<CommonArgs, String> {
    let command_line = std::iter::once(&"a-program").chain(flags);
    let parsed = parse::<Only>(&INFO, command_line).map_err(|error| error.to_string())?;
    let mut errors = ConfigErrors::default();
    parsed.common.check(&mut errors);
    errors
        .into_result()
        .map_err(|errors| errors.lines().collect::<Vec<_>>().join("\n"))?;
    Ok(parsed.common)
}

#[test]
fn defaults_restrict_nothing() {
    let common = parse_flags(&[]).unwrap();
    assert_eq!(common.controller_name, "us.example");
    assert_eq!(&*common.namespace, "");
    assert_eq!(
        (&*common.kubeconfig, &*common.master, &*common.http_address),
        ("", "", "")
    );
    assert_eq!((common.dry_run, common.v), (false, 0));
    assert_eq!(common.logging_format, LoggingFormat::Text);
    assert_eq!(common.rate_limit(), None);
}

/// The actual period has a jitter (R6).
#[test]
fn the_resync_period_is_between_one_and_two_times_the_minimum() {
    let hours = |flags: &[&str], jitter| parse_flags(flags).unwrap().resync_period(jitter).as_secs_f64() / 3600.0;
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
            .all(|(actual, expected)| (actual - expected).abs() < 1e-9),
        "{resyncs:?}"
    );
}

#[test]
fn kube_api_qps_and_burst_set_the_rate_limit() {
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
        let limit = parse_flags(flags).unwrap().rate_limit();
        assert_eq!(
            limit.map(|limit| (limit.per_second, limit.burst.get())),
            expected,
            "{flags:?}"
        );
    }
}

#[test]
fn flags_have_the_syntax_of_kube_controller_manager() {
    for accepted in [
        &["--leader-elect=false", "--secure-port=0"][..],
        &["--bind-address=::1", "--secure-port=10257"],
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
        parse_flags(accepted).unwrap_or_else(|error| panic!("{accepted:?}: {error}"));
    }
    for on in ["--dry-run", "--dry-run=true", "--dry-run=1"] {
        assert!(parse_flags(&[on]).unwrap().dry_run, "{on}");
    }
    assert_eq!(parse_flags(&["-v=4"]).unwrap().v, 4);
}

#[test]
fn the_secure_port_has_the_default_of_the_program_and_three_open_paths() {
    let common = parse_flags(&[]).unwrap();
    let secure = &common.secure_port;
    assert_eq!(secure.secure_port, 0);
    assert!(secure.certificate_files().is_none());
    assert_eq!(
        secure.authorization_always_allow_paths,
        ["/healthz", "/readyz", "/livez"]
    );
    assert!(secure.required_access().is_empty());
    let info = ProgramInfo {
        secure_port: 10267,
        ..INFO
    };
    let flags = ["a-program", "--authentication-kubeconfig=other"];
    let secure = parse::<Only>(&info, flags).unwrap().common.secure_port;
    assert_eq!(secure.secure_port, 10267);
    let required = secure.required_access();
    assert_eq!(required.len(), 1, "the other kubeconfig reviews tokens: {required:?}");
}

#[test]
fn unsupported_values_are_all_reported() {
    let errors = parse_flags(&["--tls-cert-file=tls.crt", "--controller-name="]).unwrap_err();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    for (line, beginning) in lines.iter().zip([
        "tls-cert-file and tls-private-key-file must be given together",
        "controller-name must not be empty",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn invalid_flags_are_usage_errors() {
    for (flag, expected) in [
        ("--min-resync-period=soon", "not a duration such as 1m30s, 500ms or 0"),
        ("--logging-format=xml", "[possible values: text, json]"),
        ("--v=loud", "invalid digit"),
        ("--secure-port=65536", "65536 is not in 0..=65535"),
        ("--bind-address=localhost", "invalid IP address syntax"),
        ("--nonsense", "unexpected argument '--nonsense'"),
    ] {
        let error = parse_flags(&[flag]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn help_lists_every_flag_with_its_environment_variable() {
    let mut command = command::<Only>(&INFO);
    let help = command.render_help().to_string();
    for flag in [
        "kubeconfig",
        "master",
        "controller-name",
        "namespace",
        "dry-run",
        "min-resync-period",
        "kube-api-qps",
        "kube-api-burst",
        "disable-http2",
        "http-address",
        "logging-format",
        "v",
        "leader-elect",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-retry-period",
        "leader-elect-resource-lock",
        "leader-elect-resource-name",
        "leader-elect-resource-namespace",
        "bind-address",
        "secure-port",
        "tls-cert-file",
        "tls-private-key-file",
        "authentication-kubeconfig",
        "authorization-kubeconfig",
        "authorization-always-allow-paths",
    ] {
        let variable = format!("[env: ENDPOINTSLICE_{}]", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("--{flag} ")) || help.contains(&format!("--{flag}[")),
            "{flag}: {help}"
        );
        assert!(help.contains(&variable), "{variable}: {help}");
    }
    assert_eq!(help.matches("[env: ").count(), 26, "{help}");
    assert!(help.contains("[default: us.example]"), "{help}");
}

#[test]
fn leader_election_has_the_defaults_of_kube_controller_manager_and_its_own_lease() {
    let lease = |flags: &[&str]| parse_flags(flags).unwrap().leader_election.lease(|| "me".to_owned());
    assert_eq!(lease(&[]), Some(LeaderElection::new("a-program", "me")));
    assert_eq!(lease(&["--leader-elect=false"]), None);
    let flags = [
        "--leader-elect-lease-duration=30s",
        "--leader-elect-renew-deadline=20s",
        "--leader-elect-retry-period=5s",
        "--leader-elect-resource-name=a",
        "--leader-elect-resource-namespace=b",
    ];
    let expected = LeaderElection {
        namespace: "b".to_owned(),
        lease_duration: Duration::from_secs(30),
        renew_deadline: Duration::from_secs(20),
        retry_period: Duration::from_secs(5),
        ..LeaderElection::new("a", "me")
    };
    assert_eq!(lease(&flags), Some(expected));
}

/// As kube-controller-manager and client-go check them.
#[test]
fn invalid_flags_of_leader_election_are_reported() {
    for (flag, expected) in [
        (
            "--leader-elect-lease-duration=10s",
            "leader-elect-lease-duration must be greater than leader-elect-renew-deadline",
        ),
        (
            "--leader-elect-retry-period=9s",
            "leader-elect-renew-deadline must be greater than 1.2 times leader-elect-retry-period",
        ),
        (
            "--leader-elect-retry-period=0",
            "leader-elect-retry-period must be greater than zero",
        ),
        (
            "--leader-elect-resource-lock=endpoints",
            "leader-elect-resource-lock must be leases, but got \"endpoints\"",
        ),
        (
            "--leader-elect-resource-name=",
            "leader-elect-resource-name must not be empty",
        ),
        (
            "--leader-elect-resource-namespace=",
            "leader-elect-resource-namespace must not be empty",
        ),
    ] {
        let errors = parse_flags(&[flag]).unwrap_err();
        assert_eq!(errors.trim(), expected, "{flag}");
        assert!(parse_flags(&[flag, "--leader-elect=false"]).is_ok(), "{flag}");
    }
}
