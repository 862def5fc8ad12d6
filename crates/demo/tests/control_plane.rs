//! Runs the demo on the real control plane, which needs Go.

mod acts;

use std::process::Command;

/// All acts with real Deployments, and pods run by a fake kubelet.
#[test]
fn all_acts_succeed_on_the_real_cluster() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(["--real", "--once"])
        .output()
        .unwrap();
    let stdout = acts::stdout(output);
    acts::assert_acts(&stdout);
    acts::assert_verified(&stdout);
}
