//! Where we mean to differ from upstream (`docs/deviations.md`), told from the input of a step alone, as far as that concerns what
//! differs.

use std::num::NonZeroUsize;

use super::{
    causes::{
        changes_ports_of_both_families, exchanges_endpoints, has_endpoint_twice, has_foreign_metadata, has_hints,
        has_mirror_of_another, has_node_hint, has_node_without_zone, has_placeholder_beside_others,
        has_placeholder_of_another, has_pod_in_zone_without_nodes, has_pod_on_unknown_node, has_reserved_label,
        has_slice_above, has_slice_of_unsupported_type, has_too_many_hints_for_a_zone, has_two_ports_of_one_name,
        has_unpublishable_address, has_unpublishable_ports, is_terminating, may_repeat_creates, repeats_app_protocol,
        wants_endpoints_elsewhere,
    },
    chain::Step,
    compare::{Aspect, Difference},
    hints::is_ready,
};

/// A deviation, and what of an answer it can change.
pub(super) struct Deviation {
    pub(super) id: &'static str,
    pub(super) reaches: &'static [Aspect],
    /// Whether its cause is there.
    applies: fn(&Cause<'_>) -> bool,
}

/// A step and what came before it.
pub(super) struct Situation<'a> {
    pub(super) step: &'a Step,
    pub(super) max: NonZeroUsize,
    /// Whether the Service asked for topology hints, in this step or before.
    pub(super) auto: bool,
    /// Whether the Service had two address types, in this step or before.
    pub(super) dual_stack: bool,
}

/// Where the cause of a difference is looked for.
struct Cause<'a> {
    /// The step as far as it concerns what differs.
    step: &'a Step,
    /// With all of the step.
    now: &'a Situation<'a>,
}

/// What differs when not the same endpoints are published: upstream writes other slices, and marks them with the trigger time.
const SLICES: &[Aspect] = &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Content];

pub(super) const DEVIATIONS: [Deviation; 24] = [
    Deviation {
        id: "W10",
        reaches: &[Aspect::Error],
        applies: |cause| has_pod_on_unknown_node(cause.step),
    },
    Deviation {
        id: "W23",
        reaches: SLICES,
        applies: |cause| has_unpublishable_address(cause.step),
    },
    Deviation {
        id: "W23",
        reaches: &[Aspect::Hints, Aspect::HintBounds, Aspect::Events],
        applies: |cause| cause.now.auto && has_unpublishable_address(cause.step),
    },
    Deviation {
        id: "W24",
        reaches: &[Aspect::Metadata],
        applies: |cause| has_foreign_metadata(cause.step),
    },
    Deviation {
        id: "HD7",
        reaches: &[Aspect::Writes, Aspect::Metadata],
        applies: |cause| cause.now.auto && has_node_without_zone(cause.step),
    },
    Deviation {
        id: "HD8",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |cause| cause.now.auto && has_pod_in_zone_without_nodes(cause.step),
    },
    Deviation {
        id: "HD17",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |cause| cause.now.auto && has_too_many_hints_for_a_zone(cause.step),
    },
    Deviation {
        id: "HD9",
        reaches: &[Aspect::Events],
        applies: |cause| cause.now.auto && (cause.now.dual_stack || has_slice_of_unsupported_type(cause.step)),
    },
    Deviation {
        id: "HD1",
        reaches: &[Aspect::Content],
        applies: |cause| has_hints(cause.step, |endpoint| !is_ready(endpoint)),
    },
    Deviation {
        id: "HD6",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Content, Aspect::Hints],
        applies: |cause| cause.now.auto && has_hints(cause.step, has_node_hint),
    },
    Deviation {
        id: "W26",
        // Placeholders hold nothing.
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |cause| has_placeholder_of_another(cause.step),
    },
    Deviation {
        id: "I6",
        // Upstream also gives the trigger time to the one that it writes.
        reaches: &[Aspect::Writes, Aspect::Metadata],
        applies: |cause| has_placeholder_beside_others(cause.step),
    },
    Deviation {
        id: "D1",
        reaches: SLICES,
        applies: |cause| changes_ports_of_both_families(cause.now.step),
    },
    Deviation {
        id: "D3",
        reaches: SLICES,
        applies: |cause| has_two_ports_of_one_name(cause.step),
    },
    Deviation {
        id: "F25",
        reaches: &[
            Aspect::Writes,
            Aspect::Metadata,
            Aspect::Sizes,
            Aspect::Content,
            Aspect::LeftOut,
        ],
        applies: |cause| has_unpublishable_ports(cause.step),
    },
    Deviation {
        id: "F25",
        // Slices that stay as they are keep hints that are no longer right.
        reaches: &[Aspect::Hints, Aspect::HintBounds, Aspect::HintRules, Aspect::Events],
        applies: |cause| cause.now.auto && has_unpublishable_ports(cause.step),
    },
    Deviation {
        id: "D4",
        // With other subsets after repacking, other addresses are beyond the maximum, and counted.
        reaches: &[
            Aspect::Writes,
            Aspect::Metadata,
            Aspect::Sizes,
            Aspect::Content,
            Aspect::Events,
        ],
        applies: |cause| repeats_app_protocol(cause.step),
    },
    Deviation {
        id: "D10",
        // A slice that is written for nothing also loses what others put into its endpoints.
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Content],
        applies: |cause| has_reserved_label(cause.step),
    },
    Deviation {
        id: "I7",
        reaches: SLICES,
        applies: |cause| has_mirror_of_another(cause.step),
    },
    Deviation {
        id: "I4",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |cause| exchanges_endpoints(cause.step),
    },
    Deviation {
        id: "I4",
        reaches: SLICES,
        applies: |cause| is_terminating(cause.step) && wants_endpoints_elsewhere(cause.step),
    },
    Deviation {
        id: "D9",
        reaches: SLICES,
        applies: |cause| cause.step.endpoints.is_some() && has_endpoint_twice(cause.step),
    },
    Deviation {
        id: "I3",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Moves],
        applies: |cause| has_slice_above(cause.now.max, cause.step),
    },
    Deviation {
        id: "93374",
        reaches: &[Aspect::Repeats],
        applies: |cause| may_repeat_creates(cause.step),
    },
];

