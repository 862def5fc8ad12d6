//! Every fault, as a plain client observes it. The same scenarios run on the simulator and, through the proxy, on a
//! real kube-apiserver.

pub(crate) mod requests;
pub(crate) mod streams;

use std::{any::Any, fmt::Debug, pin::pin, time::Duration};

use apisim::faults::Faults;
use futures::{FutureExt as _, TryStream, TryStreamExt as _};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Namespace};
use kube::{
    Api, Client, Error, ResourceExt as _,
    api::{ObjectMeta, PostParams, WatchEvent, WatchParams},
};

/// An API server with fault injection.
pub(crate) struct FaultHarness {
    /// A client with faults.
    pub(crate) faulty: Client,
    /// A client without faults.
    pub(crate) direct: Client,
    /// The fault rules.
    pub(crate) faults: Faults,
    /// The namespace of the scenario.
    pub(crate) namespace: String,
    /// Keeps the server alive.
    pub(crate) _server: Option<Box<dyn Any + Send>>,
}

impl FaultHarness {
    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.faulty.clone(), &self.namespace)
    }

    fn direct_leases(&self) -> Api<Lease> {
        Api::namespaced(self.direct.clone(), &self.namespace)
    }

    async fn exists(&self, name: &str) -> bool {
        self.direct_leases().get_opt(name).await.unwrap().is_some()
    }
}

/// Runs every scenario in its own `#[tokio::test]`, on a harness from `$harness`.
macro_rules! scenarios {
    ($harness:path: $($module:ident::$scenario:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $scenario() {
            crate::faults::$module::$scenario($harness(stringify!($scenario)).await).await;
        })*
    };
}

macro_rules! all_scenarios {
    ($harness:path) => {
        crate::faults::scenarios! { $harness:
            requests::a_response_instead_of_the_servers,
            requests::a_response_with_headers,
            requests::only_the_nth_match_and_a_limited_number,
            requests::only_the_object_with_that_name,
            requests::a_delayed_request_does_not_block_others,
            requests::a_held_request_reaches_the_server_on_release,
            requests::a_dropped_request_never_reaches_the_server,
            requests::a_dropped_response_leaves_the_object_in_place,
            requests::a_held_response_reaches_the_client_on_release,
            requests::every_request_is_recorded,
            streams::a_cut_stream_ends_between_events,
            streams::a_stream_cut_in_mid_event_is_resumed_without_loss,
            streams::a_held_stream_delivers_everything_on_release,
            streams::a_half_open_stream_neither_delivers_nor_ends,
            streams::a_fault_affects_an_open_stream,
            streams::a_rejected_watch,
        }
    };
}

pub(crate) use {all_scenarios, scenarios};

/// Creates the namespace of a scenario.
pub(crate) async fn namespace(client: &Client, scenario: &str) -> String {
    let name = scenario.replace('_', "-");
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    name
}

fn lease(name: &str) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        ..Lease::default()
    }
}

async fn create(leases: &Api<Lease>, name: &str) -> Result<Lease, Error> {
    leases.create(&PostParams::default(), &lease(name)).await
}

fn status_of(error: Error) -> (u16, String) {
    match error {
        Error::Api(status) => (status.code, status.reason),
        other => panic!("expected a response, not {other:?}"),
    }
}

/// A watch from the current resource version.
async fn watch(
    leases: &Api<Lease>,
) -> impl TryStream<Ok = WatchEvent<Lease>, Error = Error, Item = Result<WatchEvent<Lease>, Error>> + Unpin + use<> {
    let version = leases
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    watch_from(leases, &version).await
}

async fn watch_from(
    leases: &Api<Lease>,
    version: &str,
) -> impl TryStream<Ok = WatchEvent<Lease>, Error = Error, Item = Result<WatchEvent<Lease>, Error>> + Unpin + use<> {
    let parameters = WatchParams::default().timeout(120).disable_bookmarks();
    Box::pin(leases.watch(&parameters, version).await.unwrap())
}

/// The name of the next added object; `None` if the stream ends or fails.
async fn next_added<S>(stream: &mut S) -> Option<String>
where
    S: TryStream<Ok = WatchEvent<Lease>> + Unpin,
    S::Error: Debug,
{
    match stream.try_next().await {
        Ok(Some(WatchEvent::Added(lease))) => Some(lease.name_any()),
        Ok(Some(other)) => panic!("expected an added object, not {other:?}"),
        Ok(None) | Err(_) => None,
    }
}

/// Whether no event arrives for a while.
async fn has_no_events<S>(stream: &mut S) -> bool
where
    S: TryStream<Ok = WatchEvent<Lease>> + Unpin,
    S::Error: Debug,
{
    let next = pin!(next_added(stream));
    tokio::time::timeout(Duration::from_millis(300), next)
        .map(|waited| waited.is_err())
        .await
}
