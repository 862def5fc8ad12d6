//! A TCP stream that can be frozen.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::connections::Control;

/// A TCP stream that can be frozen: it then neither reads nor writes nor closes, as after the loss of the peer. The
/// kernel still acknowledges received segments, so that only a protocol above TCP notices.
#[derive(Debug)]
pub struct FreezableStream {
    stream: TcpStream,
    control: Arc<Control>,
}

impl FreezableStream {
    pub(super) fn new(stream: TcpStream, control: Arc<Control>) -> Self {
        Self { stream, control }
    }
}

impl AsyncRead for FreezableStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.control.poll_thawed(cx));
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for FreezableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.control.poll_thawed(cx));
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.control.poll_thawed(cx));
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.control.poll_thawed(cx));
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
