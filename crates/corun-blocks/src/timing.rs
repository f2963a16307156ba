//! Timing of a block on this host, in cycles of the core's own clock.
//!
//! A block's copies take a fixed time longer than its own when they are started and waited for; the
//! difference between twice as many copies and as many leaves that out (Chen et al. 2019, section 3).
//! The time stamp counter does not count core cycles: a chain of dependent multiplications, timed in the
//! same way before and after each group of samples, says how long a cycle was just then, and copies of a
//! register whether the core was shared.

use corun_machine::Affinity;

use crate::confined::{Confined, Stop};
use crate::inspection::inspect;
use crate::layout::{CODE, LINES, PAGE, check_size};
use crate::stepping::execute;
use crate::{BlockError, COPIES, Cycles, FrontEnd, Vendor, harness};

/// Samples of a part in a group.
const SAMPLES: usize = harness::MAX_SAMPLES;
/// Groups that are wanted, and the most that are tried for them.
const GROUPS: usize = 31;
const MAX_GROUPS: usize = 10 * GROUPS;
/// The most that a cycle may have changed in length during a group, as a share of it.
const STEADY: f64 = 0.025;
/// The most that the core may have been slower in a group than at its best, as a share.
const ALONE: f64 = 0.15;
/// Cycles of a link of the chain, on every core of AMD since Zen and of Intel since Nehalem.
const CYCLES_OF_LINK: f64 = 3.0;

/// Part that is timed in each group, so many copies of it and twice as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Block,
    /// Measures how long a cycle is.
    Chain,
    /// Detects whether the core is alone: it takes every slot that renaming has, so that a sibling, which
    /// a virtual machine may hide, makes it slower.
    Slots,
}

/// Processes of its own in which a block is timed, at most; two of them must agree.
const PROCESSES: usize = 5;
/// Tolerance of two that agree: as a share of the lesser, or in cycles.
const AGREEMENT: f64 = 0.04;
const AGREEMENT_CYCLES: f64 = 0.02;

/// Number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    Once,
    Twice,
}

impl Part {
    const ALL: [Self; 3] = [Self::Block, Self::Chain, Self::Slots];

    fn copies(self, of_block: usize) -> usize {
        match self {
            Self::Block => of_block,
            Self::Chain => 500,
            Self::Slots => 400,
        }
    }

    fn code(self, block: &[u8]) -> &[u8] {
        match self {
            Self::Block => block,
            // imul rax, rax
            Self::Chain => &[0x48, 0x0f, 0xaf, 0xc0],
            // mov rbx, rax
            Self::Slots => &[0x48, 0x89, 0xc3],
        }
    }
}

/// Times blocks on one CPU, or on any.
#[derive(Debug)]
pub struct Timer {
    cpu: Option<Affinity>,
    /// The least cycles that twice the copies of [`Part::Slots`] ever took.
    least: f64,
}

impl Timer {
    /// A timer for this CPU, if one is given.
    pub fn new(cpu: Option<Affinity>) -> Self {
        Self { cpu, least: f64::INFINITY }
    }

    /// Times a block, unrolled, in a confined child. The first block that is timed settles how fast the
    /// core is when it is alone, and may be settled wrongly where it never is.
    ///
    /// # Errors
    /// As [`execute`], and if the clock never keeps still for long enough.
    pub fn time(&mut self, code: &[u8]) -> Result<Cycles, BlockError> {
        // A block that leaves its line is not one to be let go.
        let executed = execute(code, 2 * COPIES)?;
        let (copies, front_end) = executed.copies(Vendor::of_host());
        let mut found = Vec::with_capacity(PROCESSES);
        for _ in 0..PROCESSES {
            let mut bench = Bench::new(code, copies, self.cpu.as_ref())?;
            bench.leave_lines(&executed.last_addresses(2 * copies))?;
            let samples = |part, amount| bench.samples(part, amount);
            let measured = measure(&mut self.least, copies, samples)?;
            // Where its code lies in memory can make fewer copies take longer than more.
            found.extend(measured.filter(|cycles| cycles.median > 0.0));
            if let Some(cycles) = agreed(&found) {
                return Ok(Cycles { front_end, ..cycles });
            }
        }
        let medians = || found.iter().map(|cycles| cycles.median);
        match medians().reduce(f64::min).zip(medians().reduce(f64::max)) {
            Some((least, most)) => Err(BlockError::Differs { least, most, processes: found.len() }),
            None => Err(BlockError::Unsteady { groups: MAX_GROUPS }),
        }
    }
}

