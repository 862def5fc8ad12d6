//! OCI images of the two controllers, built without Docker: a static program and its SBOM on an empty file system.
//!
//! [`image::build`] is a pure function of its input, so that the same input gives the same digest. The other modules read
//! that input: from Cargo, from Git and from the compiler.

pub mod image;
pub mod sbom;
pub mod source;
pub mod static_program;
mod tarball;
pub mod workspace;

/// The programs that get an image. An image has the name of its program.
pub const PROGRAMS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// User and group of the process: not root, and without an entry in a password file. `runAsNonRoot` needs a number.
pub const USER: &str = "65532:65532";

/// The path of the SBOM in an image. Scanners find it by the suffix.
pub const SBOM_PATH: &str = "sbom.cdx.json";
