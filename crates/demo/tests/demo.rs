//! `cargo xtask demo` as a person runs it, on the in-memory API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod acts;

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use devtools::TestRun;
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
fn every_act_shows_and_the_whole_is_verified() {
    let run = TestRun::new().unwrap();
    let output = run.host(Command::new(DEMO).arg("--once")).output().unwrap();
    let said = acts::said(output);
    acts::assert_played(&said);
    let update = said.split("\nact ").nth(2).unwrap();
    assert!(
        update.contains(" serving+terminating\n"),
        "old pods leave slowly:\n{update}"
    );
    acts::assert_verified(&said);
    run.nothing_left().unwrap();
}

#[tokio::test]
async fn a_person_joins_and_ctrl_c_ends_everything() {
    // Before the demo does: the time that a build takes is not limited.
    testenv::build(&testenv::CONTROLLERS).unwrap();
    let run = TestRun::new().unwrap();
    let mut hosted = Command::new("demo");
    let hosted = run.host(&mut hosted).get_envs();
    let hosted = hosted.map(|(key, value)| (key.to_owned(), value.unwrap_or_default().to_owned()));
    let variables: Vec<_> = env::vars_os().chain(hosted).collect();
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .filter_map(|(key, value)| Some((key.to_str()?, value.to_str()?)))
        .collect();
    let demo = TestProcess::start(DEMO, &[], &variables).unwrap();
    let line = demo.wait_for_output("export KUBECONFIG=").await.unwrap();
    let kubeconfig = Path::new(line.split_once('=').unwrap().1);
    demo.wait_for_output("until Ctrl-C").await.unwrap();
    demo.wait_for_output("verified I1–I7 over ").await.unwrap();

    // In the namespace of the story, without being told.
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
    run.nothing_left().unwrap();
}

/// A limit that our own controller is told to ignore: the judge knows nothing of that.
#[test]
fn slices_that_are_wrong_fail_it() {
    let output = Stand::new(
        "endpointslice-controller",
        r#"exec "$REAL" "$@" --max-endpoints-per-slice=1000"#,
    )
    .demo(&["--once"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.contains("error: the slices broke invariants, "),
        "{complaint}"
    );
    assert!(complaint.contains("\n  I3 EndpointSlice demo/web-"), "{complaint}");
}

#[test]
fn a_controller_that_ends_fails_it() {
    let until_the_second_act = r#""$REAL" "$@" &
until grep -q "act 2" "$SAID"; do sleep 0.1; done
kill -s KILL $!"#;
    let stand = Stand::new("endpointslice-mirroring-controller", until_the_second_act);
    let output = stand.demo(&[]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.contains("error: endpointslice-mirroring-controller ended"),
        "{complaint}"
    );
}

/// A Cargo that builds our controllers, but then points to another program in the place of one of them.
struct Stand(TempDir);

impl Stand {
    fn new(controller: &str, script: &str) -> Self {
        let built = Path::new(DEMO).parent().unwrap();
        let stand = TempDir::new().unwrap();
        let other = stand.path().join(controller);
        let (real, said) = (built.join(controller), stand.path().join("said"));
        program(
            &other,
            &format!("REAL={}\nSAID={}\n{script}", real.display(), said.display()),
        );
        let artifacts = testenv::CONTROLLERS.map(|name| {
            let place = if name == controller {
                other.clone()
            } else {
                built.join(name)
            };
            format!("echo '{}'", json!({"target": {"name": name}, "executable": place}))
        });
        let cargo = env::var("CARGO").unwrap();
        let script = format!("{cargo} \"$@\" > /dev/null || exit 1\n{}", artifacts.join("\n"));
        program(&stand.path().join("cargo"), &script);
        Self(stand)
    }

    fn demo(&self, args: &[&str]) -> Output {
        let mut demo = Command::new(DEMO);
        demo.args(args).env("CARGO", self.0.path().join("cargo"));
        demo.stdout(fs::File::create(self.0.path().join("said")).unwrap());
        demo.output().unwrap()
    }
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