/// Ticks of the counter during a part.
struct Ticks {
    /// During one copy.
    each: f64,
    /// During twice as many copies, with what starts and ends them: nothing makes it less than it is on
    /// a core of one's own, as a busy moment during the fewer copies does to the difference.
    all: f64,
}

/// Cycles of the block in one group.
struct Group {
    cycles: f64,
    /// Cycles of twice the copies of [`Part::Slots`].
    slots: f64,
}

/// Takes groups of samples until enough of them had a steady clock and a core of their own.
fn measure<E>(
    least: &mut f64,
    copies: usize,
    mut samples: impl FnMut(Part, Amount) -> Result<Vec<u64>, E>,
) -> Result<Option<Cycles>, E> {
    // The first time is for caches and predictors, and shows the steps of the counter.
    let mut gaps = Vec::new();
    for part in Part::ALL {
        for amount in [Amount::Twice, Amount::Once] {
            gaps.extend(gaps_of(samples(part, amount)?));
        }
    }
    let leap = leap(gaps);
    let mut ticks = |part: Part| -> Result<Ticks, E> {
        let (twice, once) = (samples(part, Amount::Twice)?, samples(part, Amount::Once)?);
        let all = undisturbed(twice, leap);
        let each = (all - undisturbed(once, leap)) / part.copies(copies) as f64;
        Ok(Ticks { each, all })
    };
    // How fast the core is when it is alone is not known from a few moments.
    let is_first = least.is_infinite();
    let mut groups: Vec<Group> = Vec::with_capacity(MAX_GROUPS);
    let mut before = (ticks(Part::Chain)?.each, ticks(Part::Slots)?.all);
    for _ in 0..MAX_GROUPS {
        let block = ticks(Part::Block)?.each;
        let after = (ticks(Part::Chain)?.each, ticks(Part::Slots)?.all);
        let link = f64::midpoint(before.0, after.0);
        let slots = before.1.max(after.1) * CYCLES_OF_LINK / link;
        if (after.0 - before.0).abs() <= STEADY * link {
            *least = least.min(slots);
            groups.push(Group { cycles: block * CYCLES_OF_LINK / link, slots });
        }
        before = after;
        if !is_first && count_alone(&groups, *least) >= GROUPS {
            break;
        }
    }
    let alone = count_alone(&groups, *least);
    // Where the core was hardly ever alone, the best moments have to do.
    groups.sort_by(|one, other| one.slots.total_cmp(&other.slots));
    groups.truncate(alone.max(GROUPS));
    Ok(summary(groups.iter().map(|group| group.cycles).collect(), alone))
}

/// Cycles of the last process and of one before it, if they agree.
fn agreed(found: &[Cycles]) -> Option<Cycles> {
    let (last, before) = found.split_last()?;
    let agrees = |one: &&Cycles| {
        let apart = (one.median - last.median).abs();
        apart <= AGREEMENT_CYCLES.max(AGREEMENT * one.median.min(last.median))
    };
    let other = before.iter().find(agrees)?;
    Some(Cycles {
        median: f64::midpoint(other.median, last.median),
        p10: other.p10.min(last.p10),
        p90: other.p90.max(last.p90),
        groups: other.groups + last.groups,
        alone: other.alone + last.alone,
        front_end: last.front_end,
    })
}

/// The groups in which the core was not shared.
fn count_alone(groups: &[Group], least: f64) -> usize {
    groups.iter().filter(|group| group.slots <= (1.0 + ALONE) * least).count()
}

/// The mean of the samples that nothing made longer: those near the lower quarter.
///
/// Where the counter goes up in leaps, two or three of its values stand for one time, and their mean,
/// over moments of all kinds, is that time.
fn undisturbed(mut samples: Vec<u64>, leap: u64) -> f64 {
    samples.sort_unstable();
    let Some(&quarter) = samples.get(samples.len() / 4) else { return 0.0 };
    let near = samples.iter().filter(|&&sample| sample.abs_diff(quarter) <= 2 * leap);
    near.clone().sum::<u64>() as f64 / near.count() as f64
}

