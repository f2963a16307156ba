//! The capacity that was used, from how long each number of siblings was busy.
//!
//! Let w(k) be the work done a second by a core with k busy logical CPUs, in units of what one does alone: w(0) = 0,
//! w(1) = 1 and w(S) = Y, the SMT yield. A core that had k of them busy for the share p(k) of the time did
//! sum p(k) w(k) / Y of what it can do. For S = 2 this is p(1)/Y + p(2): with Y = 2 what the kernel reports, with
//! Y = 1 the share of time in which the core was not idle. docs/top.md derives it.
//!
//! Between one and S siblings w is not known, but each further sibling adds no more than the one before it: w is concave and
//! does not fall. So it lies on or above the straight line from w(1) to w(S), and nowhere above min(k, Y).
//!
//! Source: IBM gives z/Architecture cores with two threads the same formula, with a measured speedup ("SMT: What
//! utilization in real?", linux.mainframe.blog; capacity factors of RMF).

use corun_record::{CapacityUse, CoreActivity, CpuActivity, YieldRange};

/// The work a second of a core of `width` logical CPUs with `busy` of them busy, where one alone does 1 and every further
/// sibling adds as much as any other.
pub fn work_rate(busy: usize, width: usize, smt_yield: f64) -> f64 {
    match (busy, width) {
        (0, _) => 0.0,
        (_, 0 | 1) => 1.0,
        _ => 1.0 + (smt_yield - 1.0) * (busy - 1) as f64 / (width - 1) as f64,
    }
}

/// The least and the most work that such a core may do, whatever each further sibling adds.
pub fn work_bounds(busy: usize, width: usize, smt_yield: f64) -> [f64; 2] {
    let least = work_rate(busy, width, smt_yield);
    [least, (busy as f64).min(work_rate(width, width, smt_yield)).max(least)]
}

/// The share of their capacity that these cores used, for any yield in a range that all of them share. A core without
/// siblings has a yield of 1, and no yield is counted as less: where siblings cost work, a core does most with one of
/// them busy, and all of it is used then.
pub fn capacity_use(cores: &[CoreActivity], yields: YieldRange) -> CapacityUse {
    let widest = cores.iter().map(width).max().unwrap_or(1) as f64;
    let [low, high] = [yields.low, yields.high].map(|it| it.clamp(1.0, widest.max(1.0)));
    // As a function of the yield a share rises or falls throughout, but for the bends of min(k, Y) at whole numbers.
    let bends = (low.ceil() as u32..=high.floor() as u32).map(f64::from);
    let tried: Vec<f64> = [low, high].into_iter().chain(bends).collect();
    let of = |bound: usize| {
        tried.iter().map(move |smt_yield| {
            used_share(cores, |busy, width| {
                work_bounds(busy, width, smt_yield.min(width as f64))[bound]
            })
        })
    };
    CapacityUse {
        reported: reported(cores),
        used_low: of(0).fold(1.0, f64::min),
        used_high: of(1).fold(0.0, f64::max),
        yields: YieldRange { low, high, ..yields },
    }
}

/// The logical CPUs of a core.
fn width(core: &CoreActivity) -> usize {
    core.busy_siblings.len().saturating_sub(1)
}

/// The work that was done over what could have been, where a core with so many of its logical CPUs busy does `rate`.
fn used_share(cores: &[CoreActivity], rate: impl Fn(usize, usize) -> f64) -> f64 {
    let (mut done, mut possible) = (0.0, 0.0);
    for core in cores {
        let width = width(core);
        done += core.busy_siblings.iter().enumerate().map(|(k, p)| p * rate(k, width)).sum::<f64>();
        possible += rate(width, width);
    }
    if possible > 0.0 { (done / possible).clamp(0.0, 1.0) } else { 0.0 }
}

