//! Builds binaries of this workspace.

use std::path::PathBuf;

use crate::error::Error;

/// Our controllers: package names, which are also the names of the controllers in kube-controller-manager.
pub const CONTROLLERS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// Builds binaries of this workspace with cargo, by package name; returns their paths in the same order.
///
/// Cargo builds only the binaries of a test's own package for it.
pub fn build(packages: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let selection: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    devtools::build(&selection, packages).map_err(Error::system(format!("build {}", packages.join(" and "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_error_names_the_package() {
        let error = build(&["nonsense"]).unwrap_err().to_string();
        assert_eq!(error, "cannot build nonsense");
    }
}
