//! Beside the built-in controllers of kube-controller-manager.

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Endpoints, Service, ServiceAccount},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use testenv::{Cluster, ControlPlane, KubeconfigFile, Signal, execute, until};

use crate::harness::{
    Leaders, MANAGER, NODE_A, PROGRAMS, admin, arguments, deploy, deployment, installed, renew, services, start,
};

/// The commands in docs/migrate.md, in their order.
fn documented_commands() -> Vec<&'static str> {
    let blocks = include_str!("../../../../docs/migrate.md").split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    // The images of the test need not exist: no node runs them.
    lines.filter(|&line| line != "cargo xtask image").collect()
}

/// Runs a documented `cargo xtask deploy …`.
async fn documented_deploy(kubeconfig: &KubeconfigFile, line: &str) -> (bool, String) {
    let arguments = line.strip_prefix("cargo xtask deploy");
    let arguments = arguments.unwrap_or_else(|| panic!("{line}")).split_whitespace();
    deploy(kubeconfig, &arguments.collect::<Vec<_>>()).await
}

#[tokio::test]
async fn the_documented_migration_works_and_is_refused_beside_the_built_in_controllers() {
    let cluster = Cluster::start().await.unwrap();
    let control_plane = cluster.control_plane();
    let built_in = control_plane.controller_manager(&PROGRAMS, &["--leader-elect=true"]);
    let built_in = built_in.await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(control_plane);
    let commands = documented_commands();
    let [shadow, log, mirroring_log, lease, install, delete] = commands[..] else {
        panic!("{commands:?}");
    };

    let (success, output) = documented_deploy(&admin, install).await;
    assert!(!success, "{output}");
    for text in [
        "nothing was applied",
        "kube-controller-manager writes slices",
        "kubeadm",
        "kind",
        "k3s",
        "Talos",
        "--shadow",
        "-endpointslice-controller,-endpointslice-mirroring-controller",
    ] {
        assert!(output.contains(text), "{text}: {output}");
    }
    assert_eq!(installed(&client).await, [""; 0]);
    assert_eq!(
        services(&client).await,
        [""; 0],
        "the Services of the check are deleted"
    );

    let (success, output) = documented_deploy(&admin, shadow).await;
    assert!(success, "{output}");
    for (program, log) in PROGRAMS.into_iter().zip([log, mirroring_log]) {
        assert!(output.contains(&format!("  {log}\n")), "{log} is missing in {output}");
        // No kubelet serves the log of its pod, which is found.
        let output = execute(log, &admin.path).await.unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains(&format!("/containerLogs/endpointslice-system/{program}-")),
            "{error}"
        );
        let deployment = deployment(&client, program).await.unwrap();
        assert!(
            arguments(&deployment).contains(&"--dry-run=true".to_owned()),
            "{program}"
        );
        assert_eq!(deployment.status.unwrap().available_replicas, Some(1), "{program}");
    }

    let output = execute(lease, &admin.path).await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && printed.contains("kube-controller-manager"),
        "{printed}"
    );

    built_in.stop().await.unwrap();
    let leaders = Leaders::start(&client);
    let (success, output) = documented_deploy(&admin, install).await;
    assert!(success, "{output}");
    for program in PROGRAMS {
        let deployment = deployment(&client, program).await.unwrap();
        assert!(
            !arguments(&deployment).contains(&"--dry-run=true".to_owned()),
            "{program}"
        );
    }
    leaders.stop().await;
    let (success, output) = documented_deploy(&admin, delete).await;
    assert!(success, "{output}");
    assert_eq!(installed(&client).await, [""; 0], "{output}");
}

/// The printed value replaces the present one, which turns off the other built-in controller.
#[tokio::test]
async fn the_refusal_includes_the_controller_that_was_replaced_before() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let built_in = control_plane.controller_manager(&PROGRAMS[1..], &["--leader-elect=true"]);
    let _built_in = built_in.await.unwrap();
    // No pod is scheduled.
    let (_, output) = deploy(&admin, &["--endpointslice", "--timeout", "1"]).await;
    assert!(
        output.contains("deployments.apps/endpointslice-controller created"),
        "{output}"
    );

    let (success, output) = deploy(&admin, &["--mirroring"]).await;
    let value = "tokencleaner,-endpointslice-controller,-endpointslice-mirroring-controller";
    assert!(!success && output.contains(value), "{output}");
    assert!(deployment(&client, PROGRAMS[1]).await.is_none());
}