/// The busy share that the kernel reports: the mean over logical CPUs.
fn reported(cores: &[CoreActivity]) -> f64 {
    let cpus = cores.iter().flat_map(|core| &core.cpus);
    // The sum of none is -0.0.
    (cpus.clone().map(CpuActivity::busy).sum::<f64>() + 0.0) / cpus.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use corun_record::YieldSource;
    use proptest::prelude::*;

    use super::*;

    /// A core whose siblings were busy in these numbers for these shares, each of them as long as any other.
    fn core(times: &[f64]) -> CoreActivity {
        let width = times.len() - 1;
        let sum: f64 = times.iter().sum();
        let busy_siblings: Vec<f64> = times.iter().map(|it| it / sum).collect();
        let busy: f64 = busy_siblings.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
        let cpu = CpuActivity { user: busy / width as f64, ..CpuActivity::default() };
        CoreActivity { cpus: vec![cpu; width], busy_siblings, ..CoreActivity::default() }
    }

    fn yields(low: f64, high: f64) -> YieldRange {
        YieldRange { low, high, source: YieldSource::Given }
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    fn machines(width: usize) -> impl Strategy<Value = Vec<CoreActivity>> {
        let times = prop::collection::vec(0.01..1.0, width + 1);
        prop::collection::vec(times.prop_map(|times| core(&times)), 1..9)
    }

    /// Additions of siblings after the first, each no more than the one before: a true w.
    fn adding(width: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.0..1.0, width - 1).prop_map(|mut adds| {
            adds.sort_by(|one: &f64, other| other.total_cmp(one));
            let mut rates = vec![0.0, 1.0];
            rates.extend(adds.iter().scan(1.0, |sum, it| {
                *sum += it;
                Some(*sum)
            }));
            rates
        })
    }

    #[test]
    fn one_busy_sibling_of_two_uses_what_the_yield_says() {
        let half = [core(&[0.0, 1.0, 0.0])];
        let of = |low, high| {
            let used = capacity_use(&half, yields(low, high));
            [used.reported, used.used_low, used.used_high]
        };
        assert_eq!(of(1.25, 1.25), [0.5, 0.8, 0.8]);
        assert_eq!(of(1.0, 2.0), [0.5, 0.5, 1.0]);
        assert_eq!(of(0.8, 1.0), [0.5, 1.0, 1.0], "siblings that cost work leave nothing");
    }

    #[test]
    fn the_published_example_of_ibm_comes_out() {
        // linux.mainframe.blog, smt_utilization: 8 cores, 799.2 % of cores and 1198.9 % of threads busy, s = 1.3:
        // 707.03 % of which 0.02 % is the hypervisor's.
        let (cores, threads) = (7.992, 11.989);
        let (one, both) = ((2.0 * cores - threads) / 8.0, (threads - cores) / 8.0);
        let machine = [core(&[1.0 - one - both, one, both])];
        let used = capacity_use(&machine, yields(1.3, 1.3));
        assert!((used.used_low * 8.0 - 7.0701).abs() < 1e-3, "{used:?}");
    }

    #[test]
    fn no_core_uses_nothing() {
        let used = capacity_use(&[], yields(1.0, 2.0));
        assert_eq!([used.reported, used.used_low, used.used_high], [0.0; 3]);
    }

    proptest! {
        #[test]
        fn any_yield_ranges_from_the_kernels_share_to_that_of_busy_cores(
            machine in (1_usize..9).prop_flat_map(machines),
        ) {
            let width = width(&machine[0]) as f64;
            let used = capacity_use(&machine, yields(1.0, width));
            let busy_cores = machine.iter().map(|it| 1.0 - it.idle()).sum::<f64>() / machine.len() as f64;
            prop_assert!(near(used.used_low, used.reported), "{used:?}");
            prop_assert!(near(used.used_high, busy_cores), "{used:?} {busy_cores}");
        }

        #[test]
        fn a_range_is_in_order_and_a_narrower_one_lies_within(
            wide in machines(2),
            narrow in machines(1),
            limits in [1.0..2.0, 1.0..2.0, 1.0..2.0],
        ) {
            let machine = [wide, narrow].concat();
            let mut limits: [f64; 3] = limits;
            limits.sort_by(f64::total_cmp);
            let [low, middle, high] = limits;
            let all = capacity_use(&machine, yields(low, high));
            let part = capacity_use(&machine, yields(low, middle));
            prop_assert!(0.0 <= all.used_low && all.used_low <= all.used_high && all.used_high <= 1.0);
            prop_assert!(all.used_low <= part.used_low + 1e-12 && part.used_high <= all.used_high + 1e-12);
        }

        #[test]
        fn more_busy_time_uses_more(
            times in prop::collection::vec(0.01..1.0, 3..6),
            more in 0.0..1.0,
            smt_yield in 1.0..2.0,
        ) {
            let before = core(&times);
            let mut after = before.clone();
            let moved = more * after.busy_siblings[0];
            after.busy_siblings[0] -= moved;
            *after.busy_siblings.last_mut().unwrap() += moved;
            let [before, after] =
                [before, after].map(|it| capacity_use(&[it], yields(smt_yield, smt_yield)));
            prop_assert!(before.used_low <= after.used_low + 1e-12);
            prop_assert!(before.used_high <= after.used_high + 1e-12);
        }

        #[test]
        fn the_range_holds_the_truth_whatever_each_sibling_adds(
            (machine, rates) in (2_usize..9).prop_flat_map(|width| (machines(width), adding(width))),
            below in 0.0..0.5,
            above in 0.0..0.5,
        ) {
            let smt_yield = rates[rates.len() - 1];
            let truth = used_share(&machine, |busy, _| rates[busy]);
            let used = capacity_use(&machine, yields(smt_yield - below, smt_yield + above));
            prop_assert!(
                used.used_low <= truth + 1e-9 && truth <= used.used_high + 1e-9,
                "{truth} {used:?}"
            );
        }

        #[test]
        fn cores_with_and_without_siblings_hold_the_truth(
            wide in machines(2),
            narrow in machines(1),
            smt_yield in 1.0_f64..2.0,
        ) {
            let machine = [wide, narrow].concat();
            let truth = used_share(&machine, |busy, width| work_rate(busy, width, smt_yield.min(width as f64)));
            for range in [yields(smt_yield, smt_yield), yields(1.0, 2.0)] {
                let used = capacity_use(&machine, range);
                prop_assert!(used.used_low <= truth + 1e-9 && truth <= used.used_high + 1e-9);
            }
        }
    }
}
