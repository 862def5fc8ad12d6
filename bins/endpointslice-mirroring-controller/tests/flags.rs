//! Command line: configuration errors and exit codes, without an API server. The flags that both binaries share are tested in
//! endpointslice-controller.

use testenv::TestProcess;

/// A port without a listener. A program that tries to connect has accepted all flags.
const UNREACHABLE_MASTER: &str = "--master=http://127.0.0.1:1";
const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-mirroring-controller");

/// Limits of the number flags (T-MIR-66…70, M126 to M129).
#[tokio::test]
async fn number_flags_have_the_limits_of_kube_controller_manager() {
    let syncs = "mirroring-concurrent-service-endpoint-syncs";
    let addresses = "mirroring-max-endpoints-per-subset";
    for (flag, value, expected) in [
        (syncs, "1", None),
        (syncs, "50", None),
        (syncs, "0", Some("must not be less than 1, but got 0")),
        (syncs, "51", Some("must not be more than 50, but got 51")),
        (addresses, "1", None),
        (addresses, "1000", None),
        (addresses, "0", Some("must not be less than 1, but got 0")),
        (addresses, "1001", Some("must not be more than 1000, but got 1001")),
    ] {
        let program = TestProcess::start(PROGRAM, &[UNREACHABLE_MASTER, &format!("--{flag}"), value], &[]).unwrap();
        let Some(expected) = expected else {
            program.wait_for_output("starting").await.unwrap();
            continue;
        };
        let (code, errors) = program.wait_for_startup_error().await.unwrap();
        assert_eq!((code, errors.len()), (Some(1), 1), "{errors:?}");
        assert_eq!(errors[0], format!("{flag} {expected}"));
    }
}

#[tokio::test]
async fn all_configuration_errors_are_reported_also_from_the_environment() {
    let variables = [
        ("ENDPOINTSLICE_MIRRORING_CONCURRENT_SERVICE_ENDPOINT_SYNCS", "0"),
        ("ENDPOINTSLICE_MIRRORING_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "1m30s"),
        ("ENDPOINTSLICE_MASTER", "http://127.0.0.1:1"),
    ];
    let args = ["--mirroring-max-endpoints-per-subset=-1"];
    let program = TestProcess::start(PROGRAM, &args, &variables).unwrap();
    let (code, errors) = program.wait_for_startup_error().await.unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(
        errors,
        [
            "mirroring-concurrent-service-endpoint-syncs must not be less than 1, but got 0",
            "mirroring-max-endpoints-per-subset must not be less than 1, but got -1",
        ]
    );
}

#[tokio::test]
async fn help_lists_its_own_flags() {
    let program = TestProcess::start(PROGRAM, &["--help"], &[]).unwrap();
    assert!(program.wait().await.unwrap().success());
    let help = program.output();
    for flag in [
        "mirroring-concurrent-service-endpoint-syncs",
        "mirroring-max-endpoints-per-subset",
        "mirroring-endpointslice-updates-batch-period",
        "service-selector",
    ] {
        let variable = format!("[env: ENDPOINTSLICE_{}]", flag.to_uppercase().replace('-', "_"));
        assert!(
            help.contains(&format!("--{flag} ")) && help.contains(&variable),
            "{flag}: {help}"
        );
    }
    assert!(
        help.contains("[default: endpointslicemirroring-controller.k8s.io]"),
        "{help}"
    );
    assert!(
        help.contains("[env: ENDPOINTSLICE_SECURE_PORT] [default: 10268]"),
        "{help}"
    );
    assert_eq!(help.matches("[env: ").count(), 30, "{help}");
}