/// Gaps between neighbouring values of the lower three quarters, where it is more than rounding.
fn gaps_of(mut samples: Vec<u64>) -> Vec<u64> {
    const ROUNDING: u64 = 2;
    samples.sort_unstable();
    samples.truncate(samples.len() * 3 / 4);
    samples.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > ROUNDING).collect()
}

/// Step of the counter. That need be no whole number: virtual machines scale it.
fn leap(mut gaps: Vec<u64>) -> u64 {
    gaps.sort_unstable();
    // Rounding takes away up to one of it.
    gaps.get(gaps.len() / 2).map_or(1, |gap| gap + 1)
}

fn summary(mut found: Vec<f64>, alone: usize) -> Option<Cycles> {
    found.sort_by(f64::total_cmp);
    let last = found.len().checked_sub(1)?;
    let quantile = |tenths: usize| found[(last * tenths + 5) / 10];
    let groups = found.len();
    let (p10, median, p90) = (quantile(1), quantile(5), quantile(9));
    Some(Cycles { median, p10, p90, groups, alone, front_end: FrontEnd::OpCache })
}

/// The child with the code of all parts.
struct Bench {
    child: Confined,
    targets: Vec<((Part, Amount), u64)>,
}

impl Bench {
    fn new(block: &[u8], copies: usize, cpu: Option<&Affinity>) -> Result<Self, BlockError> {
        check_size(3 * copies * block.len())?;
        let (mut code, mut targets) = (Vec::new(), Vec::new());
        for part in Part::ALL {
            for (amount, times) in [(Amount::Twice, 2), (Amount::Once, 1)] {
                code.resize(code.len().next_multiple_of(PAGE as usize), 0xcc);
                targets.push(((part, amount), CODE + code.len() as u64));
                code.extend(part.code(block).repeat(times * part.copies(copies)));
                code.extend(harness::end());
            }
        }
        let child = Confined::new(&code, inspect(block)?, cpu)?;
        Ok(Self { child, targets })
    }

    /// Every run finds each line as a run before it would have left it, by this address.
    fn leave_lines(&mut self, addresses: &[u64; LINES]) -> Result<(), BlockError> {
        let bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        self.child.write(harness::LAST_ADDRESSES, &bytes)
    }

