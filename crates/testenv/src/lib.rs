//! A real Kubernetes control plane for tests.
//!
//! [`ControlPlane::start`] runs etcd and kube-apiserver on free ports of the loopback interface, with their data in a
//! temporary directory, TLS with a certificate authority of their own, and RBAC. Several can run at the same time. It
//! provides clients and kubeconfigs for an administrator, for users with given RBAC rules and for service accounts, and
//! starts upstream's controllers. [`Cluster`] adds a scheduler and nodes, so that real Deployments roll.
//!
//! Every process of the control plane is a [`Component`], which can be stopped, killed, frozen and restarted on the same
//! data. A [`TestProcess`] is a process under test; a [`ControllerProcess`] is one of our controllers. All processes end
//! and the directory is removed when the environment is dropped, and also when the test process dies of a panic, Ctrl-C
//! or SIGKILL. [`SimServer`] is the in-memory API server, for tests that do not need a real control plane.
//!
//! The control-plane binaries are built from source with Go on first use, or come from `KUBEBUILDER_ASSETS`: see
//! [`assets`].
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Service;
//! use kube::Api;
//! use testenv::ControlPlane;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let control_plane = ControlPlane::start().await?;
//!     let services: Api<Service> = Api::default_namespaced(control_plane.client()?);
//!     assert_eq!(services.list(&Default::default()).await?.items.len(), 1);
//!
//!     control_plane.apiserver().kill().await?;
//!     assert!(services.list(&Default::default()).await.is_err());
//!     control_plane.apiserver().start().await?;
//!     assert!(services.list(&Default::default()).await.is_ok());
//!     Ok(())
//! }
//! ```

mod access;
mod audit;
mod block_watches;
mod cluster;
mod component;
mod control_plane;
mod controller_process;
mod controllers;
mod error;
mod files;
pub mod objects;
pub mod pki;
mod ports;
mod proxy;
mod rbac;
pub mod readme;
mod reaper;
mod reference;
mod relay;
mod rolling_deployment;
mod secure_port;
mod shell;
mod sim;
mod test_process;
mod token;
mod webhook;
mod workspace_binaries;

pub use access::{Credentials, KubeconfigFile, User};
pub use audit::{AuditLog, AuditedRequest};
pub use block_watches::block_watches;
pub use cluster::{Cluster, ClusterBuilder};
pub use component::Component;
pub use control_plane::{ApiserverReplica, ControlPlane, ControlPlaneBuilder, EtcdCopy};
pub use control_plane_assets as assets;
pub use controller_process::ControllerProcess;
pub use error::Error;
pub use proxy::{FaultProxy, Protocol, ProxyProtocols};
pub use rbac::rule;
pub use reference::metric_differences;
pub use rolling_deployment::RollingDeployment;
pub use secure_port::{SecureClient, free_port, raise_open_files_limit};
pub use shell::execute;
pub use sim::SimServer;
pub use test_process::{Signal, TestProcess, until};
pub use webhook::{Webhook, WebhookMode};
pub use workspace_binaries::{CONTROLLERS, build};
