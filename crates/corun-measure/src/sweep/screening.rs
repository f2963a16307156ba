//! Screening: one run of few numbers, from the middle outwards, before any are compared.
//!
//! From the middle neither a program that scales nor one that falls is run long where it is slow. What is run
//! once says where the best may lie, and is no proof.

/// Numbers are tried further outwards while the last one does so much of the best's work (0.8, on the log scale).
const NEAR: f64 = 0.22;
/// A number that does so much less than both of its neighbours runs once more: something came between.
const DIP: f64 = 0.1;

/// Result of one run, or the better of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Screened {
    /// The natural logarithm of its score; of a run that was ended early, what it was below.
    pub log: f64,
    /// By how much more it might have done without what other work is known to have taken, on the log scale.
    pub lost: f64,
    /// The runs.
    pub runs: u32,
    /// It was the first run of all, with empty caches.
    pub is_cold: bool,
    /// It was ended because it was slow.
    pub is_ended: bool,
}

/// The numbers of workers that are screened, ascending: halves of the cores down to one, half of the siblings, all of
/// them, and what a quota has time for.
pub(crate) fn numbers(cores: u32, cpus: u32, quota: Option<u32>) -> Vec<u32> {
    let halves = std::iter::successors(Some(cores), |&it| (it > 1).then(|| it.div_ceil(2)));
    let mut numbers: Vec<u32> = halves
        .chain([cores + (cpus - cores) / 2, cpus])
        .chain(quota.filter(|quota| (1..=cpus).contains(quota)))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Outcome of a number in screening; `None` as long as it was not run.
pub(crate) type Outcome = Option<Option<Screened>>;

/// The index of the number to run next, of numbers with these outcomes; the inner `None` is a number that failed.
pub(crate) fn next(outcomes: &[Outcome]) -> Option<usize> {
    let count = outcomes.len();
    let middle = count / 2;
    if outcomes.get(middle)?.is_none() {
        return Some(middle);
    }
    let logs: Vec<Option<f64>> =
        outcomes.iter().map(|it| it.flatten().map(|seen| seen.log)).collect();
    let best = (0..count).filter(|&it| logs[it].is_some()).max_by(|&one, &other| {
        logs[one].unwrap_or(f64::NAN).total_cmp(&logs[other].unwrap_or(f64::NAN))
    });
    let most = best.and_then(|best| logs[best]).unwrap_or(f64::NEG_INFINITY);
    // A failure, or a run with empty caches, says nothing of what lies beyond.
    let is_near = |index: usize| {
        outcomes[index].flatten().is_none_or(|seen| seen.is_cold || seen.log >= most - NEAR)
    };
    let highest = (middle..count).take_while(|&it| outcomes[it].is_some()).last()?;
    if highest + 1 < count && is_near(highest) {
        return Some(highest + 1);
    }
    let lowest = (0..=middle).rev().take_while(|&it| outcomes[it].is_some()).last()?;
    if lowest > 0 && is_near(lowest) {
        return Some(lowest - 1);
    }
    // Nothing says that a curve has one peak: the ends are run in any case, and the neighbours of the best.
    let beside = best.into_iter().flat_map(|best| [best.checked_sub(1), Some(best + 1)]).flatten();
    let unseen = |index: &usize| outcomes.get(*index).is_some_and(Option::is_none);
    if let Some(index) = [0, count - 1].into_iter().chain(beside).find(unseen) {
        return Some(index);
    }
    let is_doubtful = |&index: &usize| {
        let Some(seen) = outcomes[index].flatten() else { return false };
        // Where a run was ended is not what it would have done.
        let whole = |it: usize| (*outcomes.get(it)?)?.filter(|seen| !seen.is_ended);
        let is_below = |it: usize| whole(it).is_some_and(|other| other.log > seen.log + DIP);
        let is_dip = index.checked_sub(1).is_some_and(is_below) && is_below(index + 1);
        seen.runs == 1 && (is_dip || (seen.is_cold && seen.log >= most - NEAR))
    };
    (0..count).find(is_doubtful)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers in the order run, and the time that they take, of a curve without noise.
    fn walk(cpus: u32, time: impl Fn(u32) -> f64) -> (Vec<u32>, f64) {
        let numbers = numbers(cpus, cpus, None);
        let mut outcomes: Vec<Outcome> = vec![None; numbers.len()];
        let (mut order, mut spent, mut best) = (Vec::new(), 0.0, f64::INFINITY);
        while let Some(index) = next(&outcomes) {
            let whole = time(numbers[index]);
            let ended = whole.min(2.0 * best);
            let is_ended = ended < whole;
            let runs = outcomes[index].flatten().map_or(1, |seen| seen.runs + 1);
            let is_cold = order.is_empty();
            outcomes[index] =
                Some(Some(Screened { log: -ended.ln(), lost: 0.0, runs, is_cold, is_ended }));
            order.push(numbers[index]);
            spent += ended;
            best = best.min(ended);
        }
        (order, spent)
    }

    #[test]
    fn neither_slow_end_of_a_curve_is_run_for_long() {
        type Case = (&'static str, fn(u32) -> f64, &'static [u32], f64);
        let cases: [Case; 4] = [
            ("linear", |n| 64.0 / f64::from(n), &[8, 16, 32, 64, 4, 1], 20.0),
            ("flat", |_| 1.0, &[8, 16, 32, 64, 4, 2, 1, 8], 8.0),
            ("falling", f64::from, &[8, 16, 4, 2, 1, 64], 34.0),
            (
                "a peak in the middle",
                |n| (f64::from(n) / 16.0).ln().abs().exp(),
                &[8, 16, 32, 4, 1, 64],
                13.0,
            ),
        ];
        for (name, time, expected, most) in cases {
            let (order, spent) = walk(64, time);
            assert_eq!(order, expected, "{name}");
            assert!(spent <= most, "{name}: {spent}");
        }
    }

    #[test]
    fn few_cpus_are_all_run() {
        assert_eq!(numbers(2, 2, None), [1, 2]);
        assert_eq!(numbers(1, 1, None), [1]);
        assert_eq!(numbers(2, 4, Some(3)), [1, 2, 3, 4]);
        assert_eq!(numbers(8, 16, Some(20)), [1, 2, 4, 8, 12, 16]);
        assert_eq!(walk(2, |n| 1.0 / f64::from(n)).0, [2, 1, 2]);
        assert_eq!(walk(1, |_| 1.0).0, [1, 1]);
    }

    #[test]
    fn a_disturbed_run_is_repeated() {
        let run = |log, runs| Screened { log, lost: 0.0, runs, is_cold: false, is_ended: false };
        let seen = |log| Some(Some(run(log, 1)));
        assert_eq!(next(&[seen(0.0), seen(-0.5), seen(0.1)]), Some(1));
        assert_eq!(next(&[seen(0.0), seen(0.05), seen(0.1)]), None);
        let twice = Some(Some(run(-0.5, 2)));
        assert_eq!(next(&[seen(0.0), twice, seen(0.1)]), None);
    }
}
