//! What is answered over HTTP: metrics and health.

use std::{sync::Arc, time::Instant};

use http::{HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;

use crate::{Health, Metrics, WatchState, metrics::TEXT_FORMAT};

/// What there is to tell.
#[derive(Clone)]
pub(super) struct Pages {
    pub(super) metrics: Arc<Metrics>,
    pub(super) health: Arc<Health>,
}

impl Pages {
    /// Answers a request.
    pub(super) fn answer<B>(&self, request: &Request<B>) -> Response<Full<bytes::Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        }
        match request.uri().path() {
            "/metrics" => self.metrics(),
            "/healthz" | "/livez" => text(StatusCode::OK, "ok"),
            "/readyz" => {
                let query = request.uri().query().unwrap_or_default();
                let verbose = form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == "verbose");
                self.ready(verbose)
            }
            _ => text(
                StatusCode::NOT_FOUND,
                "there are /metrics, /healthz, /livez and /readyz?verbose\n",
            ),
        }
    }

    fn metrics(&self) -> Response<Full<bytes::Bytes>> {
        self.metrics.watches(&self.health);
        let mut response = text(StatusCode::OK, self.metrics.page());
        let format = HeaderValue::from_static(TEXT_FORMAT);
        response.headers_mut().insert(CONTENT_TYPE, format);
        response
    }

    /// Ready is whoever has seen everything once: what was seen stays known when the server is lost.
    fn ready(&self, verbose: bool) -> Response<Full<bytes::Bytes>> {
        let ready = self.health.is_ready();
        if ready && !verbose {
            return text(StatusCode::OK, "ok");
        }
        let now = Instant::now();
        let mut page = String::new();
        for (kind, state) in self.health.watches() {
            page.push_str(&line(kind, &state, now));
        }
        let (status, verdict) = if ready {
            (StatusCode::OK, "readyz check passed\n")
        } else {
            (StatusCode::INTERNAL_SERVER_ERROR, "readyz check failed\n")
        };
        text(status, page + verdict)
    }
}

fn line(kind: &str, state: &WatchState, now: Instant) -> String {
    let known = if state.synced {
        "; what was seen before is kept"
    } else {
        ""
    };
    match &state.trouble {
        Some((trouble, since)) => {
            let seconds = now.saturating_duration_since(*since).as_secs();
            format!("[-]{kind} failed: {trouble} (for {seconds} s{known})\n")
        }
        None if state.absent => format!("[+]{kind} absent: the API server does not serve it{known}\n"),
        None if state.synced => format!("[+]{kind} ok\n"),
        None => format!("[-]{kind} failed: not listed yet\n"),
    }
}

fn text(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Full<bytes::Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests;
