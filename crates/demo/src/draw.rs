//! The picture on a terminal: a pure function of what is known.

use super::view::{Condition, SliceView, View, in_words};

/// What a full slice of Services holds; bars are drawn to this scale.
const FULL: usize = 100;
/// A line that is cut off says nothing.
const BAR_MIN: usize = 20;
/// Columns that a line with a bar needs besides it.
const BESIDE_BAR: usize = 26;
const LEGEND: &str = "█ ready   ▒ serving+terminating   ░ not ready   · room";

/// How an endpoint looks.
pub(super) const fn mark(condition: Condition) -> char {
    match condition {
        Condition::Ready => '█',
        Condition::Terminating => '▒',
        Condition::NotReady => '░',
    }
}

/// Draws everything into a window of this size.
pub(super) fn draw(view: &View, about: &str, (width, height): (usize, usize)) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((title, tells)) = &view.act {
        lines.push(title.clone());
        lines.push((*tells).to_owned());
        lines.push(String::new());
    }
    let bar = width.saturating_sub(BESIDE_BAR).clamp(BAR_MIN, FULL);
    for (service, slices) in view.services() {
        lines.push(heading(service, &slices));
        lines.extend(slices.into_iter().map(|slice| line(slice, bar)));
    }
    lines.extend([String::new(), LEGEND.to_owned(), String::new()]);
    lines.push(pods(view));
    lines.push(view.writes.to_string());
    lines.push(view.latency.in_words());
    lines.push(String::new());
    // The last words, as many as there is room for.
    let room = height.saturating_sub(lines.len() + 2);
    let said: Vec<&String> = view.log.iter().filter(|line| !line.is_empty()).collect();
    lines.extend(
        said[said.len().saturating_sub(room)..]
            .iter()
            .map(|line| format!("  {line}")),
    );
    lines.truncate(height.saturating_sub(2));
    lines.extend([String::new(), about.to_owned()]);
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
    match in_words(&hints) {
        hints if hints.is_empty() => format!("Service {service}{mirrored}"),
        hints => format!("Service {service}{mirrored}   hints: {hints}"),
    }
}

fn line(slice: &SliceView, width: usize) -> String {
    let SliceView { name, address_type, .. } = slice;
    let endpoints = slice.endpoints();
    format!("  {name:<12} {address_type} {endpoints:>4}  {}", bar(slice, width))
}

/// A bar with a mark for every endpoint, or for several: then what is there in small numbers still shows.
fn bar(slice: &SliceView, width: usize) -> String {
    let cells = |condition| (slice.count(condition) * width).div_ceil(FULL);
    let few = [Condition::Terminating, Condition::NotReady].map(|condition| (condition, cells(condition)));
    let rest = width.saturating_sub(few.iter().map(|(_, cells)| cells).sum());
    let ready = (Condition::Ready, cells(Condition::Ready).min(rest));
    let cells = [ready].into_iter().chain(few);
    let marks = cells.flat_map(|(condition, cells)| std::iter::repeat_n(mark(condition), cells));
    marks.chain(std::iter::repeat('·')).take(width).collect()
}

fn pods(view: &View) -> String {
    let count = |is: fn(&super::view::PodView) -> bool| view.pods.values().filter(|pod| is(pod)).count();
    format!(
        "pods: {} ready, {} not ready, {} on their way out",
        count(|pod| pod.ready && !pod.leaving),
        count(|pod| !pod.ready && !pod.leaving),
        count(|pod| pod.leaving)
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
            // One of a hundred shows.
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
    fn everything_is_in_the_picture() {
        let mut view = View::default();
        view.begin("act 3 of 8".to_owned(), "something happens");
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
        view.say("the end");
        let expected = [
            "act 3 of 8",
            "something happens",
            "",
            "Service db (mirrored)",
            "  db-x         IPv4    1  █···················",
            "Service web   hints: zone-a 97, zone-b 1",
            "  web-a        IPv4  100  ███████████████████▒",
            "  web-b        IPv4   10  █░░·················",
            "",
            "█ ready   ▒ serving+terminating   ░ not ready ",
            "",
            "pods: 0 ready, 0 not ready, 0 on their way out",
            "writes: 0 (0 created, 0 updated, 0 deleted)",
            "pod changed → slice written: median –, 99 % wi",
            "",
            "  act 3 of 8: something happens",
            "  the end",
            "",
            "about",
        ];
        assert_eq!(draw(&view, "about", (46, 19)), expected);
    }

    #[test]
    fn a_small_window_is_never_overrun_and_shows_what_was_said_last() {
        let mut view = View::default();
        (0..50).for_each(|number| view.say(format!("line {number}")));
        let lines = draw(&view, "about", (80, 15));
        assert_eq!(lines.len(), 15);
        assert_eq!(lines[12], "  line 49");
        assert_eq!(draw(&view, "about", (10, 3)).len(), 3);
    }
}
