//! The metrics of the process, under the names that Prometheus clients use.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};
use slice_controller::{Measurement, MetricKind, MetricSpec};

use super::exposition::Exposition;

pub(super) static PROCESS_METRICS: [&MetricSpec; 5] =
    [&CPU_SECONDS, &RESIDENT_MEMORY, &OPEN_FDS, &MAX_FDS, &START_TIME];

static CPU_SECONDS: MetricSpec = MetricSpec {
    name: "cpu_seconds_total",
    help: "CPU time of the process, in user and in kernel mode",
    kind: MetricKind::Counter,
    labels: &[],
};
static RESIDENT_MEMORY: MetricSpec = MetricSpec {
    name: "resident_memory_bytes",
    help: "Memory of the process that is in RAM",
    kind: MetricKind::Gauge,
    labels: &[],
};
static OPEN_FDS: MetricSpec = MetricSpec {
    name: "open_fds",
    help: "File descriptors that the process has open",
    kind: MetricKind::Gauge,
    labels: &[],
};
static MAX_FDS: MetricSpec = MetricSpec {
    name: "max_fds",
    help: "File descriptors that the process may have open",
    kind: MetricKind::Gauge,
    labels: &[],
};
static START_TIME: MetricSpec = MetricSpec {
    name: "start_time_seconds",
    help: "When the process started, in seconds since 1970",
    kind: MetricKind::Gauge,
    labels: &[],
};

/// The metrics of the process, read when they are written.
#[derive(Debug)]
pub(super) struct ProcessMetrics {
    started_at: SystemTime,
}

impl ProcessMetrics {
    /// Called at the start of the process.
    pub(super) fn new() -> Self {
        Self {
            started_at: SystemTime::now(),
        }
    }

    /// Appends those that the platform has.
    pub(super) fn write(&self, page: &mut String) {
        let values = [
            (&CPU_SECONDS, Some(cpu_seconds())),
            (&RESIDENT_MEMORY, resident_memory()),
            (&OPEN_FDS, open_fds()),
            (&MAX_FDS, getrlimit(Resource::Nofile).current.map(to_f64)),
            (&START_TIME, self.start_time()),
        ];
        let exposition = Exposition::new("process", []);
        for (metric, value) in values {
            if let Some(value) = value {
                exposition.register(&[metric]);
                exposition.apply([Measurement::new(metric, &[], value)]);
            }
        }
        exposition.write(page);
    }

    fn start_time(&self) -> Option<f64> {
        let since_epoch = self.started_at.duration_since(UNIX_EPOCH).ok()?;
        Some(since_epoch.as_secs_f64())
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let [seconds, nanoseconds] = [time.tv_sec, time.tv_nsec].map(|part| to_f64(part.unsigned_abs()));
    seconds + nanoseconds / 1e9
}

/// From the line `VmRSS:   1234 kB`, which is in no other unit.
fn resident_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(to_f64(kilobytes) * 1024.0)
}

/// The directory that is being read is one of them.
fn open_fds() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    u64::try_from(count).ok().map(to_f64)
}

#[expect(clippy::cast_precision_loss, reason = "the values are far below 2^53")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn process_metrics_have_plausible_values() {
        let mut page = String::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        ProcessMetrics::new().write(&mut page);
        let value = |name: &str| {
            let line = page
                .lines()
                .find_map(|line| line.strip_prefix(&format!("process_{name} ")));
            line.unwrap_or_else(|| panic!("{name} is missing in {page}"))
                .parse::<f64>()
                .unwrap()
        };
        assert!(value("cpu_seconds_total") > 0.0, "{page}");
        assert!(value("resident_memory_bytes") > 100_000.0, "{page}");
        assert!(
            value("open_fds") >= 3.0 && value("max_fds") >= value("open_fds"),
            "{page}"
        );
        assert!((value("start_time_seconds") - now).abs() < 60.0, "{page}");
        assert!(page.contains("# TYPE process_cpu_seconds_total counter\n"), "{page}");
    }
}
