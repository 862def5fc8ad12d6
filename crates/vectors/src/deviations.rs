//! Intended differences from upstream (`docs/deviations.md`). Each has a cause, found in the input of a step alone.

use std::num::NonZeroUsize;

use super::{
    causes::{
        changes_ports_of_both_families, exchanges_endpoints, has_duplicate_endpoint, has_foreign_metadata, has_hints,
        has_invalid_address, has_invalid_ports, has_mirror_of_another, has_node_hint, has_node_without_zone,
        has_placeholder_beside_others, has_placeholder_of_another, has_pod_in_zone_without_nodes,
        has_pod_on_unknown_node, has_reserved_label, has_slice_above, has_slice_of_unsupported_type,
        has_too_many_hints_for_a_zone, has_two_ports_of_one_name, is_terminating, may_repeat_creates,
        moves_endpoints_between_ports, repeats_app_protocol,
    },
    chain::Step,
    compare::{Aspect, Difference},
    hints::is_ready,
};

/// A deviation, and the aspects of a result that it can change.
pub(super) struct Deviation {
    pub(super) id: &'static str,
    pub(super) affects: &'static [Aspect],
    /// Whether the input contains its cause.
    applies: fn(&DeviationInput<'_>) -> bool,
}

/// A step, with state from earlier steps of the chain.
pub(super) struct StepContext<'a> {
    pub(super) step: &'a Step,
    pub(super) max: NonZeroUsize,
    /// Whether the Service had topology mode Auto, in this step or before.
    pub(super) auto: bool,
    /// Whether the Service had two address types, in this step or before.
    pub(super) dual_stack: bool,
}

/// Input in which the cause of a difference is searched.
struct DeviationInput<'a> {
    /// The step, restricted to the address type of the difference.
    step: &'a Step,
    /// The complete step.
    context: &'a StepContext<'a>,
}

/// Aspects that differ if other endpoints are published: upstream writes other slices, with the trigger time.
const SLICES: &[Aspect] = &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Content];

pub(super) const DEVIATIONS: [Deviation; 24] = [
    Deviation {
        id: "W10",
        affects: &[Aspect::Error],
        applies: |input| has_pod_on_unknown_node(input.step),
    },
    Deviation {
        id: "W23",
        affects: SLICES,
        applies: |input| has_invalid_address(input.step),
    },
    Deviation {
        id: "W23",
        affects: &[Aspect::Hints, Aspect::HintBounds, Aspect::Events],
        applies: |input| input.context.auto && has_invalid_address(input.step),
    },
    Deviation {
        id: "W24",
        affects: &[Aspect::Metadata],
        applies: |input| has_foreign_metadata(input.step),
    },
    Deviation {
        id: "HD7",
        affects: &[Aspect::Writes, Aspect::Metadata],
        applies: |input| input.context.auto && has_node_without_zone(input.step),
    },
    Deviation {
        id: "HD8",
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |input| input.context.auto && has_pod_in_zone_without_nodes(input.step),
    },
    Deviation {
        id: "HD17",
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |input| input.context.auto && has_too_many_hints_for_a_zone(input.step),
    },
    Deviation {
        id: "HD9",
        affects: &[Aspect::Events],
        applies: |input| input.context.auto && (input.context.dual_stack || has_slice_of_unsupported_type(input.step)),
    },
    Deviation {
        id: "HD1",
        affects: &[Aspect::Content],
        applies: |input| has_hints(input.step, |endpoint| !is_ready(endpoint)),
    },
    Deviation {
        id: "HD6",
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Content, Aspect::Hints],
        applies: |input| input.context.auto && has_hints(input.step, has_node_hint),
    },
    Deviation {
        id: "W26",
        // Placeholders have no endpoints.
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |input| has_placeholder_of_another(input.step),
    },
    Deviation {
        id: "I6",
        // Upstream also sets the trigger time of the placeholder.
        affects: &[Aspect::Writes, Aspect::Metadata],
        applies: |input| has_placeholder_beside_others(input.step),
    },
    Deviation {
        id: "D1",
        affects: SLICES,
        applies: |input| changes_ports_of_both_families(input.context.step),
    },
    Deviation {
        id: "D3",
        affects: SLICES,
        applies: |input| has_two_ports_of_one_name(input.step),
    },
    Deviation {
        id: "F25",
        affects: &[
            Aspect::Writes,
            Aspect::Metadata,
            Aspect::Sizes,
            Aspect::Content,
            Aspect::Rejections,
        ],
        applies: |input| has_invalid_ports(input.step),
    },
    Deviation {
        id: "F25",
        // Slices that are not rewritten keep outdated hints.
        affects: &[Aspect::Hints, Aspect::HintBounds, Aspect::HintRules, Aspect::Events],
        applies: |input| input.context.auto && has_invalid_ports(input.step),
    },
    Deviation {
        id: "D4",
        // Repacking into other subsets changes which addresses exceed the maximum, and their number.
        affects: &[
            Aspect::Writes,
            Aspect::Metadata,
            Aspect::Sizes,
            Aspect::Content,
            Aspect::Events,
        ],
        applies: |input| repeats_app_protocol(input.step),
    },
    Deviation {
        id: "D10",
        // A needless write also removes endpoint fields of other clients.
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Content],
        applies: |input| has_reserved_label(input.step),
    },
    Deviation {
        id: "I7",
        affects: SLICES,
        applies: |input| has_mirror_of_another(input.step),
    },
    Deviation {
        id: "I4",
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |input| exchanges_endpoints(input.step),
    },
    Deviation {
        id: "I4",
        affects: SLICES,
        applies: |input| is_terminating(input.step) && moves_endpoints_between_ports(input.step),
    },
    Deviation {
        id: "D9",
        affects: SLICES,
        applies: |input| input.step.endpoints.is_some() && has_duplicate_endpoint(input.step),
    },
    Deviation {
        id: "I3",
        affects: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Moves],
        applies: |input| has_slice_above(input.context.max, input.step),
    },
    Deviation {
        id: "93374",
        affects: &[Aspect::RepeatedCreates],
        applies: |input| may_repeat_creates(input.step),
    },
];

