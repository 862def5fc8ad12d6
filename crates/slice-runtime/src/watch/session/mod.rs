//! The requests of a reflector, one after the other; `lists.rs` has the lists.

mod lists;

use std::time::Duration;

use futures::{AsyncBufRead, FutureExt as _};
use slice_controller::{ErrorChain, ObjectRef};
use tokio::{sync::mpsc, time::Instant};

use super::{
    ConfirmationRequest, ListReason, ListWatch, Reflector, WatchEvent, WatchTimeouts,
    catch_up::{CATCH_UP_WATCH, CatchUp},
    consistent_read,
    epoch::{Comparison, EpochProbe, NewestObject, Seen, confirmation_delay},
    frames::{Frame, Undecodable},
    resume::ResumeState,
    stream_end::{ReceiverDropped, StreamEnd, is_not_found, is_overload},
    undecodable::ReportedObjects,
};
use crate::{client::RequestError, escape::Escaped, leader_election::Leadership};

/// The delay before an optional resource that the API server lacks is tried again.
const ABSENT_RETRY: Duration = Duration::from_secs(30);

/// A running reflector.
pub(super) struct Session<W, O> {
    reflector: Reflector<W, O>,
    confirmations: mpsc::Receiver<ConfirmationRequest>,
    list_watch: ListWatch,
    resume: ResumeState,
    probe: EpochProbe,
    catch_up: CatchUp,
    reported: ReportedObjects,
    /// When the list that is not complete started.
    list_started_at: Option<Instant>,
    /// The newest object of that list.
    list_newest: Option<NewestObject>,
    /// When a list has to confirm an earlier one.
    confirm_at: Option<Instant>,
    /// Whether the API server lacks the resource.
    absent: bool,
}

impl<W, O> Session<W, O> {
    pub(super) fn new(reflector: Reflector<W, O>, confirmations: mpsc::Receiver<ConfirmationRequest>) -> Self {
        Self {
            list_watch: ListWatch::new(&reflector.spec, &reflector.namespace),
            catch_up: CatchUp::default(),
            reflector,
            confirmations,
            resume: ResumeState::default(),
            probe: EpochProbe::new(),
            reported: ReportedObjects::default(),
            list_started_at: None,
            list_newest: None,
            confirm_at: None,
            absent: false,
        }
    }