impl Deviation {
    /// The one for which something differs: its cause is in the input, as far as that concerns slices of the same type.
    pub(super) fn behind(difference: &Difference, now: &Situation<'_>) -> Option<&'static Self> {
        let address_type = difference.address_type.as_deref();
        let concerning = address_type.map(|address_type| now.step.concerning(address_type));
        let cause = Cause {
            step: concerning.as_ref().unwrap_or(now.step),
            now,
        };
        let mut reaching = DEVIATIONS
            .iter()
            .filter(|deviation| deviation.reaches.contains(&difference.aspect));
        reaching.find(|deviation| (deviation.applies)(&cause))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;

    fn step(input: &Value) -> Step {
        let mut step = json!({
            "change": "start", "existingSlices": [],
            "expect": {"creates": [], "updates": [], "deletes": [], "events": []},
        });
        step.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    /// What excuses a difference in slices of a type.
    fn excuse(step: &Step, aspect: Aspect, address_type: Option<&str>) -> Option<&'static str> {
        let difference = Difference {
            aspect,
            address_type: address_type.map(str::to_owned),
            text: String::new(),
        };
        let now = Situation {
            step,
            max: NonZeroUsize::MIN,
            auto: true,
            dual_stack: false,
        };
        Some(Deviation::behind(&difference, &now)?.id)
    }

    #[test]
    fn what_concerns_slices_of_one_type_excuses_no_others() {
        let slice = |address_type: &str, ips: &[&str]| {
            let endpoints: Vec<Value> = ips.iter().map(|ip| json!({"addresses": [ip]})).collect();
            json!({"metadata": {"name": address_type}, "addressType": address_type, "endpoints": endpoints})
        };
        let large = [slice("IPv4", &["10.0.0.1", "10.0.0.2"]), slice("IPv6", &["fd00::1"])];
        let large = step(&json!({"existingSlices": large}));
        assert_eq!(excuse(&large, Aspect::Sizes, Some("IPv4")), Some("I3"));
        assert_eq!(excuse(&large, Aspect::Sizes, Some("IPv6")), None);

        let pod = json!({
            "metadata": {"name": "a"}, "spec": {"containers": [], "nodeName": "nowhere"},
            "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
        });
        let without_zone = step(&json!({"service": {}, "pods": [pod]}));
        assert_eq!(excuse(&without_zone, Aspect::Writes, Some("IPv4")), Some("HD7"));
        assert_eq!(excuse(&without_zone, Aspect::Writes, Some("IPv6")), None);
        assert_eq!(excuse(&without_zone, Aspect::Error, None), Some("W10"));
    }

    #[test]
    fn what_is_mirrored_of_one_type_excuses_no_others() {
        let port = |number: u16| json!({"name": "p", "port": number});
        let subset = |ip: &str, ports: &[Value]| json!({"addresses": [{"ip": ip}], "ports": ports});
        let mirrored = |subsets: &[Value], existing: Value| {
            step(&json!({"endpoints": {"metadata": {"uid": "1"}, "subsets": subsets}, "existingSlices": existing}))
        };
        let twice = [
            subset("10.0.0.1", &[port(80), port(81)]),
            subset("fd00::1", &[json!({"name": "q", "port": 82})]),
        ];
        let twice = mirrored(&twice, json!([]));
        assert_eq!(excuse(&twice, Aspect::Sizes, Some("IPv4")), Some("D3"));
        assert_eq!(excuse(&twice, Aspect::Sizes, Some("IPv6")), None);

        let both = [subset("10.0.0.1", &[port(80)]), subset("fd00::1", &[port(80)])];
        let old = json!([{"metadata": {"name": "old"}, "addressType": "IPv4", "ports": [port(79)]}]);
        let both = mirrored(&both, old);
        for address_type in ["IPv4", "IPv6"] {
            assert_eq!(excuse(&both, Aspect::Sizes, Some(address_type)), Some("D1"));
        }
        assert_eq!(excuse(&both, Aspect::Repeats, None), None, "a slice was seen");
        assert_eq!(excuse(&twice, Aspect::Repeats, None), Some("93374"));
    }

    #[test]
    fn what_excuses_a_step_is_documented() {
        let documented = include_str!("../../../docs/deviations.md");
        let words: BTreeSet<&str> = documented.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        for Deviation { id, .. } in DEVIATIONS {
            assert!(words.contains(id), "{id}");
        }
    }
}