impl Deviation {
    /// The deviation that explains a difference: it affects the aspect, and its cause is in the input of the same address type.
    pub(super) fn explaining(difference: &Difference, context: &StepContext<'_>) -> Option<&'static Self> {
        let address_type = difference.address_type.as_deref();
        let restricted = address_type.map(|address_type| context.step.restricted_to(address_type));
        let input = DeviationInput {
            step: restricted.as_ref().unwrap_or(context.step),
            context,
        };
        let mut candidates = DEVIATIONS
            .iter()
            .filter(|deviation| deviation.affects.contains(&difference.aspect));
        candidates.find(|deviation| (deviation.applies)(&input))
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

    /// Id of the deviation that explains a difference in slices of a type.
    fn explaining(step: &Step, aspect: Aspect, address_type: Option<&str>) -> Option<&'static str> {
        let difference = Difference {
            aspect,
            address_type: address_type.map(str::to_owned),
            text: String::new(),
        };
        let context = StepContext {
            step,
            max: NonZeroUsize::MIN,
            auto: true,
            dual_stack: false,
        };
        Some(Deviation::explaining(&difference, &context)?.id)
    }

    #[test]
    fn cause_of_one_address_type_explains_no_other_type() {
        let slice = |address_type: &str, ips: &[&str]| {
            let endpoints: Vec<Value> = ips.iter().map(|ip| json!({"addresses": [ip]})).collect();
            json!({"metadata": {"name": address_type}, "addressType": address_type, "endpoints": endpoints})
        };
        let large = [slice("IPv4", &["10.0.0.1", "10.0.0.2"]), slice("IPv6", &["fd00::1"])];
        let large = step(&json!({"existingSlices": large}));
        assert_eq!(explaining(&large, Aspect::Sizes, Some("IPv4")), Some("I3"));
        assert_eq!(explaining(&large, Aspect::Sizes, Some("IPv6")), None);

        let pod = json!({
            "metadata": {"name": "a"}, "spec": {"containers": [], "nodeName": "unknown"},
            "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
        });
        let without_zone = step(&json!({"service": {}, "pods": [pod]}));
        assert_eq!(explaining(&without_zone, Aspect::Writes, Some("IPv4")), Some("HD7"));
        assert_eq!(explaining(&without_zone, Aspect::Writes, Some("IPv6")), None);
        assert_eq!(explaining(&without_zone, Aspect::Error, None), Some("W10"));
    }

    #[test]
    fn mirrored_cause_of_one_address_type_explains_no_other_type() {
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
        assert_eq!(explaining(&twice, Aspect::Sizes, Some("IPv4")), Some("D3"));
        assert_eq!(explaining(&twice, Aspect::Sizes, Some("IPv6")), None);

        let both = [subset("10.0.0.1", &[port(80)]), subset("fd00::1", &[port(80)])];
        let old = json!([{"metadata": {"name": "old"}, "addressType": "IPv4", "ports": [port(79)]}]);
        let both = mirrored(&both, old);
        for address_type in ["IPv4", "IPv6"] {
            assert_eq!(explaining(&both, Aspect::Sizes, Some(address_type)), Some("D1"));
        }
        assert_eq!(
            explaining(&both, Aspect::RepeatedCreates, None),
            None,
            "there was a slice before"
        );
        assert_eq!(explaining(&twice, Aspect::RepeatedCreates, None), Some("93374"));
    }

    #[test]
    fn deviations_are_documented() {
        let documented = include_str!("../../../docs/deviations.md");
        let words: BTreeSet<&str> = documented.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        for Deviation { id, .. } in DEVIATIONS {
            assert!(words.contains(id), "{id}");
        }
    }
}
