//! A watch read event by event.

use std::time::Duration;

use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::{ApiResponse, text};

/// Timeout for the next event.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream of watch events.
pub(crate) struct Watch {
    body: Body,
    unread: Vec<u8>,
}

impl Watch {
    pub(crate) async fn new(response: Response<Body>) -> Self {
        match response.status().as_u16() {
            200 => Self {
                body: response.into_body(),
                unread: Vec::new(),
            },
            _ => panic!("watch rejected: {:#?}", ApiResponse::read(response).await),
        }
    }

    /// The next event; `None` if the server ended the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
            match frame.expect("no event and no end of the watch") {
                Some(frame) => self.unread.extend_from_slice(frame.unwrap().data_ref().unwrap()),
                None => return None,
            }
        }
    }

    /// The next event as `TYPE name`, and its object.
    pub(crate) async fn event(&mut self) -> (String, Value) {
        let event = self.next().await.expect("the server ended the watch");
        let line = format!("{} {}", text(&event, "/type"), text(&event, "/object/metadata/name"));
        (line.trim_end().to_owned(), event["object"].clone())
    }

    /// Asserts the next events, given as `TYPE name`.
    pub(crate) async fn expect(&mut self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.event().await.0, *line);
        }
    }
}
