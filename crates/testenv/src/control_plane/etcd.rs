//! Requests to etcd through its JSON gateway.

use kube::Client;
use serde_json::{Value, json};

use crate::error::Error;

/// Compacts the history up to the current revision and waits until the compaction is physically done.
pub(super) async fn compact(etcd: &Client) -> Result<i64, Error> {
    // Any read returns the current revision; this one reads the key of one zero byte. Keys are base64, 64-bit integers
    // are strings.
    let response = post(etcd, "/v3/kv/range", &json!({"key": "AA=="})).await?;
    let revision = response["header"]["revision"]
        .as_str()
        .and_then(|revision| revision.parse().ok())
        .ok_or_else(|| Error::System {
            action: "read etcd's revision".to_owned(),
            source: std::io::Error::other(response.to_string()),
        })?;
    let request = json!({"revision": revision, "physical": true});
    post(etcd, "/v3/kv/compaction", &request).await?;
    Ok(revision)
}

async fn post(etcd: &Client, path: &str, body: &Value) -> Result<Value, Error> {
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(kube::Error::HttpError);
    let action = || format!("post {path} to etcd");
    let request = request.map_err(Error::request(action()))?;
    etcd.request(request).await.map_err(Error::request(action()))
}
