//! Plays many schedules on all cores.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use anyhow::bail;
use clap::Parser;

use crate::{
    checks::Violation,
    play::{Played, play},
    schedule::{Fault, Schedule},
    shrink::shrink,
    trace::Trace,
};

/// Different violations that are shrunk and printed.
const SHOWN: usize = 8;

/// Run the engine in random schedules with faults, and check the invariants of docs/spec/invariants.md
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask simulate",
    bin_name = "cargo xtask simulate",
    after_help = "For millions of schedules, an optimised build is faster: \
        cargo run --profile optimised -p simulation -- --schedules 1000000"
)]
pub struct Args {
    /// Number of schedules
    #[arg(long, default_value_t = 20_000)]
    schedules: u64,
    /// Seed of the first schedule; each further one has the next seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Fault classes to inject; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Fault>,
    /// Fault classes to omit
    #[arg(long, value_enum, value_delimiter = ',')]
    without: Vec<Fault>,
    /// Replicas of each controller: with 2, they elect a leader; 1 or 2 by default
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2))]
    replicas: Option<u8>,
    /// Print the events, plans and responses of the shrunk schedules
    #[arg(long)]
    trace: bool,
}

/// The sums over all schedules.
#[derive(Debug, Default)]
struct Totals {
    steps: usize,
    writes: usize,
    /// Schedules with two replicas.
    replicated: u64,
    terms: usize,
    violations: u64,
    /// The first violation of each kind, with its seed.
    kinds: BTreeMap<String, (u64, Violation)>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let faults: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| (args.only.is_empty() || args.only.contains(fault)) && !args.without.contains(fault))
        .collect();
    let start = Instant::now();
    // A panic of the engine is a violation, which is printed with its schedule.
    panic::set_hook(Box::new(|_| {}));
    let totals = play_all(args, &faults, start);
    let mut shown: Vec<_> = totals.kinds.values().collect();
    shown.sort_by_key(|(seed, _)| *seed);
    for (seed, violation) in shown.into_iter().take(SHOWN) {
        let schedule = Schedule::generate(*seed, &faults, args.replicas);
        print_violation(*seed, violation, &schedule, start, Trace(args.trace));
    }
    println!("with two replicas {}, terms {}", totals.replicated, totals.terms);
    println!(
        "schedules {}, steps {}, writes {}, violations {}",
        args.schedules, totals.steps, totals.writes, totals.violations
    );
    if totals.violations > 0 {
        bail!("{} schedules violate an invariant", totals.violations);
    }
    Ok(())
}

fn play_all(args: &Args, faults: &[Fault], start: Instant) -> Totals {
    let next = AtomicU64::new(0);
    let totals = Mutex::new(Totals::default());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= args.schedules {
                return;
            }
            let seed = args.seed.wrapping_add(index);
            let schedule = Schedule::generate(seed, faults, args.replicas);
            let result = play_caught(&schedule, start, Trace(false));
            let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
            totals.add(seed, &schedule, result);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    totals.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Totals {
    fn add(&mut self, seed: u64, schedule: &Schedule, result: Result<Played, Violation>) {
        self.replicated += u64::from(schedule.setup.replicas > 1);
        match result {
            Ok(played) => {
                self.steps += played.steps;
                self.writes += played.writes;
                self.terms += played.terms;
            }
            Err(violation) => {
                self.steps += schedule.steps.len();
                self.violations += 1;
                let first = self.kinds.entry(kind(&violation));
                let first = first.or_insert_with(|| (seed, violation.clone()));
                if seed < first.0 {
                    *first = (seed, violation);
                }
            }
        }
    }
}

/// The violation without names and numbers.
fn kind(violation: &Violation) -> String {
    let words = violation
        .finding
        .split(' ')
        .filter(|word| word.chars().all(char::is_alphabetic));
    format!("{} {}", violation.invariant, words.collect::<Vec<_>>().join(" "))
}

/// Plays a schedule. A panic is a violation.
fn play_caught(schedule: &Schedule, start: Instant, trace: Trace) -> Result<Played, Violation> {
    panic::catch_unwind(AssertUnwindSafe(|| play(schedule, start, trace))).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(Violation::new("panic", message.unwrap_or("without a message")))
    })
}

fn print_violation(seed: u64, violation: &Violation, schedule: &Schedule, start: Instant, trace: Trace) {
    let (short, found) = shrink(schedule, violation.clone(), start, |schedule, start| {
        play_caught(schedule, start, Trace(false)).err()
    });
    println!("seed {seed} violates {violation}");
    println!(
        "shrunk from {} to {} steps: {found}",
        schedule.steps.len(),
        short.steps.len()
    );
    println!("{short}");
    if trace.0 {
        // The violation is printed already.
        let _ = play_caught(&short, start, trace);
        println!();
    }
}
