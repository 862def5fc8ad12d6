//! Reads the responses of a reflector's requests, and emits its events.

use futures::{AsyncBufRead, AsyncBufReadExt as _};
use slice_controller::{Decoded, ErrorChain};
use tokio::time::Instant;

use super::{
    Reflector, WatchEvent,
    catch_up::CatchUp,
    frames::{Frame, decode_frame},
    stream_end::{ReceiverDropped, StreamEnd, is_not_found},
};
use crate::{client::RequestError, escape::Escaped};

impl<W, O> Reflector<W, O> {
    /// Emits an event without an object.
    pub(super) async fn emit(&self, event: WatchEvent<O>) -> Result<(), ReceiverDropped> {
        self.emit_sized(event, 0).await
    }

    /// Emits an object that was decoded from this many bytes.
    pub(super) async fn emit_object(&self, object: Decoded<O>, bytes: usize) -> Result<(), ReceiverDropped> {
        self.emit_sized(WatchEvent::Apply(object), bytes).await
    }

    /// Waits for a term in which no version has been read yet.
    pub(super) async fn next_term(&self, catch_up: &CatchUp) {
        match &self.leadership {
            Some(leadership) => drop(leadership.next_term(catch_up.last_term()).await),
            None => std::future::pending().await,
        }
    }

    /// Reports the term with which the watch has caught up, if any.
    pub(super) async fn emit_caught_up(&self, term: Option<u64>) -> Result<(), ReceiverDropped> {
        match term {
            Some(term) => self.emit(WatchEvent::CaughtUp { term }).await,
            None => Ok(()),
        }
    }

    async fn emit_sized(&self, event: WatchEvent<O>, bytes: usize) -> Result<(), ReceiverDropped> {
        let sent = self.sender.send((self.index, event), bytes).await;
        sent.map_err(|_| ReceiverDropped)
    }

    /// The text of a request error for the log and `/readyz`.
    pub(super) fn describe(&self, error: &RequestError) -> String {
        if is_not_found(error) {
            let (api, resource) = (self.spec.api_path(), self.spec.resource);
            return format!("the API server does not serve {api}/{resource}, which is required");
        }
        Escaped(ErrorChain(error)).to_string()
    }

    /// Reads and decodes the next line of a watch stream. At the deadline the stream counts as closed: its connection may be
    /// broken. If the future is dropped, `line` keeps what was read of an incomplete line.
    pub(super) async fn next_frame(
        &self,
        stream: &mut (impl AsyncBufRead + Unpin),
        line: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Frame<O>, StreamEnd> {
        if line.ends_with(b"\n") {
            line.clear();
        }
        let read = tokio::time::timeout_at(deadline, stream.read_until(b'\n', line)).await;
        read.map_err(|_| StreamEnd::Closed)?.map_err(RequestError::transport)?;
        // The stream ended, possibly within a line.
        if !line.ends_with(b"\n") {
            return Err(StreamEnd::Closed);
        }
        self.health.record_activity();
        decode_frame(line, |object| self.spec.decode(object)).map_err(|error| self.invalid("watch event", &error))
    }

    pub(super) fn invalid(&self, response: &str, error: &serde_json::Error) -> StreamEnd {
        let (name, error) = (self.spec.name, Escaped(error));
        StreamEnd::Invalid(format!("cannot decode a {response} of {name}: {error}"))
    }
}
