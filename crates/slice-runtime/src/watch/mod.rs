//! One resource, listed and watched for as long as the program runs.

mod frames;
mod progress;
mod request;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use futures::{AsyncBufRead, AsyncBufReadExt as _};
use http::StatusCode;
use slice_controller::{Decoded, ErrorChain, ObjectRef, WatchSpec};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    client::{ApiClient, RequestError},
    health::SourceHealth,
    metrics::Metrics,
};
use frames::{Frame, read_frame, read_page, read_version};
use progress::Progress;
pub(crate) use request::Target;

/// As of which version a resource can be watched.
pub(crate) async fn version(api: &ApiClient, target: &Target) -> Result<Box<str>, RequestError> {
    let list = api.call(target.one()).await?;
    read_version(&list).map_err(RequestError::transport)
}

/// Events of a reflector. An initial list or a relist is the sequence `Init`, `Apply`…, `InitDone`; objects missing from it
/// were deleted.
#[derive(Debug)]
pub(crate) enum WatchEvent<O> {
    /// A list begins.
    Init,
    /// An object is new or has changed.
    Apply(Decoded<O>),
    /// An object was deleted.
    Delete(ObjectRef),
    /// The list is complete.
    InitDone {
        /// The version of the list.
        version: Box<str>,
    },
    /// The API server lacks the resource, which is optional. Objects that are known stay known.
    Absent,
}

/// How long to wait before a resource that the API server lacks is tried again.
const ABSENT_RETRY: Duration = Duration::from_secs(30);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// How long one watch lasts. Short, because a connection that has died without a word is noticed when this is over (F9).
    pub(crate) watch: Duration,
    /// How much longer than it should a watch may last.
    pub(crate) slack: Duration,
    /// How long a list may be silent.
    pub(crate) silence: Duration,
    /// A watch that ends sooner than this has failed, though nobody says so.
    pub(crate) short: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            watch: Duration::from_secs(10),
            slack: Duration::from_secs(3),
            silence: Duration::from_secs(30),
            short: Duration::from_secs(1),
        }
    }
}

/// Lists and watches one resource.
pub(crate) struct Reflector<W, O> {
    pub(crate) api: ApiClient,
    pub(crate) spec: WatchSpec<W, O>,
    /// The namespace, or all if it is empty.
    pub(crate) namespace: String,
    pub(crate) health: Arc<SourceHealth>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) times: Times,
    /// Where the events go.
    pub(crate) out: mpsc::Sender<(usize, WatchEvent<O>)>,
    /// The place of the watch among those of the controller, sent with each event.
    pub(crate) index: usize,
}

/// Why a list or a watch ended.
enum End {
    /// Go on from where it ended.
    Over,
    /// The server no longer knows what happened since: list anew.
    Expired,
    /// Nobody listens any more.
    Unheard,
    Failed(RequestError),
    /// What came cannot be understood, or is older than what was seen.
    Unusable(String),
}

impl From<RequestError> for End {
    fn from(error: RequestError) -> Self {
        match error.api_error() {
            Some(api_error) if api_error.code == StatusCode::GONE => Self::Expired,
            _ => Self::Failed(error),
        }
    }
}

/// Whether the API server lacks the resource: lists of a resource that it serves are found even if they are empty.
fn is_not_found(error: &RequestError) -> bool {
    error
        .api_error()
        .is_some_and(|error| error.code == StatusCode::NOT_FOUND)
}

impl<W, O> Reflector<W, O> {
    /// Runs until nobody listens any more.
    pub(crate) async fn run(self) {
        let target = Target::new(&self.spec, &self.namespace);
        let mut progress = Progress::default();
        let mut absent = false;
        loop {
            let position = progress.position().map(ToOwned::to_owned);
            let begin = Instant::now();
            let end = match position {
                Some(version) => self.follow(&target, &version, &mut progress).await,
                None if progress.watch_list => self.list_by_watch(&target, &mut progress).await,
                None => self.list_by_pages(&target, &mut progress).await,
            };
            absent &= progress.position().is_none();
            let Err(end) = end else { continue };
            match end {
                End::Unheard => return,
                // Or else a server that ends every watch at once would be asked without a pause.
                End::Over if begin.elapsed() < self.times.short => {
                    self.pause("the server ended the watch at once", None, &mut progress)
                        .await;
                }
                End::Over => progress.went_well(),
                End::Expired => {
                    tracing::info!(
                        resource = self.spec.name,
                        "the server no longer knows what happened since: listing anew"
                    );
                    progress.forget_position();
                    // Not with everybody else to whom the same happened.
                    tokio::time::sleep(progress.went_wrong(None, fastrand::f64())).await;
                }
                End::Failed(error) if self.spec.optional && is_not_found(&error) => {
                    // A resource that appears again may have other objects: they are listed.
                    progress.forget_position();
                    progress.went_well();
                    self.health.absent();
                    if !absent {
                        absent = true;
                        tracing::info!(
                            resource = self.spec.name,
                            retry_in = ?ABSENT_RETRY,
                            "the API server does not serve this optional resource"
                        );
                    }
                    // Each time: a list may have begun since.
                    if self.tell(WatchEvent::Absent).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(ABSENT_RETRY).await;
                }
                End::Failed(error) if progress.position().is_none() && progress.refuses_watch_list(&error) => {}
                End::Failed(error) => {
                    let asked_for = error.api_error().and_then(|error| error.retry_after);
                    let problem = ErrorChain(&error).to_string();
                    self.pause(&problem, asked_for, &mut progress).await;
                }
                End::Unusable(problem) => self.pause(&problem, None, &mut progress).await,
            }
        }
    }

