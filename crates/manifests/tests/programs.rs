//! The programs accept the flags of their Deployments and of the chart.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use manifests::{Controller, Options, objects};
use testenv::{TestProcess, free_port};

/// A port without a listener. A program that tries to connect has accepted all flags.
const UNREACHABLE_MASTER: &str = "--master=http://127.0.0.1:1";

/// The arguments of the container in the Deployment.
fn args(controller: Controller, options: &Options) -> Vec<String> {
    let objects = objects(&[controller], options);
    let deployment = objects.last().unwrap();
    let args = &deployment.data["spec"]["template"]["spec"]["containers"][0]["args"];
    serde_json::from_value(args.clone()).unwrap()
}

#[tokio::test]
async fn programs_accept_the_flags_of_their_deployments() {
    let names = Controller::ALL.map(Controller::name);
    let programs = tokio::task::spawn_blocking(move || testenv::build(&names));
    let programs = programs.await.unwrap().unwrap();
    for (controller, program) in Controller::ALL.into_iter().zip(programs) {
        for shadow in [false, true] {
            let options = Options {
                shadow,
                ..Options::default()
            };
            let own = format!("--secure-port={}", controller.secure_port());
            // The port of a node may be in use here.
            let free = format!("--secure-port={}", free_port().unwrap());
            let mut args = args(controller, &options);
            let port = args.iter_mut().find(|arg| **arg == own).unwrap();
            *port = free;
            args.extend(["--namespace=shop", "--service-selector=a=b", "--bind-address=127.0.0.1"].map(str::to_owned));
            args.push(UNREACHABLE_MASTER.to_owned());
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let process = TestProcess::start(&program, &args, &[]).unwrap();
            process.wait_for_output("starting").await.unwrap();
        }
    }
}
