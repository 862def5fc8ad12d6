//! Command line: configuration errors and exit codes, without an API server.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use testenv::TestProcess;

/// A port without a listener. A program that tries to connect has accepted all flags.
const UNREACHABLE_MASTER: &str = "--master=http://127.0.0.1:1";

const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-controller");

/// Starts the program, which accepts these arguments and then waits for the API server.
async fn starts(args: &[&str], variables: &[(&str, &str)]) {
    let program = TestProcess::start(PROGRAM, args, variables).unwrap();
    program.wait_for_output("starting").await.unwrap();
}

/// Runs the program until it exits. Returns the exit code and the reported errors.
async fn run(args: &[&str], variables: &[(&str, &str)]) -> (i32, Vec<String>) {
    let program = TestProcess::start(PROGRAM, args, variables).unwrap();
    let (code, errors) = program.wait_for_startup_error().await.unwrap();
    (code.unwrap(), errors)
}

/// Limits of the number flags (R1 to R3, T-OPT-01 to T-OPT-05).
#[tokio::test]
async fn number_flags_have_the_limits_of_kube_controller_manager() {
    let syncs = "concurrent-service-endpoint-syncs";
    let endpoints = "max-endpoints-per-slice";
    for (id, flag, value, expected) in [
        ("T-OPT-01", syncs, "10", None),
        ("T-OPT-01", endpoints, "200", None),
        ("T-OPT-02", syncs, "0", Some("must not be less than 1, but got 0")),
        ("T-OPT-03", syncs, "51", Some("must not be more than 50, but got 51")),
        ("T-OPT-04", endpoints, "0", Some("must not be less than 1, but got 0")),
        (
            "T-OPT-05",
            endpoints,
            "1001",
            Some("must not be more than 1000, but got 1001"),
        ),
        ("R1", syncs, "1", None),
        ("R1", syncs, "50", None),
        ("R1", endpoints, "1", None),
        ("R1", endpoints, "1000", None),
        ("R2", endpoints, "-1", Some("must not be less than 1, but got -1")),
    ] {
        let flag_name = format!("--{flag}");
        let args = [UNREACHABLE_MASTER, &flag_name, value];
        let Some(expected) = expected else {
            starts(&args, &[]).await;
            continue;
        };
        let (code, errors) = run(&args, &[]).await;
        assert_eq!((code, errors.len()), (1, 1), "{id}: {errors:?}");
        assert_eq!(errors[0], format!("{flag} {expected}"), "{id}");
    }
}

#[tokio::test]
async fn all_configuration_errors_are_reported_together() {
    let (code, errors) = run(
        &[
            UNREACHABLE_MASTER,
            "--concurrent-service-endpoint-syncs=51",
            "--max-endpoints-per-slice=0",
            "--leader-elect",
            "--leader-elect-renew-deadline=15s",
            "--tls-private-key-file=tls.key",
        ],
        &[],
    )
    .await;
    assert_eq!(code, 1);
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert_eq!(
        errors[..2],
        [
            "concurrent-service-endpoint-syncs must not be more than 50, but got 51",
            "max-endpoints-per-slice must not be less than 1, but got 0",
        ]
    );
}

