//! The one body type that travels through the simulator, the fault layer and the proxy.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};

/// An error of any origin, as HTTP services pass it on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's or an answer's body: whole, or a stream that goes on (a watch).
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body that is already complete.
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
