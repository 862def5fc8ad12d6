//! The hint mode of an owner.

use slice_core::well_known;

/// The hint mode of an owner. A Service sets it by annotations and `spec.trafficDistribution`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HintMode {
    /// No hints.
    #[default]
    None,
    /// Zone hints in proportion to the CPUs of the nodes.
    Auto,
    /// Hints for the endpoint's own zone or node.
    TrafficDistribution(TrafficDistribution),
}

impl HintMode {
    /// The mode of a Service (R94, H7–H9). The annotation precedes the field, and its older key the newer one.
    ///
    /// Without `newer_values`, `PreferClose` is the only valid traffic distribution (H2).
    pub fn of<'a>(
        annotation: impl Fn(&str) -> Option<&'a str>,
        traffic_distribution: Option<&str>,
        newer_values: bool,
    ) -> Self {
        let topology = annotation(well_known::TOPOLOGY_HINTS_ANNOTATION)
            .or_else(|| annotation(well_known::TOPOLOGY_MODE_ANNOTATION));
        if matches!(topology, Some("Auto" | "auto")) {
            return Self::Auto;
        }
        traffic_distribution
            .and_then(TrafficDistribution::parse)
            .filter(|distribution| newer_values || *distribution == TrafficDistribution::PreferClose)
            .map_or(Self::None, Self::TrafficDistribution)
    }
}

/// A value of `spec.trafficDistribution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrafficDistribution {
    /// The older name of `PreferSameZone`.
    PreferClose,
    /// The same zone.
    PreferSameZone,
    /// The same node, else the same zone.
    PreferSameNode,
}

impl TrafficDistribution {
    /// The value in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreferClose => "PreferClose",
            Self::PreferSameZone => "PreferSameZone",
            Self::PreferSameNode => "PreferSameNode",
        }
    }

    /// Parses a value. An unknown one counts as unset (H3).
    fn parse(text: &str) -> Option<Self> {
        [Self::PreferClose, Self::PreferSameZone, Self::PreferSameNode]
            .into_iter()
            .find(|value| value.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: &str = well_known::TOPOLOGY_HINTS_ANNOTATION;
    const NEWER: &str = well_known::TOPOLOGY_MODE_ANNOTATION;

    fn mode(annotations: &[(&str, &'static str)], traffic_distribution: Option<&str>, newer_values: bool) -> HintMode {
        let read = |key: &str| {
            annotations
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        };
        HintMode::of(read, traffic_distribution, newer_values)
    }

    /// Only `Auto` and `auto` enable topology hints (T-UTL-47…60, T-ANN-01…19; 13…17 repeat 08…12).
    #[test]
    fn h8_annotation_enables_topology_hints_only_if_auto() {
        let cases: &[(&[(&str, &str)], HintMode)] = &[
            (&[], HintMode::None),
            (&[("topology-hints", "enabled")], HintMode::None),
            (&[(OLDER, "enabled")], HintMode::None),
            (&[(OLDER, "aUto")], HintMode::None),
            (&[(OLDER, "auto")], HintMode::Auto),
            (&[(OLDER, "Auto")], HintMode::Auto),
            (&[(OLDER, "disabled")], HintMode::None),
            (&[(NEWER, "enabled")], HintMode::None),
            (&[(NEWER, "aUto")], HintMode::None),
            (&[(NEWER, "auto")], HintMode::Auto),
            (&[(NEWER, "Auto")], HintMode::Auto),
            (&[(NEWER, "disabled")], HintMode::None),
            (&[(NEWER, "disabled"), (OLDER, "auto")], HintMode::Auto),
            (&[(NEWER, "auto"), (OLDER, "disabled")], HintMode::None),
            (&[(NEWER, "auto"), (OLDER, "")], HintMode::None),
            (&[(NEWER, "ProportionalZoneCPU")], HintMode::None),
        ];
        for (annotations, expected) in cases {
            assert_eq!(mode(annotations, None, true), *expected, "{annotations:?}");
        }
    }

    /// A known field value counts if the annotation is off (H2, H3, H9, T-RTD-02, T-RTD-03, T-RTD-05).
    #[test]
    fn h9_known_traffic_distribution_counts_if_the_annotation_is_off() {
        use TrafficDistribution::{PreferClose, PreferSameNode, PreferSameZone};
        let traffic = HintMode::TrafficDistribution;
        for (annotation, field, newer_values, expected) in [
            ("Disabled", Some("PreferClose"), true, traffic(PreferClose)),
            ("Disabled", Some("PreferClose"), false, traffic(PreferClose)),
            ("Disabled", Some("PreferSameZone"), true, traffic(PreferSameZone)),
            ("Disabled", Some("PreferSameZone"), false, HintMode::None),
            ("Disabled", Some("PreferSameNode"), true, traffic(PreferSameNode)),
            ("Disabled", Some("PreferSameNode"), false, HintMode::None),
            ("Disabled", Some("preferclose"), true, HintMode::None),
            ("Disabled", Some("Unknown"), true, HintMode::None),
            ("Auto", Some("PreferClose"), true, HintMode::Auto),
            ("", None, true, HintMode::None),
        ] {
            let read = mode(&[(NEWER, annotation)], field, newer_values);
            assert_eq!(read, expected, "{annotation:?} {field:?} {newer_values}");
        }
    }
}
