//! A running controller of ours.

use std::path::Path;

use http::Request;
use kube::{Client, Config, client::Body};

use crate::{
    component,
    error::Error,
    test_process::{Signal, TestProcess, until},
};

/// A running controller of ours, with a client for its HTTP endpoints.
pub struct ControllerProcess {
    /// The process.
    pub process: TestProcess,
    client: Client,
}

impl ControllerProcess {
    /// Starts the controller and waits until it serves HTTP. It may not have sent a request yet.
    pub async fn start(program: impl AsRef<Path>, args: &[&str]) -> Result<Self, Error> {
        let process = TestProcess::start(program, &[&["--http-address=:0"], args].concat(), &[])?;
        let line = process.wait_for_output("metrics and health are served").await?;
        let address = line.rsplit('=').next().unwrap_or_default();
        let url = format!("http://{address}");
        let uri = url.parse().map_err(|source| Error::Client {
            url,
            source: Box::new(source),
        })?;
        let client = component::client(&Config::new(uri))?;
        Ok(Self { process, client })
    }

    /// Sends a GET request; returns status code and body.
    ///
    /// # Panics
    /// If the path is invalid.
    pub async fn get(&self, path: &str) -> Result<(u16, String), Error> {
        let action = || format!("get {path}");
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().expect("tests use valid paths");
        let response = self.client.send(request).await.map_err(Error::request(action()))?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await.map_err(Error::request(action()))?;
        Ok((head.status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }

    /// Polls a path until its body contains this text.
    pub async fn wait_for_page(&self, path: &str, text: &str) -> Result<(u16, String), Error> {
        let mut last = Ok((0, String::new()));
        let future = until(text, async || {
            last = self.get(path).await;
            last.as_ref().map_or(true, |(_, body)| body.contains(text))
        });
        let result = future.await;
        let (code, body) = last?;
        match result {
            Ok(()) => Ok((code, body)),
            Err(error) => Err(self
                .process
                .failed(&format!("{text} in {path}, which is {body}"), Err(error))),
        }
    }

    /// Waits until all initial lists are complete.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        self.wait_for_page("/readyz?verbose", "readyz check passed")
            .await
            .map(drop)
    }

    /// Waits until it logs a relist of each of these resources.
    pub async fn wait_for_relist(&self, resources: &[&str]) -> Result<(), Error> {
        for resource in resources {
            let line = format!("relisting resource=\"{resource}\"");
            self.process.wait_for_output(&line).await?;
        }
        Ok(())
    }

    /// Stops the controller with SIGTERM, which must succeed; returns its complete output.
    pub async fn stop(self) -> Result<String, Error> {
        self.process.signal(Signal::TERM)?;
        if self.process.wait().await?.success() {
            Ok(self.process.output())
        } else {
            Err(self.process.failed("exit with success", Ok(())))
        }
    }
}

impl TestProcess {
    /// Waits until a controller of ours exits at startup; returns its exit code and error lines.
    pub async fn wait_for_startup_error(&self) -> Result<(Option<i32>, Vec<String>), Error> {
        let status = self.wait().await?;
        let output = self.output();
        let errors = output.lines().filter_map(|line| line.strip_prefix("error: "));
        Ok((status.code(), errors.map(ToOwned::to_owned).collect()))
    }
}
