//! The program, running.

use kube::{Client, Config, client::Body};
use testenv::Binary;

/// The program, running, with its pages.
pub(crate) struct Program {
    pub(crate) binary: Binary,
    pages: Client,
}

impl Program {
    /// Starts it, and waits until it has found the API server sound.
    pub(crate) async fn start(args: &[&str]) -> Self {
        let binary = start(&[&["--http-address=:0"], args].concat());
        let line = binary.says("metrics and health are served").await.unwrap();
        let address = line.rsplit_once("address=").unwrap().1;
        let url = format!("http://{address}").parse().unwrap();
        let pages = Client::try_from(Config::new(url)).unwrap();
        Self { binary, pages }
    }

    /// Asks for a page: the code, and what it says.
    pub(crate) async fn page(&self, path: &str) -> (u16, String) {
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let (head, body) = self.pages.send(request).await.unwrap().into_parts();
        let body = body.collect_bytes().await.unwrap();
        (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
    }

    /// Waits until a page, asked for again and again, says this.
    pub(crate) async fn shows(&self, path: &str, text: &str) -> (u16, String) {
        let mut last = (0, String::new());
        let shown = testenv::until(text, async || {
            last = self.page(path).await;
            last.1.contains(text)
        });
        let shown = shown.await;
        assert!(
            shown.is_ok(),
            "{text} is never in {}; the program said:\n{}",
            last.1,
            self.binary.said()
        );
        last
    }

    /// Waits until all caches are synced.
    pub(crate) async fn ready(&self) {
        self.shows("/readyz?verbose", "readyz check passed").await;
    }

    /// Asks it to end; answers what it said in all its life.
    pub(crate) async fn stop(self) -> String {
        self.binary.signal(testenv::Signal::TERM).unwrap();
        let status = self.binary.ends().await.unwrap();
        let said = self.binary.said();
        assert!(status.success(), "{status}: {said}");
        said
    }
}

/// Starts it.
pub(crate) fn start(args: &[&str]) -> Binary {
    Binary::start(env!("CARGO_BIN_EXE_endpointslice-controller"), args, &[]).unwrap()
}

/// Runs it to its end, which is a failure; answers its complaints.
pub(crate) async fn fails(args: &[&str]) -> Vec<String> {
    let binary = start(args);
    let status = binary.ends().await.unwrap();
    let said = binary.said();
    assert_eq!(status.code(), Some(1), "{said}");
    let complaints = said.lines().filter_map(|line| line.strip_prefix("error: "));
    complaints.map(ToOwned::to_owned).collect()
}
