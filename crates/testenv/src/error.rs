use std::process::ExitStatus;

use crate::assets::AssetsError;
use crate::pki::PkiError;

/// Why an environment, or a part of it, does not do what it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The programs are not there.
    #[error(transparent)]
    Assets(#[from] AssetsError),
    /// No certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The system refused something.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: String,
        /// Why it did not work.
        #[source]
        source: std::io::Error,
    },
    /// A program ended although it should run.
    #[error("{part} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// The program.
        part: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// A program runs but does not say that it is ready.
    #[error("{part} is not ready after {seconds} s; the end of its log:\n{log}")]
    NotReady {
        /// The program.
        part: &'static str,
        /// How long it was waited for.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A program does not end, or does not freeze, when told to.
    #[error("{part} does not {action} within {seconds} s")]
    Deaf {
        /// The program.
        part: &'static str,
        /// What it should do.
        action: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The part runs already, or does not run.
    #[error("cannot {action} {part}: it {state}")]
    WrongState {
        /// The program.
        part: &'static str,
        /// What was asked for.
        action: &'static str,
        /// What it does instead.
        state: &'static str,
    },
    /// A client could not be made.
    #[error("cannot make a client for {url}")]
    Client {
        /// Of which server.
        url: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The fault proxy does not come up.
    #[error("cannot start the fault proxy")]
    Proxy {
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A request to the control plane failed.
    #[error("cannot {action}")]
    Request {
        /// What was asked for.
        action: String,
        /// What came back.
        #[source]
        source: Box<kube::Error>,
    },
    /// A program under test did not do what was expected.
    #[error("expected of the program, but not seen ({how}): {expected}\nIt said:\n{said}")]
    Silent {
        /// What it should have said or done.
        expected: String,
        /// How long it was waited for.
        how: String,
        /// All that it said.
        said: String,
    },
    /// Something did not get somewhere in time.
    #[error("{what} did not happen within {seconds} s")]
    Timeout {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
    },
}

impl Error {
    /// For `map_err`: the system refused this.
    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }

    /// For `map_err`: this request failed.
    pub(crate) fn request(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request {
            action,
            source: Box::new(source),
        }
    }
}
