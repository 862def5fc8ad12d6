//! The reflector: lists and watches one resource for as long as the program runs, and emits its events.

mod frames;
mod list_watch;
mod resume;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use futures::{AsyncBufRead, AsyncBufReadExt as _};
use http::StatusCode;
use slice_controller::{Decoded, ErrorChain, ObjectRef, WatchSpec};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    client::{ApiClient, RequestError},
    escape::Escaped,
    health::WatchHealth,
    metrics::Metrics,
};
use frames::{Frame, Undecodable, decode_frame, decode_list_version, decode_page};
pub(crate) use list_watch::ListWatch;
use resume::ResumeState;

/// Lists a resource to get the resourceVersion from which it can be watched.
pub(crate) async fn current_version(api: &ApiClient, list_watch: &ListWatch) -> Result<Box<str>, RequestError> {
    let list = api.call(list_watch.probe()).await?;
    decode_list_version(&list).map_err(RequestError::transport)
}

/// Events of a reflector. An initial list or a relist is the sequence `Init`, `Apply`…, `InitDone`; objects missing from it
/// were deleted.
#[derive(Debug)]
pub(crate) enum WatchEvent<O> {
    /// A list starts.
    Init,
    /// An object was created or updated, or is part of a list.
    Apply(Decoded<O>),
    /// An object was deleted.
    Delete(ObjectRef),
    /// The list is complete.
    InitDone {
        /// The resourceVersion of the list.
        version: Box<str>,
    },
    /// The API server lacks the resource, which is optional. Known objects stay known.
    Absent,
}

/// The delay before an optional resource that the API server lacks is tried again.
const ABSENT_RETRY: Duration = Duration::from_secs(30);

/// The minimum duration of a watch by HTTP/2, and the random part of it. Pings detect a broken connection.
const LONG_WATCH: Duration = Duration::from_secs(300);

/// The timeouts of a reflector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchTimeouts {
    /// The duration of one watch request (`timeoutSeconds`) by HTTP/1.1. Short: a broken connection is detected only at the
    /// timeout (F9).
    pub(crate) watch: Duration,
    /// The time after which a watch that the server did not end is abandoned, in addition to `watch`.
    pub(crate) grace: Duration,
    /// Maximum time between two events of a streaming list.
    pub(crate) idle: Duration,
    /// A watch that ends sooner counts as failed.
    pub(crate) min_duration: Duration,
}

impl Default for WatchTimeouts {
    fn default() -> Self {
        Self {
            watch: Duration::from_secs(10),
            grace: Duration::from_secs(3),
            idle: Duration::from_secs(30),
            min_duration: Duration::from_secs(1),
        }
    }
}

/// Lists and watches one resource.
pub(crate) struct Reflector<W, O> {
    pub(crate) api: ApiClient,
    pub(crate) spec: WatchSpec<W, O>,
    /// The namespace to watch; all if empty.
    pub(crate) namespace: String,
    pub(crate) health: Arc<WatchHealth>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) timeouts: WatchTimeouts,
    /// The channel to the engine.
    pub(crate) sender: mpsc::Sender<(usize, WatchEvent<O>)>,
    /// The index of the watch among those of the controller, sent with each event.
    pub(crate) index: usize,
}

/// Why a list or a watch ended.
enum StreamEnd {
    /// The server closed the stream, or its time is over: resume from the last resourceVersion.
    Closed,
    /// The resourceVersion is too old (410 Gone): relist.
    Expired,
    /// The engine dropped the channel: the program shuts down.
    ReceiverDropped,
    Failed(RequestError),
    /// The response cannot be decoded, or is older than one before.
    Invalid(String),
}

impl From<RequestError> for StreamEnd {
    fn from(error: RequestError) -> Self {
        match error.api_error() {
            Some(api_error) if api_error.code == StatusCode::GONE => Self::Expired,
            _ => Self::Failed(error),
        }
    }
}

/// Whether the API server lacks the resource: the list of a served resource is found even if it is empty.
fn is_not_found(error: &RequestError) -> bool {
    error
        .api_error()
        .is_some_and(|error| error.code == StatusCode::NOT_FOUND)
}

