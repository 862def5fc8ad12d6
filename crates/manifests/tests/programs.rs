//! The programs accept the flags of their Deployments and of the chart.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod fixtures;

use manifests::Controller;
use testenv::TestProcess;

/// A port without a listener. A program that tries to connect has accepted all flags.
const UNREACHABLE_MASTER: &str = "--master=http://127.0.0.1:1";

/// Why the schema of the chart rejects them as further flags.
#[tokio::test]
async fn a_flag_of_the_deployment_that_is_given_twice_ends_the_program() {
    let names = Controller::ALL.map(Controller::name);
    let programs = tokio::task::spawn_blocking(move || testenv::build(&names));
    let programs = programs.await.unwrap().unwrap();
    for (controller, program) in Controller::ALL.into_iter().zip(programs) {
        let (args, _) = fixtures::args(controller, false);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        for flag in args.iter().filter(|flag| !flag.starts_with("--bind-address")) {
            let process =
                TestProcess::start(&program, &[&args[..], &[flag, UNREACHABLE_MASTER]].concat(), &[]).unwrap();
            let status = process.wait().await.unwrap();
            let output = process.output();
            assert!(
                !status.success() && output.contains("cannot be used multiple times"),
                "{output}"
            );
        }
    }
}

#[tokio::test]
async fn programs_accept_the_flags_of_their_deployments() {
    let names = Controller::ALL.map(Controller::name);
    let programs = tokio::task::spawn_blocking(move || testenv::build(&names));
    let programs = programs.await.unwrap().unwrap();
    for (controller, program) in Controller::ALL.into_iter().zip(programs) {
        for shadow in [false, true] {
            let (args, _) = fixtures::args(controller, shadow);
            let scope = ["--namespace=shop", "--service-selector=a=b", UNREACHABLE_MASTER];
            let args: Vec<&str> = args.iter().map(String::as_str).chain(scope).collect();
            let process = TestProcess::start(&program, &args, &[]).unwrap();
            process.wait_for_output("starting").await.unwrap();
        }
    }
}
