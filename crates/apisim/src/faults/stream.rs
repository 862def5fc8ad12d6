//! Fault injection into watch streams: cut, hold, or half-open.

use bytes::{Bytes, BytesMut};
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::{FaultError, StreamFault, registry::StreamTicket};
use crate::body::{Body, BoxError};

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamMode {
    /// Events are delivered.
    Flow,
    /// The fault applies after a number of events.
    Break { after_events: usize, then: StreamFault },
}

/// The framing of events in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON: one event per line.
    Lines,
    /// Other encodings: one event per chunk, as the server flushed it.
    Chunks,
}

impl StreamMode {
    fn after_one_event(self) -> Self {
        match self {
            Self::Flow => Self::Flow,
            Self::Break { after_events, then } => Self::Break {
                after_events: after_events.saturating_sub(1),
                then,
            },
        }
    }
}

/// Wraps the body of a watch response; the ticket controls the faults.
pub(super) fn inject(inner: Body, framing: Framing, mut ticket: StreamTicket) -> Body {
    let mode = *ticket.mode.borrow_and_update();
    let state = FaultyStream {
        inner,
        framing,
        ticket,
        mode,
        unread: BytesMut::new(),
        ended: false,
    };
    let frames = stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        match state.next().await {
            Ok(Some(bytes)) => Some((Ok(Frame::data(bytes)), Some(state))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

struct FaultyStream {
    inner: Body,
    framing: Framing,
    ticket: StreamTicket,
    mode: StreamMode,
    unread: BytesMut,
    ended: bool,
}

impl FaultyStream {
    /// The next bytes for the client; `None` at the regular end of the stream.
    async fn next(&mut self) -> Result<Option<Bytes>, BoxError> {
        loop {
            match self.mode {
                StreamMode::Flow | StreamMode::Break { after_events: 1.., .. } => {
                    if let Some(event) = self.take_event() {
                        self.mode = self.mode.after_one_event();
                        return Ok(Some(event));
                    }
                    if self.ended {
                        return Ok(self.take_remainder());
                    }
                    self.read_or_change_mode().await?;
                }
                StreamMode::Break { then, .. } => match then {
                    StreamFault::Cut => {
                        // Yield once, so that the server flushes the events before the cut.
                        tokio::task::yield_now().await;
                        return Err(FaultError::StreamCut.into());
                    }
                    StreamFault::CutMidEvent => {
                        if let Some(mut event) = self.take_event() {
                            event.truncate(event.len() / 2);
                            self.mode = StreamMode::Break {
                                after_events: 0,
                                then: StreamFault::Cut,
                            };
                            return Ok(Some(event));
                        }
                        if self.ended {
                            return Ok(None);
                        }
                        self.read_or_change_mode().await?;
                    }
                    StreamFault::Hold => self.wait_for_mode_change().await,
                    StreamFault::HalfOpen => self.discard_all().await,
                },
            }
        }
    }

    fn take_event(&mut self) -> Option<Bytes> {
        let length = match self.framing {
            Framing::Lines => self.unread.iter().position(|byte| *byte == b'\n')? + 1,
            Framing::Chunks if self.unread.is_empty() => return None,
            Framing::Chunks => self.unread.len(),
        };
        Some(self.unread.split_to(length).freeze())
    }

    fn take_remainder(&mut self) -> Option<Bytes> {
        (!self.unread.is_empty()).then(|| self.unread.split().freeze())
    }

    async fn read_or_change_mode(&mut self) -> Result<(), BoxError> {
        tokio::select! {
            biased;
            Ok(()) = self.ticket.mode.changed() => self.mode = *self.ticket.mode.borrow_and_update(),
            frame = self.inner.frame() => match frame {
                Some(frame) => self.unread.extend(frame?.into_data().ok().into_iter().flatten()),
                None => self.ended = true,
            }
        }
        Ok(())
    }

    async fn wait_for_mode_change(&mut self) {
        // The registry owns the sender as long as the ticket exists.
        if self.ticket.mode.changed().await.is_ok() {
            self.mode = *self.ticket.mode.borrow_and_update();
        }
    }

    /// Discards all events. A half-open stream ends only when the client closes it.
    async fn discard_all(&mut self) {
        while let Some(Ok(_)) = self.inner.frame().await {}
        std::future::pending::<()>().await;
    }
}
