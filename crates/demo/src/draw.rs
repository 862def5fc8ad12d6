//! Renders the full-screen view: a pure function of the [`View`].

use super::view::{Condition, SliceView, View, format_counts};

/// Maximum endpoints of a slice; the scale of the bars.
const SLICE_CAPACITY: usize = 100;
/// Minimum width of a bar; in a narrower window, lines are truncated.
const BAR_WIDTH_MIN: usize = 20;
/// Columns of a slice's line before the bar.
const LABEL_WIDTH: usize = 26;
const LEGEND: &str = "█ ready   ▒ serving+terminating   ░ not ready   · free";

/// The character of an endpoint in a bar.
pub(super) const fn symbol(condition: Condition) -> char {
    match condition {
        Condition::Ready => '█',
        Condition::Terminating => '▒',
        Condition::NotReady => '░',
    }
}

/// Renders the view into a window of this size. `footer` is the last line.
pub(super) fn draw(view: &View, footer: &str, (width, height): (usize, usize)) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((title, description)) = &view.act {
        lines.push(title.clone());
        lines.push((*description).to_owned());
        lines.push(String::new());
    }
    let bar = width.saturating_sub(LABEL_WIDTH).clamp(BAR_WIDTH_MIN, SLICE_CAPACITY);
    for (service, slices) in view.services() {
        lines.push(heading(service, &slices));
        lines.extend(slices.into_iter().map(|slice| slice_line(slice, bar)));
    }
    lines.extend([String::new(), LEGEND.to_owned(), String::new()]);
    lines.push(pod_line(view));
    lines.push(view.writes.to_string());
    lines.push(view.latency.summary());
    lines.push(String::new());
    // The last log lines that fit.
    let free = height.saturating_sub(lines.len() + 2);
    let log: Vec<&String> = view.log.iter().filter(|line| !line.is_empty()).collect();
    lines.extend(
        log[log.len().saturating_sub(free)..]
            .iter()
            .map(|line| format!("  {line}")),
    );
    lines.truncate(height.saturating_sub(2));
    lines.extend([String::new(), footer.to_owned()]);
    lines.iter().map(|line| line.chars().take(width).collect()).collect()
}

fn heading(service: &str, slices: &[&SliceView]) -> String {
    let mut hints = std::collections::BTreeMap::new();
    for (zone, count) in slices.iter().flat_map(|slice| &slice.hints) {
        *hints.entry(zone.clone()).or_default() += count;
    }
    let mirrored = if slices.iter().any(|slice| slice.is_mirrored) {
        " (mirrored)"
    } else {
        ""
    };
    match format_counts(&hints) {
        hints if hints.is_empty() => format!("Service {service}{mirrored}"),
        hints => format!("Service {service}{mirrored}   hints: {hints}"),
    }
}

fn slice_line(slice: &SliceView, width: usize) -> String {
    let SliceView { name, address_type, .. } = slice;
    let endpoints = slice.endpoints();
    format!("  {name:<12} {address_type} {endpoints:>4}  {}", bar(slice, width))
}

/// The bar of a slice. In a narrow window a cell stands for several endpoints; terminating and not ready ones get at least one.
fn bar(slice: &SliceView, width: usize) -> String {
    let cells = |condition| (slice.count(condition) * width).div_ceil(SLICE_CAPACITY);
    let minor = [Condition::Terminating, Condition::NotReady].map(|condition| (condition, cells(condition)));
    let remaining = width.saturating_sub(minor.iter().map(|(_, cells)| cells).sum());
    let ready = (Condition::Ready, cells(Condition::Ready).min(remaining));
    let cells = [ready].into_iter().chain(minor);
    let symbols = cells.flat_map(|(condition, cells)| std::iter::repeat_n(symbol(condition), cells));
    symbols.chain(std::iter::repeat('·')).take(width).collect()
}

fn pod_line(view: &View) -> String {
    let count = |is: fn(&super::view::PodView) -> bool| view.pods.values().filter(|pod| is(pod)).count();
    format!(
        "pods: {} ready, {} not ready, {} terminating",
        count(|pod| pod.ready && !pod.terminating),
        count(|pod| !pod.ready && !pod.terminating),
        count(|pod| pod.terminating)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, counts: [usize; 3]) -> SliceView {
        SliceView {
            name: name.to_owned(),
            service: "web".to_owned(),
            address_type: "IPv4".to_owned(),
            counts: Condition::ALL
                .into_iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .collect(),
            ..SliceView::default()
        }
    }

    #[test]
    fn bars_are_to_scale() {
        let cases = [
            ([0, 0, 0], 20, "····················"),
            ([100, 0, 0], 20, "████████████████████"),
            ([50, 10, 20], 20, "██████████▒▒░░░░····"),
            // One of a hundred endpoints is visible.
            ([50, 1, 1], 20, "██████████▒░········"),
            ([98, 1, 1], 20, "██████████████████▒░"),
            ([3, 2, 1], 100, "███▒▒░"),
        ];
        for (counts, width, begin) in cases {
            let bar = bar(&slice("web-a", counts), width);
            assert!(bar.starts_with(begin), "{bar}");
            assert_eq!(bar.chars().count(), width, "{bar}");
        }
    }

    #[test]
    fn the_screen_shows_act_slices_counters_and_log() {
        let mut view = View::default();
        view.begin_act("act 3 of 8".to_owned(), "something changes");
        let mut second = slice("web-b", [3, 0, 7]);
        second.hints = [("zone-a".to_owned(), 2), ("zone-b".to_owned(), 1)].into();
        let mut first = slice("web-a", [95, 5, 0]);
        first.hints = [("zone-a".to_owned(), 95)].into();
        let mirrored = SliceView {
            service: "db".to_owned(),
            is_mirrored: true,
            ..slice("db-x", [1, 0, 0])
        };
        for slice in [first, second, mirrored] {
            view.slices.insert(slice.name.clone(), slice);
        }
        view.log_line("the end");
        let expected = [
            "act 3 of 8",
            "something changes",
            "",
            "Service db (mirrored)",
            "  db-x         IPv4    1  █···················",
            "Service web   hints: zone-a 97, zone-b 1",
            "  web-a        IPv4  100  ███████████████████▒",
            "  web-b        IPv4   10  █░░·················",
            "",
            "█ ready   ▒ serving+terminating   ░ not ready ",
            "",
            "pods: 0 ready, 0 not ready, 0 terminating",
            "writes: 0 (0 created, 0 updated, 0 deleted)",
            "pod changed → slice written: median –, 99 % wi",
            "",
            "  act 3 of 8: something changes",
            "  the end",
            "",
            "footer",
        ];
        assert_eq!(draw(&view, "footer", (46, 19)), expected);
    }

    #[test]
    fn a_small_window_shows_the_last_log_lines() {
        let mut view = View::default();
        (0..50).for_each(|number| view.log_line(format!("line {number}")));
        let lines = draw(&view, "footer", (80, 15));
        assert_eq!(lines.len(), 15);
        assert_eq!(lines[12], "  line 49");
        assert_eq!(draw(&view, "footer", (10, 3)).len(), 3);
    }
}
