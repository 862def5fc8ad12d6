//! Runs the demo as a process, on the in-memory API server.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod acts;

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use devtools::TestSandbox;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client, Config, ResourceExt as _,
    api::{DeleteParams, ListParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use tempfile::TempDir;
use testenv::{Signal, TestProcess};

const DEMO: &str = env!("CARGO_BIN_EXE_demo");

#[test]
fn all_acts_succeed_and_the_history_is_verified() {
    let sandbox = TestSandbox::new().unwrap();
    let output = sandbox.confine(Command::new(DEMO).arg("--once")).output().unwrap();
    let stdout = acts::stdout(output);
    acts::assert_acts(&stdout);
    let update = stdout.split("\nact ").nth(2).unwrap();
    assert!(
        update.contains(" serving+terminating\n"),
        "old pods are published as serving and terminating:\n{update}"
    );
    acts::assert_verified(&stdout);
    sandbox.assert_no_leaks().unwrap();
}

#[tokio::test]
async fn another_client_can_change_slices_and_ctrl_c_stops_all_processes() {
    // Build first: the waits below have time limits, builds do not.
    testenv::build(&testenv::CONTROLLERS).unwrap();
    let sandbox = TestSandbox::new().unwrap();
    let mut command = Command::new("demo");
    let confined = sandbox.confine(&mut command).get_envs();
    let confined = confined.map(|(key, value)| (key.to_owned(), value.unwrap_or_default().to_owned()));
    let variables: Vec<_> = env::vars_os().chain(confined).collect();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .filter_map(|(key, value)| Some((key.to_str()?, value.to_str()?)))
        .collect();
    let demo = TestProcess::start(DEMO, &[], &variables).unwrap();
    let line = demo.wait_for_output("export KUBECONFIG=").await.unwrap();
    let kubeconfig = Path::new(line.split_once('=').unwrap().1);
    demo.wait_for_output("until Ctrl-C").await.unwrap();
    demo.wait_for_output("verified I1–I7 over ").await.unwrap();

    // The kubeconfig selects the namespace of the demo.
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let slices: Api<EndpointSlice> = Api::default_namespaced(Client::try_from(config.unwrap()).unwrap());
    let of_db = ListParams::default().labels("kubernetes.io/service-name=db");
    let db = slices.list(&of_db).await.unwrap().items.remove(0).name_any();
    slices.delete(&db, &DeleteParams::default()).await.unwrap();
    demo.wait_for_output(&format!("deleted  {db}")).await.unwrap();
    testenv::until("the slice is back", async || {
        !slices.list(&of_db).await.unwrap().items.is_empty()
    })
    .await
    .unwrap();

    demo.signal(Signal::INT).unwrap();
    let status = demo.wait().await.unwrap();
    assert!(status.success(), "{}", demo.output());
    assert!(
        demo.output().ends_with("\ndemo: ended, and all that it had started\n"),
        "{}",
        demo.output()
    );
    assert!(!kubeconfig.exists());
    drop(demo);
    sandbox.assert_no_leaks().unwrap();
}

/// A controller with too high a limit violates I3.
#[test]
fn a_violated_invariant_fails_the_demo() {
    let output = FakeCargo::new(
        "endpointslice-controller",
        r#"exec "$REAL" "$@" --max-endpoints-per-slice=1000"#,
    )
    .demo(&["--once"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: the slices broke invariants, "), "{stderr}");
    assert!(stderr.contains("\n  I3 EndpointSlice demo/web-"), "{stderr}");
}

#[test]
fn a_controller_that_exits_fails_the_demo() {
    let until_the_second_act = r#""$REAL" "$@" &
until grep -q "act 2" "$DEMO_OUTPUT"; do sleep 0.1; done
kill -s KILL $!"#;
    let cargo = FakeCargo::new("endpointslice-mirroring-controller", until_the_second_act);
    let output = cargo.demo(&[]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("error: endpointslice-mirroring-controller ended"),
        "{stderr}"
    );
}

/// A fake `cargo` that builds the controllers, but reports a script as the executable of one of them.
struct FakeCargo(TempDir);

impl FakeCargo {
    fn new(controller: &str, script: &str) -> Self {
        let built = Path::new(DEMO).parent().unwrap();
        let directory = TempDir::new().unwrap();
        let script_path = directory.path().join(controller);
        let (real, stdout) = (built.join(controller), directory.path().join("stdout"));
        write_script(
            &script_path,
            &format!("REAL={}\nDEMO_OUTPUT={}\n{script}", real.display(), stdout.display()),
        );
        let artifacts = testenv::CONTROLLERS.map(|name| {
            let executable = if name == controller {
                script_path.clone()
            } else {
                built.join(name)
            };
            format!("echo '{}'", json!({"target": {"name": name}, "executable": executable}))
        });
        let cargo = env::var("CARGO").unwrap();
        let script = format!("{cargo} \"$@\" > /dev/null || exit 1\n{}", artifacts.join("\n"));
        write_script(&directory.path().join("cargo"), &script);
        Self(directory)
    }

    fn demo(&self, args: &[&str]) -> Output {
        let mut demo = Command::new(DEMO);
        demo.args(args).env("CARGO", self.0.path().join("cargo"));
        demo.stdout(fs::File::create(self.0.path().join("stdout")).unwrap());
        demo.output().unwrap()
    }
}

fn write_script(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
