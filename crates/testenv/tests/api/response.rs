//! A response, and the parts of an error that must be equal on both servers.

use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::text;

/// A complete response.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) code: u16,
    /// The texts of the `Warning` headers.
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

impl ApiResponse {
    pub(crate) async fn read(response: Response<Body>) -> Self {
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|value| value.to_str().unwrap().to_owned()).collect();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        Self { code, warnings, body }
    }

    /// The body of a successful response.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.code), "rejected: {self:#?}");
        self.body
    }

    /// The error in one line: code, reason and object, such as `404 NotFound /pods "a"`.
    #[track_caller]
    pub(crate) fn error_summary(&self) -> String {
        assert!(self.code >= 400, "not rejected: {self:#?}");
        assert_eq!(
            (
                &self.body["kind"],
                &self.body["apiVersion"],
                &self.body["status"],
                &self.body["code"]
            ),
            (&"Status".into(), &"v1".into(), &"Failure".into(), &self.code.into()),
            "{self:#?}"
        );
        let reason = text(&self.body, "/reason");
        let details = &self.body["details"];
        if details["kind"].is_null() {
            return format!("{} {reason}", self.code).trim_end().to_owned();
        }
        let (group, kind) = (text(details, "/group"), text(details, "/kind"));
        format!("{} {reason} {group}/{kind} {:?}", self.code, text(details, "/name"))
    }

    /// The causes of an error as `reason field`, sorted and without duplicates.
    pub(crate) fn causes(&self) -> Vec<String> {
        let causes = self.body.pointer("/details/causes").and_then(Value::as_array);
        let line = |cause: &Value| format!("{} {}", text(cause, "/reason"), text(cause, "/field"));
        let mut lines: Vec<String> = causes.into_iter().flatten().map(line).collect();
        lines.sort();
        lines.dedup();
        lines
    }

    /// Asserts the error summary and the start of the message.
    #[track_caller]
    pub(crate) fn assert_rejected(&self, line: &str, message: &str) {
        assert_eq!(self.error_summary(), line, "{self:#?}");
        let found = text(&self.body, "/message");
        assert!(found.starts_with(message), "{found:?} does not start with {message:?}");
    }
}
