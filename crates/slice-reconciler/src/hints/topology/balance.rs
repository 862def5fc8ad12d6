//! How many endpoints change zones on paper.

/// How many endpoints each zone gives to others and receives from others, by the zones' places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moves {
    pub(super) give: Vec<usize>,
    /// All that is given, and the strays.
    pub(super) receive: Vec<usize>,
}

/// Brings `have` near to `target` (H48–H51): from where most is too much to where most is missing, as long as at least a
/// whole endpoint is at stake on one side and half of one on the other. The first zone wins a tie.
///
/// `strays` are endpoints in zones that have no nodes. None can stay where nobody would use it, so they go first to where
/// most is missing, be it ever so little (HD8).
pub(super) fn balance(target: &[f64], have: &[f64], strays: usize) -> Moves {
    let (mut give, mut receive) = (vec![0; target.len()], vec![0; target.len()]);
    let mut need: Vec<f64> = target.iter().zip(have).map(|(target, have)| target - have).collect();
    for _ in 0..strays {
        if let Some((to, _)) = greatest(&need) {
            receive[to] += 1;
            need[to] -= 1.0;
        }
    }
    let mut surplus: Vec<f64> = need.iter().map(|need| -need).collect();
    while let Some(((from, too_much), (to, missing))) = greatest(&surplus).zip(greatest(&need)) {
        if too_much < 0.5 || missing < 0.5 || (too_much < 1.0 && missing < 1.0) {
            break;
        }
        give[from] += 1;
        surplus[from] -= 1.0;
        receive[to] += 1;
        need[to] -= 1.0;
    }
    Moves { give, receive }
}

/// The place of the first of the greatest values.
fn greatest(values: &[f64]) -> Option<(usize, f64)> {
    let places = values.iter().copied().enumerate();
    places.reduce(|best, next| if next.1 > best.1 { next } else { best })
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

    /// H48, H50, T-GR-01…09, T-TOP-20…28.
    #[test]
    fn h49_from_surplus_to_need() {
        let nothing = || moves(&[0, 0, 0], &[0, 0, 0]);
        for (id, target, have, expected) in [
            ("02", [1.2, 1.1, 1.0], [1.0, 1.0, 1.0], nothing()),
            ("03", [5.1, 5.1, 5.8], [16.0, 0.0, 0.0], moves(&[10, 0, 0], &[0, 5, 5])),
            ("04", [5.0, 5.6, 5.4], [16.0, 0.0, 0.0], moves(&[11, 0, 0], &[0, 6, 5])),
            ("05", [5.0, 5.6, 5.4], [0.0, 8.0, 8.0], moves(&[0, 2, 3], &[5, 0, 0])),
            ("06", [5.0; 3], [6.0; 3], nothing()),
            ("07", [-5.0; 3], [6.0; 3], nothing()),
            ("08", [5.0; 3], [-4.0, -3.0, -2.0], nothing()),
            ("09", [5.0; 3], [-40.0, 20.0, 20.0], moves(&[0, 15, 15], &[30, 0, 0])),
        ] {
            assert_eq!(balance(&target, &have, 0), expected, "T-GR-{id}");
        }
        assert_eq!(balance(&[], &[], 0), moves(&[], &[]), "T-GR-01");
    }

    /// HD14: the first zone wins.
    #[test]
    fn h51_ties_go_to_the_first_zone() {
        assert_eq!(balance(&[1.5; 3], &[2.5, 2.5, 0.5], 0), moves(&[1, 0, 0], &[0, 0, 1]));
        assert_eq!(
            balance(&[1.5; 3], &[4.5, 0.0, 0.0], 0),
            moves(&[3, 0, 0], &[0, 2, 1]),
            "the second and third zone miss 1.5 each"
        );
        assert_eq!(balance(&[1.0; 3], &[1.0, 0.5, 0.5], 1), moves(&[0; 3], &[0, 1, 0]));
    }

    /// HD8: even where hardly anything is missing.
    #[test]
    fn hd8_no_stray_is_left() {
        let third = 7.0 / 3.0;
        assert_eq!(balance(&[third; 3], &[2.0; 3], 1), moves(&[0; 3], &[1, 0, 0]));
        assert_eq!(balance(&[2.0; 2], &[1.0; 2], 2), moves(&[0; 2], &[1, 1]));
        // The live zones are still brought in order among themselves.
        assert_eq!(balance(&[4.0; 2], &[6.0, 0.0], 2), moves(&[2, 0], &[0, 4]));
    }

    /// T-X-12.
    #[test]
    fn h49_what_is_given_is_received_and_nobody_overshoots_by_more_than_half() {
        let mut state = 1_u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..2000 {
            let zones = draw(6) + 1;
            let mut column =
                |step: f64, below: u32| -> Vec<f64> { (0..zones).map(|_| f64::from(draw(below)) * step).collect() };
            let (target, have) = (column(0.25, 80), column(1.0, 20));
            let Moves { give, receive } = balance(&target, &have, 0);
            assert_eq!(
                give.iter().sum::<usize>(),
                receive.iter().sum::<usize>(),
                "{target:?} {have:?}"
            );
            for zone in 0..target.len() {
                let ends = have[zone] - super::super::float(give[zone]) + super::super::float(receive[zone]);
                let (target, given, received) = (target[zone], give[zone] > 0, receive[zone] > 0);
                assert!(!(given && received), "zone {zone} both gives and receives");
                assert!(!given || ends >= target - 0.5, "{ends} of {target}");
                assert!(!received || ends <= target + 0.5, "{ends} of {target}");
            }
        }
    }
}