    fn name(&self) -> &'static str {
        self.reflector.spec.name
    }

    /// Runs until the engine drops the channel.
    pub(super) async fn run(mut self) {
        while self.run_once().await.is_ok() {}
    }

    /// Lists or watches once, and waits if that failed.
    async fn run_once(&mut self) -> Result<(), ReceiverDropped> {
        let started_at = Instant::now();
        let end = self.list_or_watch().await;
        self.absent &= self.resume.resource_version().is_none();
        let Err(end) = end else { return Ok(()) };
        if self.list_started_at.take().is_some() {
            self.reflector.emit(WatchEvent::InitFailed).await?;
        }
        self.recover(end, started_at.elapsed()).await
    }

    async fn list_or_watch(&mut self) -> Result<(), StreamEnd> {
        let term = self.reflector.leadership.as_ref().and_then(Leadership::term);
        if let Some(term) = self.catch_up.unread_term(term) {
            self.read_target(term).await?;
        }
        let resource_version = self.resume.resource_version().map(ToOwned::to_owned);
        match resource_version {
            Some(version) => self.watch(&version).await,
            None if self.resume.uses_streaming_list() => self.streaming_list().await,
            None => self.paged_list().await,
        }
    }

    /// Reads the version that has to be reached in a term of leadership.
    async fn read_target(&mut self, term: u64) -> Result<(), StreamEnd> {
        let caught_up = match consistent_read(&self.reflector.api, &self.list_watch, None).await {
            Ok(read) => {
                if self.catch_up.set_target(term, &read.version) {
                    self.resume.relist(ListReason::Failed);
                }
                self.catch_up.advance(self.resume.resource_version())
            }
            // Without the resource there is nothing to catch up with.
            Err(error) if self.reflector.spec.optional && is_not_found(&error) => Some(self.catch_up.finish(term)),
            Err(error) => return Err(error.into()),
        };
        Ok(self.reflector.emit_caught_up(caught_up).await?)
    }

    /// Decides what follows a list or watch that ended after this time.
    async fn recover(&mut self, end: StreamEnd, duration: Duration) -> Result<(), ReceiverDropped> {
        match end {
            StreamEnd::ReceiverDropped => return Err(ReceiverDropped),
            StreamEnd::Closed if self.resume.resource_version().is_none() => {
                self.resume.page_next_list();
                let error = "the streaming list ended, or received no data in time, before it was complete";
                self.back_off(error, None).await;
            }
            // Without backoff, a server that closes every watch at once would be flooded with requests (F12).
            StreamEnd::Closed if duration < self.reflector.timeouts.min_duration => {
                self.back_off("the API server closed the watch at once", None).await;
            }
            StreamEnd::Closed => self.resume.reset_backoff(),
            StreamEnd::Expired => {
                tracing::info!(resource = self.name(), "watch expired (410 Gone), relisting");
                self.resume.relist(ListReason::Expired);
                // The jitter spreads the relists of clients whose watches expired together.
                tokio::time::sleep(self.resume.next_backoff(None, fastrand::f64())).await;
            }
            StreamEnd::TooLarge(error) => match self.is_new_epoch(2, self.resume.newest().cloned()).await {
                Ok(true) => self.start_epoch().await?,
                Ok(false) | Err(_) => self.back_off_after(&error).await?,
            },
            StreamEnd::OlderRead(object) => match self.is_new_epoch(1, object).await {
                Ok(true) => self.start_epoch().await?,
                // The two reads contradict each other, so the watch may have missed events.
                Ok(false) => self.resume.relist(ListReason::Epoch),
                Err(error) => self.back_off_after(&error).await?,
            },
            StreamEnd::Confirm => self.resume.relist(ListReason::Confirmation),
            StreamEnd::CatchUp => {}
            StreamEnd::Failed(error) if self.reflector.spec.optional && is_not_found(&error) => {
                self.set_absent().await?;
            }
            StreamEnd::Failed(error)
                if self.resume.resource_version().is_none() && self.resume.fall_back_to_paging(&error) =>
            {
                let error = Escaped(ErrorChain(&error)).to_string();
                tracing::info!(
                    resource = self.name(),
                    error,
                    "the streaming list failed, listing in pages"
                );
            }
            StreamEnd::Failed(error) => {
                if let Some(api_error) = error.api_error() {
                    let relists = self.resume.reject(Some(api_error));
                    self.log_rejections(relists);
                }
                self.back_off_after(&error).await?;
            }
            StreamEnd::Invalid(error) => {
                let relists = self.resume.reject(None);
                self.log_rejections(relists);
                self.back_off(&error, None).await;
            }
        }
        Ok(())
    }

    /// Reports an error, and waits before the next request.
    async fn back_off(&mut self, error: &str, retry_after: Option<Duration>) {
        self.reflector.health.set_error(error);
        let delay = self.resume.next_backoff(retry_after, fastrand::f64());
        if let Some(not_logged) = self.resume.log_failure(error, Instant::now().into_std()) {
            tracing::warn!(
                resource = self.name(),
                error,
                retry_in = ?delay,
                not_logged = (not_logged > 0).then_some(not_logged),
                "list or watch failed, retrying"
            );
        }
        tokio::time::sleep(delay).await;
    }

    async fn back_off_after(&mut self, error: &RequestError) -> Result<(), ReceiverDropped> {
        let retry_after = error.api_error().and_then(|error| error.retry_after);
        if is_overload(error) {
            self.reflector.emit(WatchEvent::Overloaded { retry_after }).await?;
        }
        let error = self.reflector.describe(error);
        self.back_off(&error, retry_after).await;
        Ok(())
    }

    fn log_rejections(&self, relists: bool) {
        if relists {
            tracing::info!(
                resource = self.name(),
                "watches from the same resourceVersion kept failing, relisting"
            );
        }
    }

    async fn set_absent(&mut self) -> Result<(), ReceiverDropped> {
        // If the resource appears again, its objects may differ: list them.
        self.resume.relist(ListReason::Absent);
        self.resume.reset_backoff();
        self.reflector.health.set_absent();
        if !self.absent {
            self.absent = true;
            tracing::info!(
                resource = self.name(),
                retry_in = ?ABSENT_RETRY,
                "the API server does not serve this optional resource, retrying"
            );
        }
        // Also if it was absent before: a list may have started since.
        self.reflector.emit(WatchEvent::Absent).await?;
        tokio::select! {
            () = tokio::time::sleep(ABSENT_RETRY) => {}
            () = self.reflector.next_term(&self.catch_up) => {}
        }
        Ok(())
    }

    /// Whether all of some more consistent reads, of this object, are older than what was seen.
    async fn is_new_epoch(&mut self, reads: usize, newest: Option<NewestObject>) -> Result<bool, RequestError> {
        let highest = self.resume.highest();
        let seen = Seen { highest, newest };
        for _ in 0..reads {
            tokio::time::sleep(confirmation_delay()).await;
            let object = seen.newest.as_ref().map(|newest| &newest.object);
            let read = consistent_read(&self.reflector.api, &self.list_watch, object).await?;
            if seen.compare(&read) == Comparison::Current {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// resourceVersions went back: forgets those that were seen, and relists.
    async fn start_epoch(&mut self) -> Result<(), ReceiverDropped> {
        tracing::warn!(
            resource = self.name(),
            seen = self.resume.highest_seen(),
            "resourceVersions went back, as after a restore of etcd; relisting"
        );
        self.resume.start_epoch();
        self.resume.reset_backoff();
        self.probe = EpochProbe::new();
        self.catch_up.start_epoch();
        self.reflector.emit(WatchEvent::NewEpoch).await
    }

    fn advance(&mut self, version: &str) {
        if self.resume.advance(version) {
            self.reflector.health.record_position(version);
        }
    }

    /// Watches from a resourceVersion.
    async fn watch(&mut self, version: &str) -> Result<(), StreamEnd> {
        let timeouts = self.timeouts(self.reflector.api.connections.uses_http2());
        let mut duration = if self.catch_up.is_pending() {
            CATCH_UP_WATCH
        } else {
            timeouts.watch(fastrand::f64())
        };
        let request = self.list_watch.watch_from(version, duration);
        let mut stream = self.reflector.api.open_stream(request).await?;
        // The new connection may be one by HTTP/1.1.
        let timeouts = self.timeouts(stream.is_http2());
        duration = duration.min(timeouts.longest_watch());
        self.reflector.metrics.watch_opened(self.name());
        self.reflector.health.set_synced();
        if self.resume.suspects_new_epoch() {
            self.probe.schedule_soon(self.resume.newest());
        }
        let deadline = Instant::now() + duration + timeouts.grace;
        let end = self.read_events(&mut stream, timeouts, duration).await;
        if Instant::now() >= deadline {
            stream.report_overdue();
            // Until a watch can be opened: a stopped API server accepts the next request, but does not respond (F9).
            let error = "the API server did not end a watch in time; the connection may be broken";
            self.reflector.health.set_error(error);
        }
        end
    }

    /// The timeouts by the version of HTTP: pings detect a broken HTTP/2 connection.
    fn timeouts(&self, is_http2: bool) -> WatchTimeouts {
        if is_http2 {
            WatchTimeouts::long()
        } else {
            self.reflector.timeouts
        }
    }

    async fn read_events(
        &mut self,
        stream: &mut (impl AsyncBufRead + Unpin),
        timeouts: WatchTimeouts,
        duration: Duration,
    ) -> Result<(), StreamEnd> {
        let (mut frames, started_at) = (0_u64, Instant::now());
        let end = self
            .read_events_until_end(stream, timeouts, duration, &mut frames)
            .await;
        if !matches!(end, Err(StreamEnd::CatchUp)) {
            // The server counts from the arrival of the request.
            let early = started_at.elapsed() + timeouts.grace < duration;
            self.resume.watch_ended(frames > 0, early);
        }
        end
    }

    async fn read_events_until_end(
        &mut self,
        stream: &mut (impl AsyncBufRead + Unpin),
        timeouts: WatchTimeouts,
        duration: Duration,
        frames: &mut u64,
    ) -> Result<(), StreamEnd> {
        let deadline = Instant::now() + duration + timeouts.grace;
        let mut line = Vec::new();
        let mut last_frame_at = Instant::now();
        loop {
            let silent_at = last_frame_at + timeouts.silence;
            let (api, list_watch) = (&self.reflector.api, &self.list_watch);
            let send_probe = |object: Option<ObjectRef>| {
                let (api, list_watch) = (api.clone(), list_watch.clone());
                async move { consistent_read(&api, &list_watch, object.as_ref()).await }.boxed()
            };
            let confirm_at = self.confirm_at;
            tokio::select! {
                frame = self.reflector.next_frame(stream, &mut line, deadline.min(silent_at)) => {
                    let frame = frame?;
                    *frames += 1;
                    last_frame_at = Instant::now();
                    self.handle_frame(frame, line.len()).await?;
                }
                is_older = self.probe.is_older(self.resume.highest(), send_probe) => {
                    if is_older {
                        return Err(StreamEnd::OlderRead(self.probe.object().cloned()));
                    }
                    self.resume.epoch_confirmed();
                }
                () = self.reflector.next_term(&self.catch_up) => return Err(StreamEnd::CatchUp),
                Some(request) = self.confirmations.recv() => {
                    self.confirm_at.get_or_insert(Instant::now() + request.delay);
                    self.reflector.health.set_unconfirmed(Some(request.message));
                }
                () = tokio::time::sleep_until(confirm_at.unwrap_or(deadline)), if confirm_at.is_some() => {
                    return Err(StreamEnd::Confirm);
                }
            }
        }
    }

    fn see_object(&mut self, object: &ObjectRef, deleted: bool) {
        self.resume.see_object(object, deleted);
        self.probe.see_object(object, deleted);
    }

    /// Handles a frame of this many bytes.
    async fn handle_frame(&mut self, frame: Frame<O>, bytes: usize) -> Result<(), StreamEnd> {
        match frame {
            Frame::Apply(decoded) => {
                self.see_object(&decoded.object_ref, false);
                self.advance(&decoded.object_ref.resource_version);
                self.reflector.emit_object(decoded, bytes).await?;
            }
            Frame::Delete(object) => {
                self.see_object(&object, true);
                self.advance(&object.resource_version);
                self.reflector.emit(WatchEvent::Delete(object)).await?;
            }
            Frame::Bookmark { version, .. } => self.advance(&version),
            Frame::Error(error) => return Err(RequestError::Api(error).into()),
            Frame::Undecodable(undecodable) => {
                if let Some(object) = &undecodable.object_ref {
                    self.advance(&object.resource_version);
                }
                self.report_undecodable(undecodable).await?;
            }
        }
        let caught_up = self.catch_up.advance(self.resume.resource_version());
        Ok(self.reflector.emit_caught_up(caught_up).await?)
    }

    /// Emits an object that cannot be decoded. Once per version it is logged and counted, and an event is recorded on it. The
    /// list or watch goes on (F25).
    async fn report_undecodable(&mut self, undecodable: Undecodable) -> Result<(), ReceiverDropped> {
        let object_ref = undecodable.object_ref.as_ref();
        if object_ref.is_none_or(|object| self.reported.insert(object)) {
            let error = undecodable.to_string();
            tracing::warn!(
                resource = self.name(),
                error,
                "skipping an object that cannot be decoded; an earlier version stays in use"
            );
            self.reflector.metrics.object_skipped(self.name());
            let event = undecodable.event(self.reflector.spec.group_version);
            self.reflector.events.record(event.into_iter().collect());
        }
        match undecodable.object_ref {
            Some(object) => self.reflector.emit(WatchEvent::Undecodable(object)).await,
            None => Ok(()),
        }
    }
}
