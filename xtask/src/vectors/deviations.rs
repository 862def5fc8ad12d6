//! Where we mean to differ from upstream (`docs/deviations.md`), told from the input of a step alone.

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
    applies: fn(&Situation<'_>) -> bool,
}

/// A step and what came before it.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    /// As far as it concerns what differs.
    pub(super) step: &'a Step,
    /// All of it.
    pub(super) whole: &'a Step,
    pub(super) max: NonZeroUsize,
    /// Whether the Service asked for topology hints, in this step or before.
    pub(super) auto: bool,
    /// Whether the Service had two address types, in this step or before.
    pub(super) dual_stack: bool,
}

/// What differs when not the same endpoints are published: upstream writes other slices, and marks them with the trigger time.
const SLICES: &[Aspect] = &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Content];

pub(super) const DEVIATIONS: [Deviation; 24] = [
    Deviation {
        id: "W10",
        reaches: &[Aspect::Error],
        applies: |now| has_pod_on_unknown_node(now.step),
    },
    Deviation {
        id: "W23",
        reaches: SLICES,
        applies: |now| has_unpublishable_address(now.step),
    },
    Deviation {
        id: "W23",
        reaches: &[Aspect::Hints, Aspect::HintBounds, Aspect::Events],
        applies: |now| now.auto && has_unpublishable_address(now.step),
    },
    Deviation {
        id: "W24",
        reaches: &[Aspect::Metadata],
        applies: |now| has_foreign_metadata(now.step),
    },
    Deviation {
        id: "HD7",
        reaches: &[Aspect::Writes, Aspect::Metadata],
        applies: |now| now.auto && has_node_without_zone(now.step),
    },
    Deviation {
        id: "HD8",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |now| now.auto && has_pod_in_zone_without_nodes(now.step),
    },
    Deviation {
        id: "HD17",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Hints],
        applies: |now| now.auto && has_too_many_hints_for_a_zone(now.step),
    },
    Deviation {
        id: "HD9",
        reaches: &[Aspect::Events],
        applies: |now| now.auto && (now.dual_stack || has_slice_of_unsupported_type(now.step)),
    },
    Deviation {
        id: "HD1",
        reaches: &[Aspect::Content],
        applies: |now| has_hints(now.step, |endpoint| !is_ready(endpoint)),
    },
    Deviation {
        id: "HD6",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Content, Aspect::Hints],
        applies: |now| now.auto && has_hints(now.step, has_node_hint),
    },
    Deviation {
        id: "W26",
        // Placeholders hold nothing.
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |now| has_placeholder_of_another(now.step),
    },
    Deviation {
        id: "I6",
        // Upstream also gives the trigger time to the one that it writes.
        reaches: &[Aspect::Writes, Aspect::Metadata],
        applies: |now| has_placeholder_beside_others(now.step),
    },
    Deviation {
        id: "D1",
        reaches: SLICES,
        applies: |now| changes_ports_of_both_families(now.whole),
    },
    Deviation {
        id: "D3",
        reaches: SLICES,
        applies: |now| has_two_ports_of_one_name(now.step),
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
        applies: |now| has_unpublishable_ports(now.step),
    },
    Deviation {
        id: "F25",
        // Slices that stay as they are keep hints that are no longer right.
        reaches: &[Aspect::Hints, Aspect::HintBounds, Aspect::HintRules, Aspect::Events],
        applies: |now| now.auto && has_unpublishable_ports(now.step),
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
        applies: |now| repeats_app_protocol(now.step),
    },
    Deviation {
        id: "D10",
        // A slice that is written for nothing also loses what others put into its endpoints.
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Content],
        applies: |now| has_reserved_label(now.step),
    },
    Deviation {
        id: "I7",
        reaches: SLICES,
        applies: |now| has_mirror_of_another(now.step),
    },
    Deviation {
        id: "I4",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes],
        applies: |now| exchanges_endpoints(now.step),
    },
    Deviation {
        id: "I4",
        reaches: SLICES,
        applies: |now| is_terminating(now.step) && wants_endpoints_elsewhere(now.step),
    },
    Deviation {
        id: "D9",
        reaches: SLICES,
        applies: |now| now.step.endpoints.is_some() && has_endpoint_twice(now.step),
    },
    Deviation {
        id: "I3",
        reaches: &[Aspect::Writes, Aspect::Metadata, Aspect::Sizes, Aspect::Moves],
        applies: |now| has_slice_above(now.max, now.step),
    },
    Deviation {
        id: "93374",
        reaches: &[Aspect::Repeats],
        applies: |now| may_repeat_creates(now.step),
    },
];

impl Deviation {
    /// The one for which something differs: its cause is in the input, as far as that concerns slices of the same type.
    pub(super) fn behind(difference: &Difference, now: &Situation<'_>) -> Option<&'static Self> {
        let concerning = difference
            .address_type
            .as_deref()
            .map(|address_type| now.whole.concerning(address_type));
        let now = Situation {
            step: concerning.as_ref().unwrap_or(now.whole),
            ..*now
        };
        let mut reaching = DEVIATIONS
            .iter()
            .filter(|deviation| deviation.reaches.contains(&difference.aspect));
        reaching.find(|deviation| (deviation.applies)(&now))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_excuses_a_step_is_documented() {
        let documented = include_str!("../../../docs/deviations.md");
        let words: BTreeSet<&str> = documented.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        for Deviation { id, .. } in DEVIATIONS {
            assert!(words.contains(id), "{id}");
        }
    }
}
