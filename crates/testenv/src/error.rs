use std::process::ExitStatus;

use crate::assets::AssetsError;
use crate::pki::PkiError;

/// Errors of a test environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The control-plane binaries are missing.
    #[error(transparent)]
    Assets(#[from] AssetsError),
    /// A certificate could not be created.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A system call failed.
    #[error("cannot {action}")]
    System {
        /// The operation.
        action: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A component exited unexpectedly.
    #[error("{component} exited ({status}); end of its log:\n{log}")]
    Ended {
        /// The component.
        component: &'static str,
        /// The exit status.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// A component runs but is not ready.
    #[error("{component} is not ready after {seconds} s; end of its log:\n{log}")]
    NotReady {
        /// The component.
        component: &'static str,
        /// The timeout.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A component does not react to a signal.
    #[error("{component} did not {action} within {seconds} s")]
    NoReaction {
        /// The component.
        component: &'static str,
        /// The expected reaction.
        action: &'static str,
        /// The timeout.
        seconds: u64,
    },
    /// The component is already running, or not running.
    #[error("cannot {action} {component}: it {state}")]
    WrongState {
        /// The component.
        component: &'static str,
        /// The operation.
        action: &'static str,
        /// The current state.
        state: &'static str,
    },
    /// A client could not be created.
    #[error("cannot create a client for {url}")]
    Client {
        /// The server.
        url: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The fault proxy did not start.
    #[error("cannot start the fault proxy")]
    Proxy {
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A request to the control plane failed.
    #[error("cannot {action}")]
    Request {
        /// The operation.
        action: String,
        /// The client error.
        #[source]
        source: Box<kube::Error>,
    },
    /// A process under test did not produce the expected output.
    #[error("expected {expected}, but {how}; output:\n{output}")]
    UnexpectedOutput {
        /// The expected output.
        expected: String,
        /// The timeout.
        how: String,
        /// The complete output.
        output: String,
    },
    /// A condition did not hold in time.
    #[error("{what} did not happen within {seconds} s")]
    Timeout {
        /// The awaited condition.
        what: String,
        /// The timeout.
        seconds: u64,
    },
}

impl Error {
    /// For `map_err`: wraps a system error with the operation.
    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }

    /// For `map_err`: wraps a client error with the operation.
    pub(crate) fn request(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request {
            action,
            source: Box::new(source),
        }
    }
}
