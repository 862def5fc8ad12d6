//! The metrics of requests to the API server, with the names that all clients of Kubernetes have.

use std::time::Duration;

use http::{Method, StatusCode};
use slice_controller::{Measurement, MetricKind, MetricSpec};

use super::exposition::Exposition;

/// The prefix of the names.
pub(super) const PREFIX: &str = "rest_client";

pub(super) static REQUEST_METRICS: [&MetricSpec; 2] = [&REQUESTS, &DURATION];

static REQUESTS: MetricSpec = MetricSpec {
    name: "requests_total",
    help: "Number of requests to the API server by status code and method; the code is <error> without a response",
    kind: MetricKind::Counter,
    labels: &["code", "method"],
};
static DURATION: MetricSpec = MetricSpec {
    name: "request_duration_seconds",
    help: "Time from sending a request to the API server until its response was read; of a watch, until it was open",
    kind: MetricKind::Histogram {
        buckets: &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0],
    },
    labels: &["verb"],
};

/// The metrics of requests.
#[derive(Debug)]
pub(crate) struct RequestMetrics(Exposition);

impl RequestMetrics {
    pub(super) fn new() -> Self {
        let exposition = Exposition::new(PREFIX, []);
        exposition.register(&REQUEST_METRICS);
        Self(exposition)
    }

    pub(super) fn write(&self, page: &mut String) {
        self.0.write(page);
    }

    /// A request was sent and its response read, or it failed. `verb` is the method by default.
    pub(crate) fn sent(
        &self,
        method: &Method,
        verb: Option<&'static str>,
        status: Option<StatusCode>,
        latency: Duration,
    ) {
        let method = method_label(method);
        self.0.apply([
            Measurement::new(&REQUESTS, &[status.map_or("<error>", code_label), method], 1.0),
            Measurement::new(&DURATION, &[verb.unwrap_or(method)], latency.as_secs_f64()),
        ]);
    }
}

fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// The codes that an API server responds with. The others share a label, so that the number of time series is bounded.
fn code_label(code: StatusCode) -> &'static str {
    match code.as_u16() {
        200 => "200",
        201 => "201",
        202 => "202",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        406 => "406",
        408 => "408",
        409 => "409",
        410 => "410",
        413 => "413",
        415 => "415",
        422 => "422",
        429 => "429",
        500 => "500",
        502 => "502",
        503 => "503",
        504 => "504",
        _ => "other",
    }
}
