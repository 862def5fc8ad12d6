//! Shared by the unit tests of several modules.

use std::{
    io,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
};

use tracing::{Dispatch, Subscriber};
use tracing_subscriber::fmt::MakeWriter;

/// While there is a single subscriber, tracing caches for all threads whether the thread that registers a callsite has it: tests
/// in parallel would disable each other's lines. This one is never dropped.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| {
    let discarded = tracing_subscriber::fmt().with_writer(io::sink).finish();
    Dispatch::new(discarded)
});

/// Collects log lines. Run the code under test once before a subscriber is set, which registers its callsites: one that another
/// test registers meanwhile could miss the subscriber.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap()
    }

    /// Writes all lines of level INFO and above to this log.
    pub(crate) fn subscriber(&self) -> impl Subscriber + Send + Sync {
        LazyLock::force(&SECOND);
        tracing_subscriber::fmt()
            .with_writer(self.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .finish()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8(self.lock().clone())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
