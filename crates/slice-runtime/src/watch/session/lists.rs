//! The lists of a reflector.

use slice_controller::Decoded;
use tokio::time::Instant;

use super::{
    super::{
        ListReason, WatchEvent, WatchTimeouts,
        epoch::NewestObject,
        frames::{Frame, decode_page},
        stream_end::StreamEnd,
    },
    Session,
};
use crate::client::RequestError;

impl<W, O> Session<W, O> {
    async fn start_list(&mut self) -> Result<(), StreamEnd> {
        self.list_started_at = Some(Instant::now());
        self.list_newest = None;
        Ok(self.reflector.emit(WatchEvent::Init).await?)
    }

    /// Lists all objects in a watch stream (`sendInitialEvents`), and goes on watching in the same stream.
    pub(super) async fn streaming_list(&mut self) -> Result<(), StreamEnd> {
        self.count_list();
        let idle = self.reflector.timeouts.idle;
        // The server closes the stream after this timeout, so it must suffice for all objects.
        let request = self.list_watch.streaming_list(idle * 10);
        let mut stream = self.reflector.api.open_stream(request).await?;
        self.start_list().await?;
        let mut line = Vec::new();
        loop {
            match self
                .reflector
                .next_frame(&mut stream, &mut line, Instant::now() + idle)
                .await?
            {
                Frame::Apply(decoded) => {
                    NewestObject::update(&mut self.list_newest, &decoded.object_ref, false);
                    self.reflector.emit_object(decoded, line.len()).await?;
                }
                Frame::Delete(object) => {
                    NewestObject::update(&mut self.list_newest, &object, true);
                    self.reflector.emit(WatchEvent::Delete(object)).await?;
                }
                Frame::Bookmark {
                    version,
                    initial_events_end: true,
                } => {
                    self.complete_list(version).await?;
                    // The server ends this stream too late to detect a broken connection without pings. A short watch
                    // follows, which shows by its end that the connection works (F9).
                    if !stream.is_http2() {
                        return Ok(());
                    }
                    let timeouts = WatchTimeouts::long();
                    let duration = timeouts.watch(fastrand::f64());
                    return self.read_events(&mut stream, timeouts, duration).await;
                }
                Frame::Bookmark { .. } => {}
                Frame::Error(error) => return Err(RequestError::Api(error).into()),
                Frame::Undecodable(undecodable) => self.report_undecodable(undecodable).await?,
            }
        }
    }

    /// Lists all objects page by page. The first page, and with it the whole list, is a consistent read.
    pub(super) async fn paged_list(&mut self) -> Result<(), StreamEnd> {
        self.count_list();
        let mut continue_token: Box<str> = "".into();
        loop {
            let api = match self.resume.list_reason() {
                ListReason::Confirmation => &self.reflector.confirmation_api,
                _ => &self.reflector.api,
            };
            let body = api.call(self.list_watch.page(&continue_token)).await?;
            let page = decode_page(&body, |object| self.reflector.spec.decode(object))
                .map_err(|error| self.reflector.invalid("list", &error))?;
            self.reflector.health.record_activity();
            // Nothing is concluded from a list that is older than what was seen (I11).
            let newest = self.resume.newest();
            let contradicts =
                |decoded: &Decoded<O>| newest.is_some_and(|newest| newest.contradicts(&decoded.object_ref));
            if self.resume.older_than_seen(&page.version).is_some() || page.objects.iter().flatten().any(contradicts) {
                return Err(StreamEnd::OlderRead(newest.cloned()));
            }
            if continue_token.is_empty() {
                self.start_list().await?;
            }
            let bytes_per_object = body.len() / page.objects.len().max(1);
            for object in page.objects {
                match object {
                    Ok(decoded) => {
                        NewestObject::update(&mut self.list_newest, &decoded.object_ref, false);
                        self.reflector.emit_object(decoded, bytes_per_object).await?;
                    }
                    Err(undecodable) => self.report_undecodable(undecodable).await?,
                }
            }
            if page.continue_token.is_empty() {
                return self.complete_list(page.version).await;
            }
            continue_token = page.continue_token;
        }
    }

    fn count_list(&self) {
        let reason = self.resume.list_reason();
        self.reflector.metrics.list_started(self.name(), reason.label());
    }

    async fn complete_list(&mut self, version: Box<str>) -> Result<(), StreamEnd> {
        self.advance(&version);
        self.resume.see_list(self.list_newest.take());
        self.probe.see_list();
        let started_at = self.list_started_at.take();
        if self.confirm_at.is_some_and(|at| started_at >= Some(at)) {
            self.confirm_at = None;
            self.reflector.health.set_unconfirmed(None);
        }
        self.reflector.emit(WatchEvent::InitDone { version }).await?;
        self.reflector.health.set_synced();
        let caught_up = self.catch_up.complete_list();
        Ok(self.reflector.emit_caught_up(caught_up).await?)
    }
}
