//! Constructors of HTTP responses.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::{
    body::{Body, full},
    status::ApiError,
    store::codec_error,
};

/// An HTTP response of the server.
pub(crate) type Response = http::Response<Body>;

/// A response with a media type.
pub(crate) fn typed(code: u16, media_type: &'static str, body: Body) -> Response {
    let mut response = http::Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A response with encoded JSON.
pub(crate) fn encoded(code: u16, text: impl Into<Bytes>) -> Response {
    typed(code, "application/json", full(text))
}

/// A response with a value, encoded as JSON.
pub(crate) fn json(code: u16, value: &impl Serialize) -> Result<Response, ApiError> {
    Ok(encoded(code, serde_json::to_vec(value).map_err(codec_error)?))
}

/// A response with plain text.
pub(crate) fn text(code: u16, text: &'static str) -> Response {
    typed(code, "text/plain; charset=utf-8", full(text))
}

/// A response with a `Status` error.
pub(crate) fn api_error(error: &ApiError) -> Response {
    let status = serde_json::to_vec(&error.0).unwrap_or_default();
    let mut response = encoded(error.code(), status);
    let retry = error.0.details.as_ref().and_then(|details| details.retry_after_seconds);
    if let Some(seconds) = retry {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Adds `Warning` headers.
pub(crate) fn add_warnings(response: &mut Response, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::try_from(format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}
