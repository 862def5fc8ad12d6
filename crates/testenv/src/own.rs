//! The programs of this workspace, built before they are run.

use std::path::PathBuf;

use crate::error::Error;

/// The programs that replace two controllers of kube-controller-manager, and are called as those are.
pub const CONTROLLERS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// Has cargo build programs of this workspace, by the names of their packages; answers where they are, in the same order.
///
/// A test knows the programs of its own package only, and cargo builds no others for it.
pub fn build(packages: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let selection: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    devtools::build(&selection, packages).map_err(Error::system(format!("build {}", packages.join(" and "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_built_is_named() {
        let error = build(&["nonsense"]).unwrap_err().to_string();
        assert_eq!(error, "cannot build nonsense");
    }
}