    async fn tell(&self, event: WatchEvent<O>) -> Result<(), End> {
        self.out.send((self.index, event)).await.map_err(|_| End::Unheard)
    }

    /// Waits after something went wrong, and says so.
    async fn pause(&self, problem: &str, asked_for: Option<Duration>, progress: &mut Progress) {
        self.health.trouble(problem);
        let wait = progress.went_wrong(asked_for, fastrand::f64());
        tracing::warn!(resource = self.spec.name, problem, retry_in = ?wait, "watching failed");
        tokio::time::sleep(wait).await;
    }

    /// All objects in one stream, and then what happens to them.
    async fn list_by_watch(&self, target: &Target, progress: &mut Progress) -> Result<(), End> {
        // The server ends the stream after this, so it has to be enough for all objects.
        let request = target.watch_list(&progress.newest(), self.times.silence * 10);
        let stream = self.api.open(request).await?;
        futures::pin_mut!(stream);
        self.tell(WatchEvent::Init).await?;
        let mut line = Vec::new();
        loop {
            let deadline = Instant::now() + self.times.silence;
            match self.next(&mut stream, &mut line, deadline).await? {
                Frame::Apply(decoded) => self.tell(WatchEvent::Apply(decoded)).await?,
                Frame::Delete(object) => self.tell(WatchEvent::Delete(object)).await?,
                Frame::Bookmark {
                    version,
                    complete: true,
                } => {
                    self.listed(version, progress).await?;
                    return self.rest(&mut stream, progress).await;
                }
                Frame::Bookmark { .. } => {}
                Frame::Error(error) => return Err(RequestError::Api(error).into()),
                Frame::Unreadable(unreadable) => self.skip(&unreadable.to_string()),
            }
        }
    }

    /// All objects, page by page.
    async fn list_by_pages(&self, target: &Target, progress: &mut Progress) -> Result<(), End> {
        let mut continue_at: Box<str> = "".into();
        loop {
            let body = self.api.call(target.page(&continue_at)).await?;
            let page =
                read_page(&body, |object| self.spec.decode(object)).map_err(|error| self.unusable("a list", &error))?;
            self.health.contact();
            self.check_time(&page.version, progress)?;
            if continue_at.is_empty() {
                self.tell(WatchEvent::Init).await?;
            }
            for object in page.objects {
                match object {
                    Ok(decoded) => self.tell(WatchEvent::Apply(decoded)).await?,
                    Err(unreadable) => self.skip(&unreadable.to_string()),
                }
            }
            if page.continue_at.is_empty() {
                return self.listed(page.version, progress).await;
            }
            continue_at = page.continue_at;
        }
    }

    async fn listed(&self, version: Box<str>, progress: &mut Progress) -> Result<(), End> {
        self.check_time(&version, progress)?;
        progress.reach(&version);
        self.tell(WatchEvent::InitDone { version }).await?;
        self.health.synced();
        Ok(())
    }

    /// Nothing is concluded from a list that is older than what was seen (I11).
    fn check_time(&self, version: &str, progress: &Progress) -> Result<(), End> {
        let seen = progress.is_back_in_time(version);
        seen.map_or(Ok(()), |seen| {
            let name = self.spec.name;
            Err(End::Unusable(format!(
                "the server lists {name} as of version {version}, but {seen} was seen"
            )))
        })
    }

    /// What happens from a version on.
    async fn follow(&self, target: &Target, version: &str, progress: &mut Progress) -> Result<(), End> {
        let stream = self.api.open(target.watch_from(version, self.times.watch)).await?;
        futures::pin_mut!(stream);
        self.health.synced();
        self.rest(&mut stream, progress).await
    }

    async fn rest(&self, stream: &mut (impl AsyncBufRead + Unpin), progress: &mut Progress) -> Result<(), End> {
        let deadline = Instant::now() + self.times.watch + self.times.slack;
        let mut line = Vec::new();
        loop {
            match self.next(stream, &mut line, deadline).await? {
                Frame::Apply(decoded) => {
                    progress.reach(&decoded.object_ref.resource_version);
                    self.tell(WatchEvent::Apply(decoded)).await?;
                }
                Frame::Delete(object) => {
                    progress.reach(&object.resource_version);
                    self.tell(WatchEvent::Delete(object)).await?;
                }
                Frame::Bookmark { version, .. } => progress.reach(&version),
                Frame::Error(error) => return Err(RequestError::Api(error).into()),
                Frame::Unreadable(unreadable) => {
                    if let Some(object) = &unreadable.object_ref {
                        progress.reach(&object.resource_version);
                    }
                    self.skip(&unreadable.to_string());
                }
            }
        }
    }

    /// The next thing that is said. The end of the stream ends the watch; so does the deadline, because then the connection
    /// is no longer to be trusted.
    async fn next(
        &self,
        stream: &mut (impl AsyncBufRead + Unpin),
        line: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Frame<O>, End> {
        line.clear();
        let read = tokio::time::timeout_at(deadline, stream.read_until(b'\n', line)).await;
        let read = read.map_err(|_| End::Over)?.map_err(RequestError::transport)?;
        if read == 0 {
            return Err(End::Over);
        }
        self.health.contact();
        read_frame(line, |object| self.spec.decode(object)).map_err(|error| self.unusable("an event", &error))
    }

    fn unusable(&self, what: &str, error: &serde_json::Error) -> End {
        End::Unusable(format!("{what} of {} cannot be read: {error}", self.spec.name))
    }

    /// One object must not stop the rest (F25).
    fn skip(&self, problem: &str) {
        tracing::warn!(resource = self.spec.name, problem, "an object is skipped");
        self.metrics.object_skipped(self.spec.name);
    }
}
