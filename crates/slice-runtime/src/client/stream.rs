//! The body of a response as a stream.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use futures::{AsyncBufRead, AsyncRead, TryStreamExt as _};
use http::{Response, Version};
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::connections::{Connections, Generation};

/// The body of a response that is read while it arrives.
pub(crate) struct ResponseStream {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    http2: bool,
    connections: Connections,
    generation: Generation,
}

impl ResponseStream {
    pub(super) fn new(response: Response<Body>, connections: Connections, generation: Generation) -> Self {
        let http2 = response.version() == Version::HTTP_2;
        let reported_to = connections.clone();
        let body = response.into_body().into_data_stream().map_err(move |error| {
            reported_to.on_transport_error(generation, &error);
            io::Error::other(error)
        });
        Self {
            body: Box::pin(body.into_async_read()),
            http2,
            connections,
            generation,
        }
    }

    /// Whether the stream is one of an HTTP/2 connection, which pings check.
    pub(crate) fn is_http2(&self) -> bool {
        self.http2
    }

    /// Reports that the server has not ended the stream in time: its connection may be broken.
    pub(crate) fn report_overdue(&self) {
        self.connections.on_timeout(self.generation, self.http2);
    }
}

impl AsyncRead for ResponseStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.body.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncBufRead for ResponseStream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_mut().body.as_mut().poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.body.as_mut().consume(amount);
    }
}
