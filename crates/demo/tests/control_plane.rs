//! The demo on the real control plane, which needs Go.

mod acts;

use std::process::Command;

/// The demo with real Deployments, whose pods the small cluster runs.
#[test]
fn the_demo_plays_on_the_real_cluster() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(["--real", "--once"])
        .output()
        .unwrap();
    let said = acts::said(output);
    acts::assert_played(&said);
    acts::assert_verified(&said);
}
