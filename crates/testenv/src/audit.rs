//! The audit log of kube-apiserver: the requests of some users, with the decision of its authorizer.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use serde::Deserialize;
use serde_json::json;

use crate::{
    access::{text, write_private},
    control_plane::ControlPlane,
    error::Error,
    files::Files,
};

const POLICY: &str = "audit-policy.yaml";
const LOG: &str = "audit.log";

/// The audit log of a control plane that was built with
/// [`ControlPlaneBuilder::audit`](crate::ControlPlaneBuilder::audit), from some time on.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
    offset: u64,
}

/// A request in an [`AuditLog`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedRequest {
    /// The user.
    pub user: String,
    /// The verb, as in RBAC rules.
    pub verb: String,
    /// Path and query.
    pub uri: String,
    /// The API group, empty for core and for a path that is no resource.
    pub group: String,
    /// The plural name of the resource, with the subresource after a slash; empty for a path that is no resource.
    pub resource: String,
    /// The namespace, empty for all namespaces and for a cluster-scoped resource.
    pub namespace: String,
    /// The object's name, empty for a collection.
    pub name: String,
    /// Whether the authorizer allowed the request. An allowed request may still fail.
    pub allowed: bool,
    /// The reason of the authorizer, which names the binding that allows the request.
    pub reason: String,
}

impl AuditLog {
    /// The requests so far, in the order in which the API server has responded to them, or has begun to. A watch is listed twice,
    /// at its begin and at its end. Without those that were rejected before a decision, as by priority and fairness.
    pub fn requests(&self) -> Result<Vec<AuditedRequest>, Error> {
        let mut log = String::new();
        File::open(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(self.offset))?;
                file.read_to_string(&mut log)
            })
            .map_err(Error::system(format!("read {}", self.path.display())))?;
        // The API server may be writing the last line.
        let complete = log.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let requests = complete.lines().map(|line| self.parse(line));
        requests.filter_map(Result::transpose).collect()
    }

    fn parse(&self, line: &str) -> Result<Option<AuditedRequest>, Error> {
        let event = serde_json::from_str::<Event>(line);
        event.map(AuditedRequest::from_event).map_err(|error| Error::System {
            action: format!("read {}: {line}", self.path.display()),
            source: error.into(),
        })
    }
}

impl ControlPlane {
    /// The audit log from now on, with the requests to all API servers of this control plane.
    pub fn audit_log(&self) -> Result<AuditLog, Error> {
        let path = self.files().path(LOG);
        let metadata = path.metadata();
        let metadata = metadata.map_err(Error::system(format!("read {}", path.display())))?;
        Ok(AuditLog {
            offset: metadata.len(),
            path,
        })
    }
}

/// Writes a policy to record the requests of this group of users. Returns the arguments of kube-apiserver.
pub(crate) fn arguments(files: &Files, group: &str) -> Result<Vec<String>, Error> {
    let (policy, log) = (files.path(POLICY), files.path(LOG));
    // JSON is YAML, too.
    let rules = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        // No decision has been made when a request is received.
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "userGroups": [group]}],
    });
    write_private(&policy, &rules.to_string())?;
    write_private(&log, "")?;
    Ok(vec![
        format!("--audit-policy-file={}", text(&policy)),
        format!("--audit-log-path={}", text(&log)),
        // Each event is written before its response is sent.
        "--audit-log-mode=blocking".to_owned(),
        // In megabytes: never replaced by an empty file.
        "--audit-log-maxsize=100000".to_owned(),
    ])
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    #[serde(rename = "requestURI")]
    uri: String,
    user: EventUser,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Deserialize)]
struct EventUser {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: Option<String>,
    #[serde(rename = "authorization.k8s.io/reason")]
    reason: String,
}

impl AuditedRequest {
    /// `None` without a decision.
    fn from_event(event: Event) -> Option<Self> {
        let decision = event.annotations.decision?;
        let mut resource = event.object_ref.resource;
        if !event.object_ref.subresource.is_empty() {
            resource = format!("{resource}/{}", event.object_ref.subresource);
        }
        Some(Self {
            user: event.user.username,
            verb: event.verb,
            uri: event.uri,
            group: event.object_ref.api_group,
            resource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            allowed: decision == "allow",
            reason: event.annotations.reason,
        })
    }
}
