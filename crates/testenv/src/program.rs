//! One of our own programs, running.

use std::path::Path;

use http::Request;
use kube::{Client, Config, client::Body};

use crate::{
    binary::{Binary, Signal, until},
    error::Error,
    part::client,
};

/// One of our own programs, running, with its pages for metrics and health.
pub struct Program {
    /// The program itself.
    pub binary: Binary,
    pages: Client,
}

impl Program {
    /// Starts it, and waits until it has found the API server sound.
    pub async fn start(program: impl AsRef<Path>, args: &[&str]) -> Result<Self, Error> {
        let binary = Binary::start(program, &[&["--http-address=:0"], args].concat(), &[])?;
        let line = binary.says("metrics and health are served").await?;
        let address = line.rsplit('=').next().unwrap_or_default();
        let url = format!("http://{address}");
        let uri = url.parse().map_err(|source| Error::Client {
            url,
            source: Box::new(source),
        })?;
        let pages = client(&Config::new(uri))?;
        Ok(Self { binary, pages })
    }

    /// Asks for a page; answers the code, and what it says.
    ///
    /// # Panics
    /// If the path is not a valid one.
    pub async fn page(&self, path: &str) -> Result<(u16, String), Error> {
        let action = || format!("get {path}");
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().expect("a test asks for a valid path");
        let response = self.pages.send(request).await.map_err(Error::request(action()))?;
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await.map_err(Error::request(action()))?;
        Ok((head.status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }

    /// Waits until a page, asked for again and again, says this.
    pub async fn shows(&self, path: &str, text: &str) -> Result<(u16, String), Error> {
        let mut last = Ok((0, String::new()));
        let waited = until(text, async || {
            last = self.page(path).await;
            last.as_ref().map_or(true, |(_, page)| page.contains(text))
        });
        let waited = waited.await;
        let (code, page) = last?;
        match waited {
            Ok(()) => Ok((code, page)),
            Err(error) => Err(self
                .binary
                .failed(&format!("{text} in {path}, which is {page}"), Err(error))),
        }
    }

    /// Waits until all that it watches has been listed.
    pub async fn ready(&self) -> Result<(), Error> {
        self.shows("/readyz?verbose", "readyz check passed").await.map(drop)
    }

    /// Waits until it has found out that it has to list these resources anew.
    pub async fn lists_anew(&self, resources: &[&str]) -> Result<(), Error> {
        for resource in resources {
            let line = format!("listing anew resource=\"{resource}\"");
            self.binary.says(&line).await?;
        }
        Ok(())
    }

    /// Asks it to end, which has to be a success; answers what it said in all its life.
    pub async fn stop(self) -> Result<String, Error> {
        self.binary.signal(Signal::TERM)?;
        if self.binary.ends().await?.success() {
            Ok(self.binary.said())
        } else {
            Err(self.binary.failed("a good end", Ok(())))
        }
    }
}

impl Binary {
    /// Waits until one of our own programs ends; answers its code, and its complaints.
    pub async fn complains(&self) -> Result<(Option<i32>, Vec<String>), Error> {
        let status = self.ends().await?;
        let said = self.said();
        let complaints = said.lines().filter_map(|line| line.strip_prefix("error: "));
        Ok((status.code(), complaints.map(ToOwned::to_owned).collect()))
    }
}
