//! The command line as a person writes it: what is said, and how the program ends. No API server is needed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use testenv::TestProcess;

/// An address where nobody is: whoever gets there has accepted all flags.
const NOBODY: &str = "--master=http://127.0.0.1:1";
const UNREACHABLE: &str = "http://127.0.0.1:1/: the API server cannot be reached: ";

/// Runs the program to its end; answers its code and its complaints.
async fn run(args: &[&str], variables: &[(&str, &str)]) -> (i32, Vec<String>) {
    let program = TestProcess::start(env!("CARGO_BIN_EXE_endpointslice-controller"), args, variables).unwrap();
    let (code, complaints) = program.wait_for_startup_error().await.unwrap();
    (code.unwrap(), complaints)
}

/// R1 to R3, T-OPT-01 to T-OPT-05.
#[tokio::test]
async fn numbers_have_the_limits_of_kube_controller_manager() {
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
        let (code, complaints) = run(&[NOBODY, &format!("--{flag}"), value], &[]).await;
        assert_eq!((code, complaints.len()), (1, 1), "{id}: {complaints:?}");
        match expected {
            Some(expected) => assert_eq!(complaints[0], format!("{flag} {expected}"), "{id}"),
            None => assert!(complaints[0].starts_with(UNREACHABLE), "{id}: {complaints:?}"),
        }
    }
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    let (code, complaints) = run(
        &[
            NOBODY,
            "--concurrent-service-endpoint-syncs=51",
            "--max-endpoints-per-slice=0",
            "--leader-elect=true",
            "--secure-port=10257",
        ],
        &[],
    )
    .await;
    assert_eq!(code, 1);
    assert_eq!(complaints.len(), 4, "{complaints:?}");
    assert_eq!(
        complaints[..2],
        [
            "concurrent-service-endpoint-syncs must not be more than 50, but got 51",
            "max-endpoints-per-slice must not be less than 1, but got 0",
        ]
    );
}

#[tokio::test]
async fn each_flag_is_also_a_variable_and_the_command_line_wins() {
    let variables = [
        ("ENDPOINTSLICE_MAX_ENDPOINTS_PER_SLICE", "1001"),
        ("ENDPOINTSLICE_MASTER", "http://127.0.0.1:1"),
        ("ENDPOINTSLICE_LEADER_ELECT", "true"),
        ("ENDPOINTSLICE_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "500ms"),
    ];
    let (_, complaints) = run(&[], &variables).await;
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].starts_with("max-endpoints-per-slice "), "{complaints:?}");
    assert!(complaints[1].starts_with("leader-elect "), "{complaints:?}");

    let (_, complaints) = run(&["--max-endpoints-per-slice=7", "--leader-elect=false"], &variables).await;
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with(UNREACHABLE), "{complaints:?}");

    let (code, complaints) = run(&[], &[("ENDPOINTSLICE_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "soon")]).await;
    assert_eq!((code, complaints.len()), (2, 1), "{complaints:?}");
    assert!(
        complaints[0].contains("--endpointslice-updates-batch-period"),
        "{complaints:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_one_line() {
    for (flag, expected) in [
        (
            "--nonsense",
            "unexpected argument '--nonsense' found; `endpointslice-controller --help` lists what there is",
        ),
        (
            "--max-endpoints-per-slice=many",
            "invalid value 'many' for '--max-endpoints-per-slice <NUMBER>'",
        ),
        ("--min-resync-period=1", "not a duration such as 1m30s, 500ms or 0"),
    ] {
        let (code, complaints) = run(&[flag], &[]).await;
        assert_eq!((code, complaints.len()), (2, 1), "{complaints:?}");
        assert!(complaints[0].contains(expected), "{complaints:?}");
    }
}

#[tokio::test]
async fn who_knows_no_server_is_told_what_to_give() {
    let (code, complaints) = run(&[], &[]).await;
    assert_eq!((code, complaints.len()), (1, 1), "{complaints:?}");
    assert!(
        complaints[0].contains("Give --kubeconfig or --master, or run in a cluster"),
        "{complaints:?}"
    );

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let file = file.to_str().unwrap();
    std::fs::write(file, "{").unwrap();
    for complaint in [
        run(&[], &[("KUBECONFIG", file)]).await,
        run(&[&format!("--kubeconfig={file}")], &[]).await,
    ] {
        let (code, complaints) = complaint;
        assert_eq!((code, complaints.len()), (1, 1), "{complaints:?}");
        assert!(
            complaints[0].starts_with("cannot use the kubeconfig "),
            "{complaints:?}"
        );
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for address in [
        format!(":{port}"),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
    ] {
        let (code, complaints) = run(&[NOBODY, &format!("--http-address={address}")], &[]).await;
        assert_eq!((code, complaints.len()), (1, 1), "{complaints:?}");
        let beginning = format!("cannot listen at --http-address={address}: ");
        assert!(complaints[0].starts_with(&beginning), "{complaints:?}");
    }
}

/// And those of every program, which are told apart in slice-runtime.
#[tokio::test]
async fn help_lists_its_own_flags() {
    let program = TestProcess::start(env!("CARGO_BIN_EXE_endpointslice-controller"), &["--help"], &[]).unwrap();
    assert!(program.wait().await.unwrap().success());
    let help = program.output();
    for flag in [
        "concurrent-service-endpoint-syncs",
        "max-endpoints-per-slice",
        "endpointslice-updates-batch-period",
    ] {
        let variable = format!("[env: ENDPOINTSLICE_{}]", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("--{flag}")) && help.contains(&variable),
            "{flag}: {help}"
        );
    }
    assert_eq!(help.matches("[env: ").count(), 17, "{help}");
}
