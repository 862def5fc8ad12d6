//! Moves of endpoints between zones, as counts.

/// Number of endpoints moved out of (`give`) and into (`receive`) each zone, by zone index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moves {
    pub(super) give: Vec<usize>,
    /// The sum equals the sum of `give` plus the number of unassigned endpoints.
    pub(super) receive: Vec<usize>,
}

/// Reduces the difference between `current` and `target` (H48–H51): moves endpoints from the zone with the greatest surplus to
/// the zone with the greatest deficit, while one of both is at least 1 and the other at least 0.5. Ties: the lowest index.
///
/// `unassigned` are endpoints in zones without nodes, where no client would use them. They go first to the zones with the
/// greatest deficit, even if the deficit is below these thresholds (HD8).
pub(super) fn balance(target: &[f64], current: &[f64], unassigned: usize) -> Moves {
    let (mut give, mut receive) = (vec![0; target.len()], vec![0; target.len()]);
    let zones = target.iter().zip(current);
    let mut need: Vec<f64> = zones.map(|(target, current)| target - current).collect();
    for _ in 0..unassigned {
        if let Some((to, _)) = greatest(&need) {
            receive[to] += 1;
            need[to] -= 1.0;
        }
    }
    let mut surplus: Vec<f64> = need.iter().map(|need| -need).collect();
    while let Some(((from, excess), (to, lack))) = greatest(&surplus).zip(greatest(&need)) {
        if excess < 0.5 || lack < 0.5 || (excess < 1.0 && lack < 1.0) {
            break;
        }
        give[from] += 1;
        surplus[from] -= 1.0;
        receive[to] += 1;
        need[to] -= 1.0;
    }
    Moves { give, receive }
}

/// The first of the greatest values and its index.
fn greatest(values: &[f64]) -> Option<(usize, f64)> {
    let indexed = values.iter().copied().enumerate();
    indexed.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(give: &[usize], receive: &[usize]) -> Moves {
        Moves {
            give: give.into(),
            receive: receive.into(),
        }
    }

    /// Endpoints move from surplus to need (H48, H50, T-GR-01…09, T-TOP-20…28).
    #[test]
    fn h49_moves_go_from_surplus_to_need() {
        let nothing = || moves(&[0, 0, 0], &[0, 0, 0]);
        for (id, target, current, expected) in [
            ("02", [1.2, 1.1, 1.0], [1.0, 1.0, 1.0], nothing()),
            ("03", [5.1, 5.1, 5.8], [16.0, 0.0, 0.0], moves(&[10, 0, 0], &[0, 5, 5])),
            ("04", [5.0, 5.6, 5.4], [16.0, 0.0, 0.0], moves(&[11, 0, 0], &[0, 6, 5])),
            ("05", [5.0, 5.6, 5.4], [0.0, 8.0, 8.0], moves(&[0, 2, 3], &[5, 0, 0])),
            ("06", [5.0; 3], [6.0; 3], nothing()),
            ("07", [-5.0; 3], [6.0; 3], nothing()),
            ("08", [5.0; 3], [-4.0, -3.0, -2.0], nothing()),
            ("09", [5.0; 3], [-40.0, 20.0, 20.0], moves(&[0, 15, 15], &[30, 0, 0])),
        ] {
            assert_eq!(balance(&target, &current, 0), expected, "T-GR-{id}");
        }
        assert_eq!(balance(&[], &[], 0), moves(&[], &[]), "T-GR-01");
    }

    /// The first zone wins a tie (HD14).
    #[test]
    fn h51_ties_go_to_the_first_zone() {
        assert_eq!(balance(&[1.5; 3], &[2.5, 2.5, 0.5], 0), moves(&[1, 0, 0], &[0, 0, 1]));
        assert_eq!(
            balance(&[1.5; 3], &[4.5, 0.0, 0.0], 0),
            moves(&[3, 0, 0], &[0, 2, 1]),
            "the second and third zone need 1.5 each"
        );
        assert_eq!(balance(&[1.0; 3], &[1.0, 0.5, 0.5], 1), moves(&[0; 3], &[0, 1, 0]));
    }

    /// Unassigned endpoints go to a zone with nodes, even if it needs hardly any (HD8).
    #[test]
    fn hd8_unassigned_endpoints_get_a_zone_with_nodes() {
        let third = 7.0 / 3.0;
        assert_eq!(balance(&[third; 3], &[2.0; 3], 1), moves(&[0; 3], &[1, 0, 0]));
        assert_eq!(balance(&[2.0; 2], &[1.0; 2], 2), moves(&[0; 2], &[1, 1]));
        // The zones with nodes are still balanced among themselves.
        assert_eq!(balance(&[4.0; 2], &[6.0, 0.0], 2), moves(&[2, 0], &[0, 4]));
    }

    /// Random inputs: sums match, and no zone misses its target by more than a half (T-X-12).
    #[test]
    fn h49_moves_are_conserved_and_overshoot_by_at_most_half() {
        let mut state = 1_u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..2000 {
            let zones = draw(6) + 1;
            let mut column =
                |step: f64, below: u32| -> Vec<f64> { (0..zones).map(|_| f64::from(draw(below)) * step).collect() };
            let (target, current) = (column(0.25, 80), column(1.0, 20));
            let Moves { give, receive } = balance(&target, &current, 0);
            assert_eq!(
                give.iter().sum::<usize>(),
                receive.iter().sum::<usize>(),
                "{target:?} {current:?}"
            );
            for zone in 0..target.len() {
                let result = current[zone] - super::super::to_f64(give[zone]) + super::super::to_f64(receive[zone]);
                let (target, given, received) = (target[zone], give[zone] > 0, receive[zone] > 0);
                assert!(!(given && received), "zone {zone} both gives and receives");
                assert!(!given || result >= target - 0.5, "{result} of {target}");
                assert!(!received || result <= target + 0.5, "{result} of {target}");
            }
        }
    }
}