    /// The ticks of the time stamp counter that each of some runs took.
    fn samples(&mut self, part: Part, amount: Amount) -> Result<Vec<u64>, BlockError> {
        let target = self.targets.iter().find(|(other, _)| *other == (part, amount));
        let target = target.map_or(CODE, |(_, target)| *target);
        self.child.write(harness::ORDER, &harness::order(target, SAMPLES as u64))?;
        self.child.go_to(harness::take())?;
        loop {
            match self.child.resume()? {
                Stop::Trapped => break,
                Stop::Mapped => {}
                Stop::Late => return Err(BlockError::too_slow()),
                Stop::Faulted(fault) => {
                    let at = self.child.registers()?.rip.wrapping_sub(target) as usize;
                    return Err(BlockError::Faults { at, iteration: 0, fault });
                }
            }
        }
        let mut bytes = [0; 8 * SAMPLES];
        self.child.read(harness::SAMPLES, &mut bytes)?;
        let (ticks, _) = bytes.as_chunks();
        Ok(ticks.iter().map(|ticks| u64::from_le_bytes(*ticks)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core whose cycle takes a different time from group to group, and on which a copy of
    /// [`Part::Slots`] takes different cycles, with a block of so many cycles. The counter goes up in
    /// leaps; every tenth sample of twice the copies is disturbed.
    fn simulated(
        block: f64,
        leap: f64,
        tick: impl Fn(usize) -> f64,
        slots: impl Fn(usize) -> f64,
    ) -> Option<Cycles> {
        let (mut group, mut least) = (0, f64::INFINITY);
        let taken: Result<_, std::convert::Infallible> =
            measure(&mut least, COPIES, |part, amount| {
                group += usize::from((part, amount) == (Part::Block, Amount::Twice));
                let cycles = match part {
                    Part::Block => block * (1.0 + slots(group)),
                    Part::Chain => CYCLES_OF_LINK,
                    Part::Slots => 0.125 * (1.0 + slots(group)),
                };
                let times = if amount == Amount::Twice { 2.0 } else { 1.0 };
                let ticks = (times * cycles * part.copies(COPIES) as f64 + 70.0) * tick(group);
                let sample = |index: usize| {
                    let begin = index as f64 * 7.3;
                    let is_disturbed = amount == Amount::Twice && index.is_multiple_of(10);
                    let disturbed = if is_disturbed { 900.0 } else { 0.0 };
                    let counter = |time: f64| ((time / leap).floor() * leap) as u64;
                    counter(begin + ticks + disturbed) - counter(begin)
                };
                Ok((0..SAMPLES).map(sample).collect())
            });
        taken.unwrap_or_else(|never| match never {})
    }

    #[test]
    fn a_clock_that_keeps_still_cancels_out() {
        for (tick, leap) in
            [(0.6, 1.0), (1.0, 1.0), (1.7, 1.0), (0.7, 26.0), (0.75, 24.46), (1.0, 100.0)]
        {
            let cycles = simulated(4.0, leap, |_| tick, |_| 0.0).unwrap();
            assert!((cycles.median - 4.0).abs() < 0.03, "{leap}: {cycles:?}");
            assert!(cycles.groups >= GROUPS, "{leap}: {cycles:?}");
        }
    }

    #[test]
    fn groups_in_which_the_clock_changes_do_not_count() {
        let tick = |group| if group % 3 == 0 { 0.8 } else { 0.6 };
        let cycles = simulated(4.0, 1.0, tick, |_| 0.0).unwrap();
        assert!((cycles.p90 - 4.0).abs() < 0.02 && (cycles.p10 - 4.0).abs() < 0.02, "{cycles:?}");
        assert_eq!(simulated(4.0, 1.0, |group| 0.6 + 0.1 * (group % 2) as f64, |_| 0.0), None);
    }

    #[test]
    fn groups_in_which_a_sibling_was_busy_do_not_count() {
        // Busy at first, and half of the time.
        let busy = |group| if group < 40 || group % 4 > 1 { 1.0 } else { 0.0 };
        let cycles = simulated(4.0, 1.0, |_| 0.6, busy).unwrap();
        assert!((cycles.p90 - 4.0).abs() < 0.02, "{cycles:?}");
        // But for a moment.
        let busy = |group| if (40..=50).contains(&group) { 0.0 } else { 1.0 };
        let cycles = simulated(4.0, 1.0, |_| 0.6, busy).unwrap();
        assert!((1..11).contains(&cycles.alone) && cycles.groups == GROUPS, "{cycles:?}");
    }

    #[test]
    fn a_tenth_of_the_groups_lies_beyond_each_end() {
        let cycles = summary((0..=30).rev().map(f64::from).collect(), 31).unwrap();
        assert_eq!((cycles.p10, cycles.median, cycles.p90), (3.0, 15.0, 27.0));
        assert_eq!(summary(Vec::new(), 0), None);
    }

    #[test]
    fn two_processes_must_agree() {
        let of = |median: f64| Cycles {
            median,
            p10: median - 0.1,
            p90: median + 0.1,
            groups: GROUPS,
            alone: 3,
            front_end: FrontEnd::OpCache,
        };
        assert_eq!(agreed(&[]), None);
        assert_eq!(agreed(&[of(2.0)]), None);
        assert_eq!(agreed(&[of(2.0), of(2.1)]), None);
        assert_eq!(agreed(&[of(2.0), of(2.1), of(3.0)]), None, "the last one agrees with none");
        let both = agreed(&[of(2.0), of(3.0), of(2.0625)]).unwrap();
        assert_eq!((both.median, both.groups, both.alone), (2.03125, 2 * GROUPS, 6));
        assert_eq!((both.p10, both.p90), (1.9, 2.1625));
        assert!(agreed(&[of(0.25), of(0.265625)]).is_some(), "a time stamp resolves no better");
    }

    #[test]
    fn a_block_of_this_host_has_a_time() {
        // imul rbx, rbx
        let mut timer = Timer::new(None);
        match timer.time(&[0x48, 0x0f, 0xaf, 0xdb]) {
            Ok(Cycles { median, p10, p90, .. }) => {
                assert!(0.0 < p10 && p10 <= median && median <= p90, "{p10} {median} {p90}");
            }
            // Whatever else the host does meanwhile.
            Err(error) => {
                let is_noise =
                    matches!(error, BlockError::Unsteady { .. } | BlockError::Differs { .. });
                assert!(is_noise, "{error}");
            }
        }
        assert!(matches!(timer.time(&[0xc3]), Err(BlockError::Leaves { .. })));
    }
}
