//! The HTTP endpoints `/metrics`, `/healthz`, `/livez`, `/readyz` and `/debug/state`.

mod debug_state;

use std::{net::IpAddr, sync::Arc, time::Instant};

use http::{HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use tokio::sync::mpsc;

use super::logging;

use crate::{
    Health, Metrics, WatchState,
    health::{ElectionState, Liveness},
    metrics::TEXT_FORMAT,
    preflight::{PermissionState, Permissions},
    run::DebugRequest,
};

/// Which port a request came to, and what is known about its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The port without TLS, by a client with this address.
    Plain(IpAddr),
    /// The secure port, by a client that was not authenticated: the path is open to everyone.
    AlwaysAllowed,
    /// The secure port, by a client that may send the request.
    Authorized,
}

/// The handler of the HTTP endpoints.
#[derive(Clone)]
pub(super) struct StatusEndpoints {
    pub(super) metrics: Arc<Metrics>,
    pub(super) health: Arc<Health>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) debug: mpsc::Sender<DebugRequest>,
}

impl StatusEndpoints {
    /// Handles a request that is allowed.
    pub(super) async fn handle<B>(&self, request: &Request<B>, access: Access) -> Response<Full<bytes::Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
        }
        match request.uri().path() {
            "/metrics" => self.metrics(),
            "/healthz" | "/livez" => self.livez(),
            "/readyz" => {
                let query = request.uri().query().unwrap_or_default();
                let verbose = form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == "verbose");
                // Errors name objects and users, and the leader a host, which are not for everyone who can reach the port.
                self.readyz(verbose, access != Access::AlwaysAllowed)
            }
            "/debug/state" => match access {
                Access::Plain(peer) if !peer.to_canonical().is_loopback() => text(
                    StatusCode::FORBIDDEN,
                    "forbidden; without TLS, /debug/state is served to clients on the loopback interface\n",
                ),
                _ => self.debug_state().await,
            },
            _ => text(
                StatusCode::NOT_FOUND,
                "not found; the endpoints are /metrics, /healthz, /livez, /readyz?verbose and /debug/state\n",
            ),
        }
    }

    fn metrics(&self) -> Response<Full<bytes::Bytes>> {
        self.metrics.watches(&self.health);
        self.metrics.log_lines_dropped(logging::dropped_lines());
        let mut response = text(StatusCode::OK, self.metrics.page());
        let format = HeaderValue::from_static(TEXT_FORMAT);
        response.headers_mut().insert(CONTENT_TYPE, format);
        response
    }

    /// Live means that a restart would not help (see [`Liveness`]).
    fn livez(&self) -> Response<Full<bytes::Bytes>> {
        match self.health.liveness(tokio::time::Instant::now().into_std()) {
            Liveness::Live => text(StatusCode::OK, "ok"),
            failed => text(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("{failed}\nlivez check failed\n"),
            ),
        }
    }

    /// Ready means that every watch was listed once. Later errors do not end readiness: the cache stays in use. Nor do missing
    /// permissions: those to list and watch keep a watch from being listed, and without those to write, restarts do not help.
    fn readyz(&self, verbose: bool, with_errors: bool) -> Response<Full<bytes::Bytes>> {
        let ready = self.health.is_ready();
        if ready && !verbose {
            return text(StatusCode::OK, "ok");
        }
        let now = Instant::now();
        let mut page = String::new();
        for (name, state) in self.health.watches() {
            page.push_str(&watch_line(name, &state, now, with_errors));
        }
        page.push_str(&permissions_line(&self.permissions.get(), with_errors));
        if let Some(election) = self.health.election() {
            page.push_str(&election_line(&election, with_errors));
        }
        let (status, summary) = if ready {
            (StatusCode::OK, "readyz check passed\n")
        } else {
            (StatusCode::INTERNAL_SERVER_ERROR, "readyz check failed\n")
        };
        text(status, page + summary)
    }
}

/// Replaces an error for clients that are not authenticated.
const NOT_SHOWN: &str = "error not shown; see the log";

/// One line of `/readyz?verbose`.
fn watch_line(name: &str, state: &WatchState, now: Instant, with_errors: bool) -> String {
    let cached = if state.synced {
        "; cached objects stay in use"
    } else {
        ""
    };
    match &state.last_error {
        Some((error, since)) => {
            let seconds = now.saturating_duration_since(*since).as_secs();
            let error = if with_errors {
                error.clone()
            } else {
                format!("{NOT_SHOWN} or /debug/state")
            };
            format!("[-]{name} failed: {error} (for {seconds} s{cached})\n")
        }
        None if state.absent => format!("[+]{name} absent: the API server does not serve it{cached}\n"),
        None if !state.synced => format!("[-]{name} failed: not listed yet\n"),
        None => match &state.unconfirmed {
            Some(message) => format!("[-]{name} unconfirmed: {message}; a second list has to confirm it{cached}\n"),
            None => format!("[+]{name} ok{}\n", position(state, now)),
        },
    }
}

/// The line of `/readyz?verbose` about permissions.
fn permissions_line(state: &PermissionState, with_errors: bool) -> String {
    match state {
        PermissionState::Unknown(_) if !with_errors => format!("[-]permissions not reviewed: {NOT_SHOWN}\n"),
        PermissionState::Missing(_) if !with_errors => format!("[-]permissions missing: {NOT_SHOWN}\n"),
        PermissionState::Granted => "[+]permissions ok\n".to_owned(),
        PermissionState::Pending => "[+]permissions not reviewed yet\n".to_owned(),
        PermissionState::Unknown(error) => format!("[-]permissions not reviewed: {error}\n"),
        PermissionState::Missing(missing) => format!("[-]permissions missing: {}\n", missing.join(", ")),
    }
}

/// The line of `/readyz?verbose` about leader election.
fn election_line(state: &ElectionState, with_errors: bool) -> String {
    match state {
        ElectionState::Leading => "[+]leader election: leading\n".to_owned(),
        ElectionState::StandingBy(_) if !with_errors => "[+]leader election: standing by\n".to_owned(),
        ElectionState::StandingBy(None) => "[+]leader election: standing by, no leader is known\n".to_owned(),
        ElectionState::StandingBy(Some(leader)) => format!("[+]leader election: standing by, {leader} leads\n"),
        ElectionState::Failed(_) if !with_errors => format!("[-]leader election failed: {NOT_SHOWN}\n"),
        ElectionState::Failed(error) => format!("[-]leader election failed: {error}\n"),
    }
}

/// How old the position of a watch is.
fn position(state: &WatchState, now: Instant) -> String {
    let seconds = state.position_age(now).map(|age| age.as_secs());
    seconds.map_or_else(String::new, |seconds| format!(" (position {seconds} s old)"))
}

pub(super) fn text(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Full<bytes::Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
pub(super) mod tests;
