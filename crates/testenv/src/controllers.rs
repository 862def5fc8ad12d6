//! Optional components of a control plane: controllers, scheduler, fake kubelet.

use crate::access::text;
use crate::assets::Program;
use crate::component::{Component, ComponentSpec};
use crate::control_plane::ControlPlane;
use crate::error::Error;
use crate::files::ensure_programs;

impl ControlPlane {
    /// Starts a kube-controller-manager with only these controllers (`garbage-collector-controller` …) and additional
    /// arguments.
    pub async fn controller_manager(&self, controllers: &[&str], arguments: &[&str]) -> Result<Component, Error> {
        let mut args = vec![format!("--controllers={}", controllers.join(","))];
        args.extend(arguments.iter().map(|&argument| argument.to_owned()));
        let program = ensure_programs(&[Program::KubeControllerManager]).await?;
        let program = program.path(Program::KubeControllerManager).to_owned();
        self.component(Program::KubeControllerManager, program, args).await
    }

    /// Starts a kube-scheduler.
    pub async fn scheduler(&self) -> Result<Component, Error> {
        let program = ensure_programs(&[Program::KubeScheduler]).await?;
        let program = program.path(Program::KubeScheduler).to_owned();
        self.component(Program::KubeScheduler, program, Vec::new()).await
    }

    /// Starts kwok, which keeps all nodes ready and runs the pods on them.
    pub async fn kwok(&self) -> Result<Component, Error> {
        let assets = ensure_programs(&[Program::Kwok]).await?;
        let files = self.files();
        let user = files.administrator("kwok")?;
        let kubeconfig = self.kubeconfig(&user)?;
        let launched = files.launch(Program::Kwok, |port| {
            Ok(ComponentSpec {
                program: assets.path(Program::Kwok).to_owned(),
                args: vec![
                    format!("--kubeconfig={}", text(&kubeconfig.path)),
                    "--manage-all-nodes=true".to_owned(),
                    "--cidr=10.244.0.0/16".to_owned(),
                    "--node-ip=127.0.0.1".to_owned(),
                    "--node-lease-duration-seconds=40".to_owned(),
                    format!("--server-address=127.0.0.1:{port}"),
                ],
                probe: (files.config(&user, "http", port)?, "/healthz"),
            })
        });
        Ok(launched.await?.0)
    }

    /// Starts kube-controller-manager or kube-scheduler with their common arguments.
    async fn component(
        &self,
        program: Program,
        path: std::path::PathBuf,
        more: Vec<String>,
    ) -> Result<Component, Error> {
        let files = self.files();
        let user = files.administrator(program.name())?;
        let kubeconfig = text(&self.kubeconfig(&user)?.path);
        let server = files.server()?;
        let launched = files.launch(program, |port| {
            let mut args = vec![
                format!("--kubeconfig={kubeconfig}"),
                format!("--authentication-kubeconfig={kubeconfig}"),
                format!("--authorization-kubeconfig={kubeconfig}"),
                // Needed to authenticate requests for metrics.
                format!("--client-ca-file={}", text(&files.ca_file())),
                "--leader-elect=false".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                format!("--tls-cert-file={}", text(&server.cert)),
                format!("--tls-private-key-file={}", text(&server.key)),
            ];
            args.extend_from_slice(&more);
            Ok(ComponentSpec {
                program: path.clone(),
                args,
                probe: (files.config(&user, "https", port)?, "/healthz"),
            })
        });
        Ok(launched.await?.0)
    }
}
