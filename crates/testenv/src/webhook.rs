//! An admission webhook for EndpointSlices whose behaviour a test chooses.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use apisim::{
    body::{Body, BoxError, boxed, full},
    serve::HttpServer,
};
use http::{Request, Response, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        discovery::v1::EndpointSlice,
    },
};
use kube::{Api, Client, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::{
    control_plane::ControlPlane,
    error::Error,
    objects::create,
    proxy::{proxy_error, tls},
    test_process::until,
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The response of a [`Webhook`] to each request.
#[derive(Clone, Debug)]
pub enum WebhookMode {
    /// Allows the request unchanged.
    Allow,
    /// Does not respond until the mode changes.
    Hang,
    /// Denies the request.
    Deny {
        /// The HTTP status of the API server's response.
        code: u16,
        /// The message of the response.
        message: String,
        /// `retryAfterSeconds` in the details of the response.
        retry_after_seconds: Option<u32>,
    },
    /// Changes created and updated objects by a JSON patch. A [`Webhook::validating`] one may not do that.
    Patch(Value),
    /// Responds in this mode to requests for the slices of one Service, by label, and allows all others unchanged.
    ForService(String, Box<WebhookMode>),
}

impl WebhookMode {
    /// Limits the mode to the slices of one Service.
    #[must_use]
    pub fn for_service(self, service: &str) -> Self {
        Self::ForService(service.to_owned(), Box::new(self))
    }

    /// Replaces the value of a label.
    #[must_use]
    pub fn set_label(label: &str, value: &str) -> Self {
        let pointer = label.replace('~', "~0").replace('/', "~1");
        Self::Patch(json!([{"op": "add", "path": format!("/metadata/labels/{pointer}"), "value": value}]))
    }

    /// The response to a request; `None` while the webhook hangs.
    fn response(&self, request: &Value) -> Option<Value> {
        let uid = &request["uid"];
        let response = match self {
            Self::Patch(_) if request["operation"] == "DELETE" => json!({"uid": uid, "allowed": true}),
            Self::Allow => json!({"uid": uid, "allowed": true}),
            Self::Hang => return None,
            Self::ForService(service, mode) => {
                // A deletion has only the old object.
                let is_of_service = ["object", "oldObject"]
                    .into_iter()
                    .any(|object| request[object]["metadata"]["labels"][SERVICE_NAME] == **service);
                return if is_of_service { mode } else { &Self::Allow }.response(request);
            }
            Self::Deny {
                code,
                message,
                retry_after_seconds,
            } => json!({
                "uid": uid,
                "allowed": false,
                "status": {
                    "code": code,
                    "message": message,
                    "details": retry_after_seconds.map(|seconds| json!({"retryAfterSeconds": seconds})),
                },
            }),
            Self::Patch(patch) => json!({
                "uid": uid,
                "allowed": true,
                "patchType": "JSONPatch",
                "patch": ByteString(patch.to_string().into_bytes()),
            }),
        };
        Some(response)
    }
}

/// An admission webhook for creates, updates and deletes of the EndpointSlices of one namespace. It allows all requests
/// until [`set_mode`](Self::set_mode). Dropping it stops its server; its configuration stays, so that later writes to
/// the namespace fail.
pub struct Webhook {
    mode: watch::Sender<WebhookMode>,
    requests: Arc<AtomicUsize>,
    _server: HttpServer,
}

impl Webhook {
    /// Starts a mutating webhook for a namespace, which must exist. It is in effect when this returns.
    pub async fn mutating(control_plane: &ControlPlane, namespace: &str) -> Result<Self, Error> {
        Self::start::<MutatingWebhookConfiguration>(control_plane, namespace).await
    }

    /// Starts a validating webhook for a namespace, which must exist. It is in effect when this returns.
    pub async fn validating(control_plane: &ControlPlane, namespace: &str) -> Result<Self, Error> {
        Self::start::<ValidatingWebhookConfiguration>(control_plane, namespace).await
    }

    /// Changes the responses, also to requests that hang.
    pub fn set_mode(&self, mode: WebhookMode) {
        self.mode.send_replace(mode);
    }

    /// The number of requests so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    async fn start<K>(control_plane: &ControlPlane, namespace: &str) -> Result<Self, Error>
    where
        K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        let identity = control_plane.pki().server()?;
        let acceptor = TlsAcceptor::from(tls::server(&identity, &[b"http/1.1"]).map_err(proxy_error)?);
        let (mode, requests) = (watch::Sender::new(WebhookMode::Allow), Arc::<AtomicUsize>::default());
        let service = tower::service_fn({
            let (mode, requests) = (mode.clone(), Arc::clone(&requests));
            move |request: Request<_>| {
                requests.fetch_add(1, Ordering::SeqCst);
                respond(mode.subscribe(), request.map(boxed))
            }
        });
        let server = HttpServer::start_with(move |stream| acceptor.accept(stream), service).await;
        let server = server.map_err(Error::system("listen on a loopback port"))?;
        let configuration = json!({
            "metadata": {"name": format!("{namespace}.testenv.invalid")},
            "webhooks": [{
                "name": format!("{namespace}.testenv.invalid"),
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 30,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [{
                    "apiGroups": ["discovery.k8s.io"],
                    "apiVersions": ["v1"],
                    "resources": ["endpointslices"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }],
                "clientConfig": {
                    "url": format!("https://{}/", server.address()),
                    "caBundle": ByteString(control_plane.ca_pem().into_bytes()),
                },
            }],
        });
        let client = control_plane.client()?;
        create(&Api::<K>::all(client.clone()), configuration).await?;
        let webhook = Self {
            mode,
            requests,
            _server: server,
        };
        webhook.wait_in_effect(&client, namespace).await?;
        Ok(webhook)
    }

    /// The API server learns of a webhook from a watch of its own.
    async fn wait_in_effect(&self, client: &Client, namespace: &str) -> Result<(), Error> {
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let mut probe = EndpointSlice {
            address_type: "IPv4".to_owned(),
            ..EndpointSlice::default()
        };
        probe.metadata.name = Some("webhook-probe".to_owned());
        // A patch of one label needs the map of labels.
        probe.metadata.labels = Some([("testenv.invalid".to_owned(), String::new())].into());
        until("a request to the webhook", async || {
            // The response does not matter: an error is repeated, too.
            let _ = slices.create(&params, &probe).await;
            self.requests() > 0
        })
        .await
    }
}

async fn respond(mut mode: watch::Receiver<WebhookMode>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body)?;
    loop {
        let response = mode.borrow_and_update().response(&review["request"]);
        if let Some(response) = response {
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            let response = Response::builder().header(CONTENT_TYPE, "application/json");
            return Ok(response.body(full(review.to_string()))?);
        }
        mode.changed().await?;
    }
}