impl<W, O> Reflector<W, O> {
    /// Runs until the engine drops the channel.
    pub(crate) async fn run(self) {
        let list_watch = ListWatch::new(&self.spec, &self.namespace);
        let mut resume = ResumeState::default();
        let mut absent = false;
        loop {
            let resource_version = resume.resource_version().map(ToOwned::to_owned);
            let started_at = Instant::now();
            let end = match resource_version {
                Some(version) => self.watch(&list_watch, &version, &mut resume).await,
                None if resume.uses_streaming_list() => self.streaming_list(&list_watch, &mut resume).await,
                None => self.paged_list(&list_watch, &mut resume).await,
            };
            absent &= resume.resource_version().is_none();
            let Err(end) = end else { continue };
            match end {
                StreamEnd::ReceiverDropped => return,
                StreamEnd::Closed if resume.resource_version().is_none() => {
                    let error = "the streaming list ended, or received no data in time, before it was complete";
                    resume.page_next_list();
                    self.back_off(error, None, &mut resume).await;
                }
                // Without backoff, a server that closes every watch at once would be flooded with requests (F12).
                StreamEnd::Closed if started_at.elapsed() < self.timeouts.min_duration => {
                    self.back_off("the API server closed the watch at once", None, &mut resume)
                        .await;
                }
                StreamEnd::Closed => resume.reset_backoff(),
                StreamEnd::Expired => {
                    tracing::info!(resource = self.spec.name, "watch expired (410 Gone), relisting");
                    resume.forget_version();
                    // The jitter spreads the relists of clients whose watches expired together.
                    tokio::time::sleep(resume.next_backoff(None, fastrand::f64())).await;
                }
                StreamEnd::Failed(error) if self.spec.optional && is_not_found(&error) => {
                    // If the resource appears again, its objects may differ: list them.
                    resume.forget_version();
                    resume.reset_backoff();
                    self.health.set_absent();
                    if !absent {
                        absent = true;
                        tracing::info!(
                            resource = self.spec.name,
                            retry_in = ?ABSENT_RETRY,
                            "the API server does not serve this optional resource, retrying"
                        );
                    }
                    // Also if it was absent before: a list may have started since.
                    if self.emit(WatchEvent::Absent).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(ABSENT_RETRY).await;
                }
                StreamEnd::Failed(error)
                    if resume.resource_version().is_none() && resume.fall_back_to_paging(&error) =>
                {
                    let error = Escaped(ErrorChain(&error)).to_string();
                    tracing::info!(
                        resource = self.spec.name,
                        error,
                        "the streaming list failed, listing in pages"
                    );
                }
                StreamEnd::Failed(error) => {
                    let retry_after = error.api_error().and_then(|error| error.retry_after);
                    let error = Escaped(ErrorChain(&error)).to_string();
                    self.back_off(&error, retry_after, &mut resume).await;
                }
                StreamEnd::Invalid(error) => self.back_off(&error, None, &mut resume).await,
            }
        }
    }

    async fn emit(&self, event: WatchEvent<O>) -> Result<(), StreamEnd> {
        self.sender
            .send((self.index, event))
            .await
            .map_err(|_| StreamEnd::ReceiverDropped)
    }

    /// Reports an error, and waits before the next request.
    async fn back_off(&self, error: &str, retry_after: Option<Duration>, resume: &mut ResumeState) {
        self.health.set_error(error);
        let delay = resume.next_backoff(retry_after, fastrand::f64());
        tracing::warn!(resource = self.spec.name, error, retry_in = ?delay, "list or watch failed, retrying");
        tokio::time::sleep(delay).await;
    }

    /// Lists all objects in a watch stream (`sendInitialEvents`), and goes on watching in the same stream.
    async fn streaming_list(&self, list_watch: &ListWatch, resume: &mut ResumeState) -> Result<(), StreamEnd> {
        // The server closes the stream after this timeout, so it must suffice for all objects.
        let request = list_watch.streaming_list(&resume.highest_seen(), self.timeouts.idle * 10);
        let mut stream = self.api.open_stream(request).await?;
        self.emit(WatchEvent::Init).await?;
        let mut line = Vec::new();
        loop {
            let deadline = Instant::now() + self.timeouts.idle;
            match self.next_frame(&mut stream, &mut line, deadline).await? {
                Frame::Apply(decoded) => self.emit(WatchEvent::Apply(decoded)).await?,
                Frame::Delete(object) => self.emit(WatchEvent::Delete(object)).await?,
                Frame::Bookmark {
                    version,
                    initial_events_end: true,
                } => {
                    self.complete_list(version, resume).await?;
                    let duration = if stream.is_http2() {
                        LONG_WATCH
                    } else {
                        self.timeouts.watch
                    };
                    return self.read_events(&mut stream, Instant::now() + duration, resume).await;
                }
                Frame::Bookmark { .. } => {}
                Frame::Error(error) => return Err(RequestError::Api(error).into()),
                Frame::Undecodable(undecodable) => self.skip_undecodable(&undecodable),
            }
        }
    }

