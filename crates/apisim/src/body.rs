//! The HTTP body type of the simulator, the fault layer and the proxy.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};

/// A boxed error, the error type of the HTTP services.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request or response: complete, or a stream (a watch).
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A complete body.
#[must_use]
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Turns any HTTP body into a [`Body`].
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}
