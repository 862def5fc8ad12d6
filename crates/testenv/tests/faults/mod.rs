//! Every fault, as a plain client meets it. The same stories run against the simulator and, through the proxy, against
//! the real kube-apiserver: one vocabulary, one meaning.

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

/// A way to an API server on which things go wrong.
pub(crate) struct Way {
    /// A client that meets the faults.
    pub(crate) faulty: Client,
    /// A client that goes past them.
    pub(crate) sound: Client,
    /// What goes wrong.
    pub(crate) faults: Faults,
    /// A namespace of its own, so that stories do not meet.
    pub(crate) namespace: String,
    /// What has to live as long as the way is used.
    pub(crate) _server: Option<Box<dyn Any + Send>>,
}

impl Way {
    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.faulty.clone(), &self.namespace)
    }

    fn sound_leases(&self) -> Api<Lease> {
        Api::namespaced(self.sound.clone(), &self.namespace)
    }

    async fn exists(&self, name: &str) -> bool {
        self.sound_leases().get_opt(name).await.unwrap().is_some()
    }
}

/// Runs every story in a `#[tokio::test]` of its own, each on the way that `$way` makes.
macro_rules! stories {
    ($way:path: $($module:ident::$story:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $story() {
            crate::faults::$module::$story($way(stringify!($story)).await).await;
        })*
    };
}

macro_rules! all_stories {
    ($way:path) => {
        crate::faults::stories! { $way:
            requests::an_answer_in_place_of_the_servers,
            requests::an_answer_with_headers,
            requests::the_nth_match_and_no_more_than_so_often,
            requests::only_the_object_of_that_name,
            requests::a_delayed_request_lets_others_pass,
            requests::a_held_request_reaches_the_server_on_release,
            requests::a_dropped_request_never_reaches_the_server,
            requests::a_dropped_answer_leaves_the_object_behind,
            requests::every_request_is_recorded,
            streams::a_cut_stream_ends_between_events,
            streams::a_stream_cut_in_mid_event_is_resumed_without_loss,
            streams::a_held_stream_delivers_everything_on_release,
            streams::a_half_open_stream_neither_delivers_nor_ends,
            streams::a_stream_that_is_already_open_breaks_too,
            streams::a_refused_watch,
        }
    };
}

pub(crate) use {all_stories, stories};

/// Makes the namespace of a story.
pub(crate) async fn namespace(client: &Client, story: &str) -> String {
    let name = story.replace('_', "-");
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
        other => panic!("an answer was expected, not {other:?}"),
    }
}

/// A watch from now on.
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

/// The name of the next object that is added; `None` when the stream ends instead, in whatever way.
async fn next_added<S>(stream: &mut S) -> Option<String>
where
    S: TryStream<Ok = WatchEvent<Lease>> + Unpin,
    S::Error: Debug,
{
    match stream.try_next().await {
        Ok(Some(WatchEvent::Added(lease))) => Some(lease.name_any()),
        Ok(Some(other)) => panic!("an added object was expected, not {other:?}"),
        Ok(None) | Err(_) => None,
    }
}

/// Whether nothing comes for a while.
async fn is_silent<S>(stream: &mut S) -> bool
where
    S: TryStream<Ok = WatchEvent<Lease>> + Unpin,
    S::Error: Debug,
{
    let next = pin!(next_added(stream));
    tokio::time::timeout(Duration::from_millis(300), next)
        .map(|waited| waited.is_err())
        .await
}