    /// Lists all objects page by page.
    async fn paged_list(&self, list_watch: &ListWatch, resume: &mut ResumeState) -> Result<(), StreamEnd> {
        let mut continue_token: Box<str> = "".into();
        loop {
            let body = self.api.call(list_watch.page(&continue_token)).await?;
            let page =
                decode_page(&body, |object| self.spec.decode(object)).map_err(|error| self.invalid("list", &error))?;
            self.health.record_activity();
            self.reject_stale_list(&page.version, resume)?;
            if continue_token.is_empty() {
                self.emit(WatchEvent::Init).await?;
            }
            for object in page.objects {
                match object {
                    Ok(decoded) => self.emit(WatchEvent::Apply(decoded)).await?,
                    Err(undecodable) => self.skip_undecodable(&undecodable),
                }
            }
            if page.continue_token.is_empty() {
                return self.complete_list(page.version, resume).await;
            }
            continue_token = page.continue_token;
        }
    }

    async fn complete_list(&self, version: Box<str>, resume: &mut ResumeState) -> Result<(), StreamEnd> {
        self.reject_stale_list(&version, resume)?;
        resume.advance(&version);
        self.emit(WatchEvent::InitDone { version }).await?;
        self.health.set_synced();
        Ok(())
    }

    /// Rejects a list that is older than events seen before: deletions must not be concluded from it (I11).
    fn reject_stale_list(&self, version: &str, resume: &ResumeState) -> Result<(), StreamEnd> {
        let seen = resume.older_than_seen(version);
        seen.map_or(Ok(()), |seen| {
            Err(StreamEnd::Invalid(format!(
                "the list of {} has resourceVersion {version:?}, older than {seen}, which was seen before",
                self.spec.name
            )))
        })
    }

    /// Watches from a resourceVersion.
    async fn watch(&self, list_watch: &ListWatch, version: &str, resume: &mut ResumeState) -> Result<(), StreamEnd> {
        let duration = if self.api.connections.uses_http2() {
            LONG_WATCH + LONG_WATCH.mul_f64(fastrand::f64())
        } else {
            self.timeouts.watch
        };
        let mut stream = self.api.open_stream(list_watch.watch_from(version, duration)).await?;
        self.health.set_synced();
        // The new connection may be one by HTTP/1.1.
        let duration = if stream.is_http2() {
            duration
        } else {
            self.timeouts.watch
        };
        let deadline = Instant::now() + duration + self.timeouts.grace;
        let end = self.read_events(&mut stream, deadline, resume).await;
        if Instant::now() >= deadline {
            stream.report_overdue();
        }
        end
    }

    async fn read_events(
        &self,
        stream: &mut (impl AsyncBufRead + Unpin),
        deadline: Instant,
        resume: &mut ResumeState,
    ) -> Result<(), StreamEnd> {
        let mut line = Vec::new();
        loop {
            match self.next_frame(stream, &mut line, deadline).await? {
                Frame::Apply(decoded) => {
                    resume.advance(&decoded.object_ref.resource_version);
                    self.emit(WatchEvent::Apply(decoded)).await?;
                }
                Frame::Delete(object) => {
                    resume.advance(&object.resource_version);
                    self.emit(WatchEvent::Delete(object)).await?;
                }
                Frame::Bookmark { version, .. } => resume.advance(&version),
                Frame::Error(error) => return Err(RequestError::Api(error).into()),
                Frame::Undecodable(undecodable) => {
                    if let Some(object) = &undecodable.object_ref {
                        resume.advance(&object.resource_version);
                    }
                    self.skip_undecodable(&undecodable);
                }
            }
        }
    }

    /// Reads and decodes the next line of a watch stream. At the deadline the stream counts as closed: its connection may be
    /// broken.
    async fn next_frame(
        &self,
        stream: &mut (impl AsyncBufRead + Unpin),
        line: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Frame<O>, StreamEnd> {
        line.clear();
        let read = tokio::time::timeout_at(deadline, stream.read_until(b'\n', line)).await;
        let read = read.map_err(|_| StreamEnd::Closed)?.map_err(RequestError::transport)?;
        if read == 0 {
            return Err(StreamEnd::Closed);
        }
        self.health.record_activity();
        decode_frame(line, |object| self.spec.decode(object)).map_err(|error| self.invalid("watch event", &error))
    }

    fn invalid(&self, response: &str, error: &serde_json::Error) -> StreamEnd {
        let (name, error) = (self.spec.name, Escaped(error));
        StreamEnd::Invalid(format!("cannot decode a {response} of {name}: {error}"))
    }

    /// Logs and counts an object that cannot be decoded; the watch goes on with the others (F25).
    fn skip_undecodable(&self, undecodable: &Undecodable) {
        let error = undecodable.to_string();
        tracing::warn!(
            resource = self.spec.name,
            error,
            "skipping an object that cannot be decoded"
        );
        self.metrics.object_skipped(self.spec.name);
    }
}
