//! Reads and summarises measurements of a process.

use std::fs;

use anyhow::Context as _;
use testenv::ControllerProcess;
use tokio::time::Instant;

/// Bytes of a mebibyte.
pub(crate) const MIB: f64 = 1_048_576.0;

/// The sum of all time series of a metric. 0 if there is none.
pub(crate) fn metric(page: &str, name: &str) -> f64 {
    let lines = page.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_whole_name = rest.starts_with([' ', '{']);
        is_whole_name.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    });
    lines.sum()
}

/// The page of metrics of a controller.
pub(crate) async fn metrics(controller: &ControllerProcess) -> anyhow::Result<String> {
    Ok(controller.get("/metrics").await?.1)
}

/// The most memory that a process has had in RAM, in bytes.
pub(crate) fn peak_memory(process: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u32>().ok());
    Ok(f64::from(kilobytes.with_context(|| format!("no VmHWM in {path}"))?) * 1024.0)
}

/// The CPU time of a process, in user and in kernel mode, in seconds.
pub(crate) fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    /// Linux shows times in this unit on every machine.
    const TICKS_PER_SECOND: f64 = 100.0;
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The name of the program, in parentheses, may contain spaces. User and kernel time are the 12th and 13th field after it.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: Option<Vec<u32>> = fields.skip(11).take(2).map(|field| field.parse().ok()).collect();
    let ticks = ticks
        .filter(|ticks| ticks.len() == 2)
        .with_context(|| format!("no CPU time in {path}"))?;
    Ok(ticks.into_iter().map(f64::from).sum::<f64>() / TICKS_PER_SECOND)
}

/// The median and the minimum of some values.
pub(crate) fn median_and_minimum(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    };
    (median, values.first().copied().unwrap_or(f64::NAN))
}

/// One measurement of a running controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    at: Instant,
    /// Memory in RAM, in MiB.
    memory: f64,
    /// Requests to the API server since the start of the controller, also those without a response.
    requests: f64,
    /// Keys in the work queue.
    keys: f64,
}

impl Sample {
    /// From the metrics of a controller.
    pub(crate) fn new(page: &str) -> Self {
        Self {
            at: Instant::now(),
            memory: metric(page, "process_resident_memory_bytes") / MIB,
            requests: metric(page, "rest_client_requests_total"),
            keys: metric(page, "workqueue_depth"),
        }
    }
}

/// The median of the memory in some samples, in MiB.
pub(crate) fn median_memory(samples: &[Sample]) -> f64 {
    median_and_minimum(samples.iter().map(|sample| sample.memory)).0
}

/// The most memory in some samples, in MiB.
pub(crate) fn most_memory(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.memory).fold(0.0, f64::max)
}

/// The most keys in some samples.
pub(crate) fn most_keys(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.keys).fold(0.0, f64::max)
}

/// The most requests per second between two samples.
pub(crate) fn most_requests(samples: &[Sample]) -> f64 {
    let rates = samples.windows(2).map(|pair| {
        let [first, second] = [pair[0], pair[1]];
        (second.requests - first.requests) / (second.at - first.at).as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn series_of_a_metric_are_added() {
        let page = "# HELP a b\na{code=\"200\",method=\"GET\"} 3\na{code=\"<error>\",method=\"PUT\"} 4\nab 8\nb 1.5\n";
        assert!((metric(page, "a") - 7.0).abs() < f64::EPSILON);
        assert!((metric(page, "b") - 1.5).abs() < f64::EPSILON);
        assert!(metric(page, "c").abs() < f64::EPSILON);
    }

    #[test]
    fn median_and_minimum_of_odd_and_even_numbers() {
        assert_eq!(median_and_minimum([3.0, 1.0, 2.0]), (2.0, 1.0));
        assert_eq!(median_and_minimum([4.0, 1.0, 2.0, 3.0]), (2.5, 1.0));
    }

    #[test]
    fn figures_of_samples() {
        let start = Instant::now();
        let sample = |seconds, requests, memory| Sample {
            at: start + Duration::from_secs(seconds),
            memory,
            requests,
            keys: 9.0 - memory,
        };
        let samples = [sample(0, 10.0, 1.0), sample(2, 14.0, 3.0), sample(3, 15.0, 2.0)];
        let figures = [most_requests, most_memory, median_memory, most_keys].map(|figure| figure(&samples));
        let expected = [2.0, 3.0, 2.0, 8.0];
        assert!(
            figures
                .iter()
                .zip(expected)
                .all(|(figure, expected)| (figure - expected).abs() < 1e-9),
            "{figures:?}"
        );
    }
}
