//! The command line as a person writes it: what is said, and how the program ends. No API server is needed. What both
//! programs share is shown at the other one.

use testenv::TestProcess;

/// An address where nobody is: whoever gets there has accepted all flags.
const NOBODY: &str = "--master=http://127.0.0.1:1";
const UNREACHABLE: &str = "http://127.0.0.1:1/: the API server cannot be reached: ";
const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-mirroring-controller");

/// T-MIR-66…70, M126 to M129.
#[tokio::test]
async fn numbers_have_the_limits_of_kube_controller_manager() {
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
        let program = TestProcess::start(PROGRAM, &[NOBODY, &format!("--{flag}"), value], &[]).unwrap();
        let (code, complaints) = program.wait_for_startup_error().await.unwrap();
        assert_eq!((code, complaints.len()), (Some(1), 1), "{complaints:?}");
        match expected {
            Some(expected) => assert_eq!(complaints[0], format!("{flag} {expected}")),
            None => assert!(complaints[0].starts_with(UNREACHABLE), "{complaints:?}"),
        }
    }
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_also_when_it_comes_from_the_environment() {
    let variables = [
        ("ENDPOINTSLICE_MIRRORING_CONCURRENT_SERVICE_ENDPOINT_SYNCS", "0"),
        ("ENDPOINTSLICE_MIRRORING_ENDPOINTSLICE_UPDATES_BATCH_PERIOD", "1m30s"),
        ("ENDPOINTSLICE_MASTER", "http://127.0.0.1:1"),
    ];
    let args = ["--mirroring-max-endpoints-per-subset=-1"];
    let program = TestProcess::start(PROGRAM, &args, &variables).unwrap();
    let (code, complaints) = program.wait_for_startup_error().await.unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(
        complaints,
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
    assert_eq!(help.matches("[env: ").count(), 17, "{help}");
}
