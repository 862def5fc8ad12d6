use slice_core::{Endpoint, Hints};

use super::{
    super::{
        super::tests::fixtures::{endpoint, hinted, rehinted, slice, unready},
        views::SliceView,
    },
    *,
};

fn equal_zones(zones: usize) -> ZoneRatios {
    let names = ["a", "b", "c", "d", "e", "f"];
    let ratio = 1000.0 / (1000.0 * to_f64(zones));
    ZoneRatios::from_pairs(&names[..zones].iter().map(|name| (*name, ratio)).collect::<Vec<_>>())
}

#[test]
fn h29_reasons_in_order_of_precedence() {
    let thirds = equal_zones(3);
    for (ratios, endpoints, expected) in [
        (None, 0, HintsUnavailable::UnknownNodes),
        (Some(ZoneRatios::default()), 0, HintsUnavailable::OneZone),
        (
            Some(thirds.clone()),
            2,
            HintsUnavailable::TooFewEndpoints { endpoints: 2, zones: 3 },
        ),
        (Some(thirds), 4, HintsUnavailable::Overload { endpoints: 4, zones: 3 }),
    ] {
        assert_eq!(allocate(ratios.as_ref(), endpoints), Err(expected));
    }
}

#[test]
fn h28_every_zone_gets_the_same_slack() {
    let ratios = ZoneRatios::from_pairs(&[("a", 0.5), ("b", 0.45), ("c", 0.05)]);
    let allocation = |min, max, target| Allocation { min, max, target };
    assert_eq!(
        allocate(Some(&ratios), 20),
        Ok(vec![
            allocation(9, 11, 10.0),
            allocation(8, 10, 9.0),
            allocation(1, 3, 1.0)
        ])
    );
}

/// With another order of operands each of these would be off by one (trap 33).
#[test]
fn h27_rounding_depends_on_the_order_of_operands() {
    for (endpoints, expected) in [(6, 2), (12, 3), (18, 3), (24, 5), (30, 5), (36, 6)] {
        assert_eq!(zone_allocation(0.2, endpoints).min, expected, "a fifth of {endpoints}");
        let counts = |min| [("a", min), ("b", endpoints - min)];
        let ratios = ZoneRatios::from_pairs(&[("a", 0.2)]);
        assert!(!is_overloaded(&counts(expected), Some(&ratios)), "{endpoints}");
        assert!(is_overloaded(&counts(expected - 1), Some(&ratios)), "{endpoints}");
    }
}

/// Equal zones cannot divide some numbers of endpoints (T-X-11, H31).
#[test]
fn h31_endpoint_counts_that_equal_zones_cannot_divide() {
    let unavailable: [(usize, &[usize]); 5] = [
        (2, &[1, 3, 5]),
        (3, &[1, 2, 4, 5, 8, 11]),
        (4, &[1, 2, 3, 5, 6, 7, 10, 11, 15]),
        (5, &[1, 2, 3, 4, 6, 7, 8, 9, 12, 13, 14, 19, 24]),
        (6, &[1, 2, 3, 4, 5, 8, 9, 10, 11, 15, 16, 17, 22, 23, 29]),
    ];
    for (zones, expected) in unavailable {
        let ratios = equal_zones(zones);
        let results = (1..=60).map(|endpoints| (endpoints, allocate(Some(&ratios), endpoints)));
        let mut failed = Vec::new();
        for (endpoints, result) in results {
            match result {
                Err(_) => failed.push(endpoints),
                Ok(allocations) => {
                    assert!(allocations.iter().map(|a| a.min).sum::<usize>() <= endpoints);
                    assert!(allocations.iter().all(|a| a.max >= a.min));
                }
            }
        }
        assert_eq!(failed, expected, "{zones} zones");
    }
}

/// (id, endpoints of the slice, maximum and used counts per zone, counts of the slice if it fits).
type FitCase = (&'static str, Vec<Endpoint>, [usize; 3], [usize; 3], Option<[usize; 3]>);

/// An unchanged slice keeps its hints if they fit the allocations (T-HBZ-01…08, T-TOP-29…36).
#[test]
fn h34_unchanged_slices_that_fit() {
    let a = || hinted(endpoint(1, "a"), "a");
    let with_nodes = || rehinted(a(), |hints| hints.for_nodes = vec!["node".into()]);
    let emptied = || {
        let mut endpoint = a();
        endpoint.hints = Some(Hints::default().into());
        endpoint
    };
    let unknown = || {
        let mut endpoint = a();
        endpoint.conditions.ready = None;
        endpoint
    };
    let zones = ["a", "b", "c"];
    let cases: Vec<FitCase> = vec![
        ("01", vec![], [0; 3], [0; 3], Some([0; 3])),
        ("02", vec![a()], [3, 0, 0], [1, 0, 0], Some([1, 0, 0])),
        (
            "03",
            vec![a(), unready(a()), unknown()],
            [3, 0, 0],
            [1, 0, 0],
            Some([1, 0, 0]),
        ),
        (
            "04",
            vec![a(), hinted(endpoint(2, "a"), "b"), hinted(endpoint(3, "b"), "b")],
            [3; 3],
            [1; 3],
            Some([1, 2, 0]),
        ),
        (
            "05",
            vec![hinted(endpoint(1, "a"), "non-existent")],
            [3; 3],
            [1; 3],
            None,
        ),
        ("06", vec![endpoint(1, "a")], [3; 3], [1; 3], None),
        ("07", vec![emptied()], [3; 3], [1; 3], None),
        ("08", vec![a(), a()], [2, 0, 0], [1, 0, 0], None),
        ("HD6", vec![with_nodes()], [3; 3], [1; 3], None),
    ];
    for (id, endpoints, max, used, expected) in cases {
        let ratios = ZoneRatios::from_pairs(&zones.map(|zone| (zone, 0.0)));
        let allocations = max.map(|max| Allocation {
            min: 0,
            max,
            target: 0.0,
        });
        let mut in_slice = [7; 3];
        let slice = slice(endpoints);
        let endpoints = SliceView::<&Endpoint>::Existing(&slice).endpoints();
        let fits = fits(endpoints, &ratios, &allocations, &used, &mut in_slice);
        assert_eq!(fits.then_some(in_slice), expected, "T-HBZ-{id}");
    }
}
