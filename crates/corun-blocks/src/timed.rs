//! Blocks of a list, timed one after another, as their document.

use std::sync::atomic::{AtomicBool, Ordering};

use corun_machine::{Affinity, CpuSet};
use corun_record::{
    BlockFrontEnd, BlockTimings, Progress, Stage, TimedBlock, TimingAgreement, UntimedBlock,
};

use crate::{BlockError, Cycles, FrontEnd, Listed, Timer, agreement, core_name};

/// Times blocks on this CPU until all are done or `stop` is set. A block that cannot be timed is listed with its reason.
///
/// # Errors
/// If this host times no blocks.
pub fn time_list(
    blocks: &[Listed],
    cpu: u32,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<BlockTimings, BlockError> {
    progress.begin(Stage::new("timing blocks", "blocks", blocks.len() as u64));
    let mut timer = Timer::new(Some(Affinity::new(&CpuSet::from_iter([cpu]))));
    let mut timed = Vec::new();
    let mut not_possible = Vec::new();
    for listed in blocks {
        if stop.load(Ordering::Acquire) {
            break;
        }
        progress.advance(1);
        let block = listed.hexadecimal.clone();
        match timer.time(&listed.code) {
            Ok(cycles) => timed.push(timed_block(block, listed.cycles, cycles)),
            Err(error @ BlockError::Host { .. }) => return Err(error),
            Err(error) => not_possible.push(UntimedBlock { block, reason: error.to_string() }),
        }
    }
    let pairs: Vec<_> = timed.iter().filter_map(|it| Some((it.cycles, it.expected?))).collect();
    let agreement = agreement(&pairs).map(|found| TimingAgreement {
        blocks: found.count,
        mean: found.mean,
        median: found.median,
        tau: found.tau.is_finite().then_some(found.tau),
    });
    Ok(BlockTimings { core: core_name(), cpu, blocks: timed, not_possible, agreement })
}

fn timed_block(block: String, expected: Option<f64>, cycles: Cycles) -> TimedBlock {
    TimedBlock {
        block,
        cycles: cycles.median,
        p10: cycles.p10,
        p90: cycles.p90,
        front_end: match cycles.front_end {
            FrontEnd::OpCache => BlockFrontEnd::OpCache,
            FrontEnd::Decoders => BlockFrontEnd::Decoders,
        },
        groups: cycles.groups,
        alone: cycles.alone,
        expected,
    }
}
