//! A watch stream that can be cut, held, or left half-open between two events.

use bytes::{Bytes, BytesMut};
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::{FaultError, StreamFault, registry::StreamTicket};
use crate::body::{Body, BoxError};

/// What becomes of the events of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamMode {
    /// They pass.
    Flow,
    /// So many pass, then the stream breaks.
    Break { after_events: usize, then: StreamFault },
}

/// How the events of a stream are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON: one event a line.
    Lines,
    /// Anything else: one event a chunk, as the server flushed it.
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

/// Puts `inner` under the control of its registry entry.
pub(super) fn faulty(inner: Body, framing: Framing, mut ticket: StreamTicket) -> Body {
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
    /// The next bytes for the client; `None` at an orderly end.
    async fn next(&mut self) -> Result<Option<Bytes>, BoxError> {
        loop {
            match self.mode {
                StreamMode::Flow | StreamMode::Break { after_events: 1.., .. } => {
                    if let Some(event) = self.take_event() {
                        self.mode = self.mode.after_one_event();
                        return Ok(Some(event));
                    }
                    if self.ended {
                        return Ok(self.take_rest());
                    }
                    self.read_or_change().await?;
                }
                StreamMode::Break { then, .. } => match then {
                    StreamFault::Cut => {
                        // A pause in which the events before the cut leave the server's buffers.
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
                        self.read_or_change().await?;
                    }
                    StreamFault::Hold => self.change().await,
                    StreamFault::HalfOpen => self.swallow().await,
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

    fn take_rest(&mut self) -> Option<Bytes> {
        (!self.unread.is_empty()).then(|| self.unread.split().freeze())
    }

    async fn read_or_change(&mut self) -> Result<(), BoxError> {
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

    async fn change(&mut self) {
        // The registry keeps the sender for as long as the ticket lives.
        if self.ticket.mode.changed().await.is_ok() {
            self.mode = *self.ticket.mode.borrow_and_update();
        }
    }

    /// What is lost stays lost: a half-open stream ends only with its client.
    async fn swallow(&mut self) {
        while let Some(Ok(_)) = self.inner.frame().await {}
        std::future::pending::<()>().await;
    }
}