/// While none leads, the absence of slices does not show that the built-in controllers are off.
#[tokio::test]
async fn the_check_waits_for_a_kube_controller_manager_that_leads() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    renew(&leases, MANAGER, NODE_A).await;

    let process = start(&admin.path, &[]);
    process
        .wait_for_output("waiting for up to 60 s until a kube-controller-manager leads")
        .await
        .unwrap();
    let built_in = control_plane.controller_manager(&PROGRAMS, &["--leader-elect=true"]);
    let _built_in = built_in.await.unwrap();
    assert!(!process.wait().await.unwrap().success());
    let output = process.output();
    assert!(output.contains("the built-in controller still works"), "{output}");
    assert_eq!(installed(&client).await, [""; 0]);
}

/// The value of `--controllers` that docs/migrate.md names for kubeadm, which replaces the default value.
fn documented_controllers() -> &'static str {
    let row = include_str!("../../../../docs/migrate.md")
        .lines()
        .find(|line| line.starts_with("| kubeadm |"));
    let (_, value) = row.unwrap().split_once("`--controllers=").unwrap();
    value.split_once('`').unwrap().0
}

#[tokio::test]
async fn the_documented_flag_turns_the_built_in_controllers_off_and_others_stay_on() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let controllers = [documented_controllers()];
    let manager = control_plane.controller_manager(&controllers, &["--leader-elect=true"]);
    let _manager = manager.await.unwrap();
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    until("another controller works", async || {
        accounts.get_opt("default").await.is_ok_and(|found| found.is_some())
    })
    .await
    .unwrap();

    // No pod is scheduled.
    let (_, output) = deploy(&admin, &["--timeout", "1"]).await;
    assert!(output.contains("checking for 30 s"), "after a start: {output}");
    assert!(
        output.contains("deployments.apps/endpointslice-controller created"),
        "{output}"
    );
    assert!(
        !output.contains("warning: "),
        "a kube-controller-manager leads: {output}"
    );
    assert_eq!(services(&client).await, [""; 0]);
}

#[tokio::test]
async fn an_interrupted_check_leaves_nothing() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let endpoints: Api<Endpoints> = Api::default_namespaced(client.clone());
    let checked = ListParams::default().labels("endpointslice-rs/check");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let process = start(&admin.path, &[]);
        until("the objects of the check exist", async || {
            services(&client).await.len() == 2 && !endpoints.list(&checked).await.unwrap().items.is_empty()
        })
        .await
        .unwrap();
        process.signal(signal).unwrap();
        assert!(!process.wait().await.unwrap().success());
        let output = process.output();
        assert!(output.contains("checking for 30 s"), "no leader is known: {output}");
        assert!(
            output.ends_with("error: interrupted; nothing was applied\n"),
            "{output}"
        );
        assert_eq!(services(&client).await, [""; 0]);
        assert!(endpoints.list(&checked).await.unwrap().items.is_empty());
    }
}

/// As by another run of the command, which deletes the objects of all.
#[tokio::test]
async fn a_check_whose_service_was_deleted_fails() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let _manager = Leaders::of_manager(&client, NODE_A);
    let admin = admin(&control_plane);
    let process = start(&admin.path, &["--endpointslice"]);
    let api: Api<Service> = Api::default_namespaced(client.clone());
    until("the Service of the check exists", async || {
        let names = services(&client).await;
        for name in &names {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        }
        !names.is_empty()
    })
    .await
    .unwrap();
    assert!(!process.wait().await.unwrap().success());
    let output = process.output();
    assert!(
        output.contains("nothing was applied: another client has deleted the Service"),
        "{output}"
    );
    assert_eq!(installed(&client).await, [""; 0]);
}

/// It may have ended before it could write.
#[tokio::test]
async fn a_check_whose_leader_has_ended_is_repeated_with_the_next_one() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let first = Leaders::of_manager(&client, NODE_A);
    // No pod is scheduled.
    let process = start(&admin.path, &["--endpointslice", "--timeout", "1"]);
    process.wait_for_output("checking for 10 s").await.unwrap();
    first.stop().await;
    let _second = Leaders::of_manager(&client, "node-b_1");
    process
        .wait_for_output("no longer leads; checking again")
        .await
        .unwrap();
    assert_eq!(installed(&client).await, [""; 0]);
    process.wait().await.unwrap();
    let output = process.output();
    assert_eq!(output.matches("checking for 10 s").count(), 2, "{output}");
    assert!(
        output.contains("deployments.apps/endpointslice-controller created"),
        "{output}"
    );
}
