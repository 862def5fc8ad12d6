//! Compares the metrics of a program with docs/reference/metrics.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::error::Error;

#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: String,
    /// None without time series.
    labels: Option<BTreeSet<String>>,
}

type Families = BTreeMap<String, Family>;

/// How the page `/metrics` of a program differs from its section of the reference: families that only one of them has, and those
/// of another type, with another help text or other labels. A family with labels may be missing on the page.
pub fn metric_differences(program: &str, page: &str) -> Result<Vec<String>, Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let reference = std::fs::read_to_string(&path).map_err(Error::system(format!("read {}", path.display())))?;
    Ok(differences(&documented(&reference, program), &exposed(page)))
}

fn differences(documented: &Families, exposed: &Families) -> Vec<String> {
    let names: BTreeSet<&String> = documented.keys().chain(exposed.keys()).collect();
    let difference = |name: &String| match (documented.get(name), exposed.get(name)) {
        // A family with labels appears with its first time series.
        (Some(documented), None) if documented.labels.as_ref().is_some_and(|labels| !labels.is_empty()) => None,
        (Some(_), None) => Some(format!("{name} is documented and not exposed")),
        (None, Some(_)) => Some(format!("{name} is exposed and not documented")),
        (Some(documented), Some(exposed)) => {
            let same = documented.kind == exposed.kind && documented.help == exposed.help;
            let same_labels = exposed.labels.is_none() || documented.labels == exposed.labels;
            (!same || !same_labels).then(|| format!("{name}: {documented:?} is documented, {exposed:?} exposed"))
        }
        (None, None) => None,
    };
    names.into_iter().filter_map(difference).collect()
}

/// The rows of a program's section.
fn documented(reference: &str, program: &str) -> Families {
    let lines = reference.lines().skip_while(|line| *line != format!("## {program}"));
    let lines = lines.skip(1).take_while(|line| !line.starts_with("## "));
    let rows = lines.filter_map(|line| {
        let cells = line.strip_prefix("| `")?.strip_suffix(" |")?;
        let mut cells = cells.splitn(4, " | ");
        let name = cells.next()?.trim_end_matches('`');
        let (kind, labels, help) = (cells.next()?, cells.next()?, cells.next()?);
        let labels = labels.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let family = Family {
            kind: kind.to_owned(),
            help: help.to_owned(),
            labels: Some(labels),
        };
        Some((name.to_owned(), family))
    });
    rows.collect()
}

/// The families of a page in the text format.
fn exposed(page: &str) -> Families {
    let mut families = Families::new();
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
            help.clone_into(&mut families.entry(name.to_owned()).or_default().help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            kind.clone_into(&mut families.entry(name.to_owned()).or_default().kind);
        } else if let Some((name, labels)) = series(line) {
            let of_histogram = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            let is_histogram = |name: &&str| families.get(*name).is_some_and(|family| family.kind == "histogram");
            let name = of_histogram.filter(is_histogram).unwrap_or(name);
            let family = families.entry(name.to_owned()).or_default();
            let labels = labels.into_iter().filter(|label| label != "le");
            family.labels.get_or_insert_default().extend(labels);
        }
    }
    families
}

/// The name and the names of the labels in a line with a value, such as `requests{code="200"} 1`.
fn series(line: &str) -> Option<(&str, Vec<String>)> {
    let (series, _) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let Some((name, labels)) = series.split_once('{') else {
        return Some((series, Vec::new()));
    };
    // A name ends before each value; no value contains a quotation mark.
    let names = labels.split('"').step_by(2).filter_map(|part| part.strip_suffix('='));
    Some((
        name,
        names.map(|name| name.trim_start_matches(',').to_owned()).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP a_total Number of a\n# TYPE a_total counter\na_total{code=\"200\",method=\"GET\"} 1\n\
                        # HELP b Time of b\n# TYPE b histogram\nb_sum 1\nb_bucket{le=\"+Inf\"} 1\n";

    fn found(rows: &str) -> Vec<String> {
        let reference =
            format!("## other\n| `x` | gauge |  | X |\n## program\n{rows}## last\n| `y` | gauge |  | Y |\n");
        differences(&documented(&reference, "program"), &exposed(PAGE))
    }

    #[test]
    fn differences_in_both_directions_are_found() {
        let row = "| `a_total` | counter | `code`, `method` | Number of a |\n";
        assert_eq!(found(&format!("{row}| `b` | histogram |  | Time of b |\n")), [""; 0]);
        assert_eq!(found(row), ["b is exposed and not documented"]);
        let differing = [
            "| `b` | gauge |  | Time of b |\n",
            "| `b` | histogram | `le` | Time of b |\n",
            "| `b` | histogram |  | b |\n",
        ];
        for other in differing {
            assert_eq!(found(&format!("{row}{other}")).len(), 1, "{other}");
        }
        let missing =
            format!("{row}| `b` | histogram |  | Time of b |\n| `c` | gauge |  | C |\n| `d` | gauge | `e` | D |\n");
        assert_eq!(found(&missing), ["c is documented and not exposed"]);
    }
}