#[tokio::test]
async fn each_flag_is_also_a_variable_and_the_command_line_has_precedence() {
    let variables = [
        ("ENDPOINTSLICE_MAX_ENDPOINTS_PER_SLICE", "1001"),
        ("ENDPOINTSLICE_MASTER", "http://127.0.0.1:1"),
        ("ENDPOINTSLICE_LEADER_ELECT", "true"),
        ("ENDPOINTSLICE_LEADER_ELECT_RETRY_PERIOD", "10s"),
        ("ENDPOINTSLICE_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "500ms"),
    ];
    let (_, errors) = run(&[], &variables).await;
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("max-endpoints-per-slice "), "{errors:?}");
    assert!(errors[1].starts_with("leader-elect-renew-deadline "), "{errors:?}");

    starts(&["--max-endpoints-per-slice=7", "--leader-elect=false"], &variables).await;

    let (code, errors) = run(&[], &[("ENDPOINTSLICE_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "soon")]).await;
    assert_eq!((code, errors.len()), (2, 1), "{errors:?}");
    assert!(errors[0].contains("--endpointslice-updates-batch-period"), "{errors:?}");
}

#[tokio::test]
async fn a_usage_error_is_one_line() {
    for (flag, expected) in [
        (
            "--nonsense",
            "unexpected argument '--nonsense' found; run `endpointslice-controller --help` for usage",
        ),
        (
            "--max-endpoints-per-slice=many",
            "invalid value 'many' for '--max-endpoints-per-slice <NUMBER>'",
        ),
        ("--min-resync-period=1", "not a duration such as 1m30s, 500ms or 0"),
    ] {
        let (code, errors) = run(&[flag], &[]).await;
        assert_eq!((code, errors.len()), (2, 1), "{errors:?}");
        assert!(errors[0].contains(expected), "{errors:?}");
    }
}

#[tokio::test]
async fn a_missing_or_invalid_client_configuration_is_reported() {
    let (code, errors) = run(&[], &[]).await;
    assert_eq!((code, errors.len()), (1, 1), "{errors:?}");
    assert!(
        errors[0].contains("Give --kubeconfig or --master, or run in a cluster"),
        "{errors:?}"
    );

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let file = file.to_str().unwrap();
    std::fs::write(file, "{").unwrap();
    for result in [
        run(&[], &[("KUBECONFIG", file)]).await,
        run(&[&format!("--kubeconfig={file}")], &[]).await,
    ] {
        let (code, errors) = result;
        assert_eq!((code, errors.len()), (1, 1), "{errors:?}");
        assert!(errors[0].starts_with("cannot use the kubeconfig "), "{errors:?}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for address in [
        format!(":{port}"),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
    ] {
        let (code, errors) = run(&[UNREACHABLE_MASTER, &format!("--http-address={address}")], &[]).await;
        assert_eq!((code, errors.len()), (1, 1), "{errors:?}");
        let expected = format!("cannot listen on --http-address={address}: ");
        assert!(errors[0].starts_with(&expected), "{errors:?}");
    }
}

#[tokio::test]
async fn a_secure_port_that_cannot_be_served_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for (flags, expected) in [
        (
            vec![format!("--secure-port={port}"), "--bind-address=127.0.0.1".to_owned()],
            format!("cannot listen on --secure-port={port} of --bind-address=127.0.0.1: "),
        ),
        (
            [
                "--secure-port=10267",
                "--tls-cert-file=tls.crt",
                "--tls-private-key-file=tls.key",
            ]
            .map(str::to_owned)
            .to_vec(),
            "cannot read the certificate tls.crt: ".to_owned(),
        ),
        (
            ["--secure-port=10267", "--authentication-kubeconfig=missing"]
                .map(str::to_owned)
                .to_vec(),
            "cannot use the kubeconfig missing: ".to_owned(),
        ),
    ] {
        let args: Vec<&str> = flags.iter().map(String::as_str).chain([UNREACHABLE_MASTER]).collect();
        let (code, errors) = run(&args, &[]).await;
        assert_eq!((code, errors.len()), (1, 1), "{errors:?}");
        assert!(errors[0].starts_with(&expected), "{errors:?}");
    }
}

/// The common flags are tested in slice-runtime.
#[tokio::test]
async fn help_lists_its_own_flags() {
    let program = TestProcess::start(env!("CARGO_BIN_EXE_endpointslice-controller"), &["--help"], &[]).unwrap();
    assert!(program.wait().await.unwrap().success());
    let help = program.output();
    for flag in [
        "concurrent-service-endpoint-syncs",
        "max-endpoints-per-slice",
        "endpointslice-updates-batch-period",
        "service-selector",
    ] {
        let variable = format!("[env: ENDPOINTSLICE_{}]", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("--{flag}")) && help.contains(&variable),
            "{flag}: {help}"
        );
    }
    assert!(
        help.contains("[env: ENDPOINTSLICE_SECURE_PORT] [default: 10267]"),
        "{help}"
    );
    assert_eq!(help.matches("[env: ").count(), 30, "{help}");
}
