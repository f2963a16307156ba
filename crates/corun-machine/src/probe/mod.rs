//! Is the topology true? Measures what pairs of logical CPUs share.
//!
//! Virtual machines hide and invent siblings. Contention does not lie: two loops that want the same
//! ports, two chains that do not, and a cache line passed to and fro show what a pair shares.
//! `docs/probing.md` says what is concluded from what, and its limits.

mod conclusion;
mod distance;
mod error;
mod judgement;
pub(crate) mod loops;
mod pairs;
mod plan;
mod record;
mod shared_line;
mod show;
#[cfg(test)]
mod simulated;
mod sysfs;
mod target;
mod threads;
mod track;

use std::time::Duration;

pub use error::ProbeError;
pub use pairs::ProbeObserver;
pub use record::{Contention, Contradiction, Pair, Probe, Relation, Sharing, Sureness, Topology};
pub use show::describe;
pub(crate) use show::{findings, head};

use crate::Machine;
use conclusion::conclude;
use pairs::probe_pairs;
use plan::ProbePlan;
use target::ProbeTarget;
use threads::Threads;

/// Probes the machine that this process runs on, as `machine` describes it, one pair after the
/// other. Where not all pairs are probed, random ones are chosen by `seed` until `time` is over.
/// Nothing is changed.
///
/// # Errors
/// If there are fewer than two allowed CPUs, or a thread cannot run where it should.
pub fn probe(
    machine: &Machine,
    seed: u64,
    time: Duration,
    observer: &mut dyn ProbeObserver,
) -> Result<Probe, ProbeError> {
    probe_on(&mut Threads::new(), machine, seed, time, observer)
}

fn probe_on(
    target: &mut impl ProbeTarget,
    machine: &Machine,
    seed: u64,
    time: Duration,
    observer: &mut dyn ProbeObserver,
) -> Result<Probe, ProbeError> {
    let plan = ProbePlan::of(machine, seed);
    if plan.possible == 0 {
        return Err(ProbeError::TooFewCpus { found: machine.allowed().len() });
    }
    let observations = probe_pairs(machine, &plan, time, target, observer)?;
    let (pairs, contradictions) = conclude(observations.pairs);
    Ok(Probe {
        seed,
        seconds: target.elapsed().as_secs_f64(),
        possible_pairs: plan.possible,
        interrupted: observations.interrupted,
        pairs,
        contradictions,
    })
}
