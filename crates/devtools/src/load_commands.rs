//! How the archive of an image gets into a cluster, as `cargo xtask image` and `cargo xtask deploy` print it.

/// Stands for the path of the archive in [`LOAD_COMMANDS`].
pub const ARCHIVE: &str = "ARCHIVE";

/// Kinds of clusters, each with the command that loads [`ARCHIVE`].
pub const LOAD_COMMANDS: [(&str, &str); 5] = [
    (
        "kind",
        "kind load image-archive ARCHIVE (--name CLUSTER, unless its name is kind)",
    ),
    ("minikube", "minikube image load ARCHIVE"),
    ("k3s", "k3s ctr images import ARCHIVE (on each node)"),
    (
        "containerd",
        "ctr --namespace k8s.io images import ARCHIVE (on each node)",
    ),
    ("Talos", "push it to a registry, and deploy with --image"),
];
