//! From windows to the whole run, with the help of what was noticed between them.
//!
//! Warming tells of everything that is recorded how often branches were mispredicted and caches missed, but
//! not how long it took. So windows teach what each of these costs, and all that is recorded is priced:
//! a regression estimate in two phases (Cochran 1977, Sampling Techniques, 7.6 and 12.6). A burst of misses
//! that no window lies in is counted all the same. Windows teach as often as they stand for others (Särndal, Swensson
//! and Wretman 1992, Model Assisted Survey Sampling, 6.4). A long window teaches in pieces; but how far prices are off is
//! known of whole windows only, since pieces of one are alike. Few pieces teach nothing; then their mean rate
//! stands for the run, a ratio estimate (6.4).

use corun_measure::statistics::student_t;
use corun_record::Estimate;
use corun_sim::{Noticed, Piece, SimulatedWindow};
use nalgebra::{DMatrix, DVector};

use crate::estimate::LEVEL;

/// So many pieces of windows for each figure whose price is asked.
const PIECES_A_PRICE: usize = 10;
/// Figures that have a price.
const FIGURES: usize = 5;
/// Standard errors by which windows and warm-ups may differ, and be of the same program all the same.
const DEVIATIONS: f64 = 3.0;
/// Directions of what was noticed that are this much weaker than the strongest one tell nothing.
const WEAKEST: f64 = 1e-9;

/// Cycles of a run of `total` instructions from its windows; none without windows.
///
/// A run that was simulated whole, or in a single window, has an interval without width: nothing is known
/// then of what another window would give. Windows that lie evenly, or were chosen by what is executed, are mostly
/// better than those by chance that the interval is made for.
pub fn extrapolated(windows: &[SimulatedWindow], total: u64) -> Option<Estimate> {
    let run = Run::of(windows, total)?;
    let prices = Prices::learned(&run)
        .filter(|prices| windows.iter().all(|window| prices.of(&window.with_warm_up) > 0.0))
        .unwrap_or_else(|| Prices::of_instructions(run.mean(|it| it.cycles as f64), windows));
    let expected = |it: &SimulatedWindow| prices.of(&it.noticed);
    let unexplained = |it: &SimulatedWindow| it.cycles as f64 - expected(it);
    let priced: f64 = windows.iter().map(|window| prices.of(&window.with_warm_up)).sum();
    // What is not recorded is as the windows that stand for it, or, of windows that lie evenly, as what is.
    let explained = (priced + run.left_out(expected)) / (run.recorded + run.left_out(instructions));
    let rate = explained + run.mean(unexplained);
    let half =
        student_t(LEVEL, (windows.len() - prices.freedom_lost + 1) as u32).map_or(0.0, |reach| {
            // What prices leave unexplained is known of windows alone, ...
            let of_windows = run.variance(&prices.unexplained(&run), prices.freedom_lost)
                * share_left(run.instructions, run.total);
            // ... what they explain, of all that is recorded.
            let of_records = match run.is_chosen {
                true => {
                    run.variance(&run.each(expected), 1)
                        * share_left(run.recorded, run.total).powi(2)
                }
                false => {
                    let mean = priced / run.recorded;
                    let deviations = windows.iter().map(|it| {
                        let instructions = it.with_warm_up.instructions as f64;
                        prices.of(&it.with_warm_up) - mean * instructions
                    });
                    let count = windows.len() as f64;
                    variance(deviations, 1) / (run.recorded / count).powi(2) / count
                        * share_left(run.recorded, run.total)
                }
            };
            reach * (of_windows + of_records).sqrt()
        });
    let scaled = |rate: f64| rate * run.total;
    Some(Estimate {
        value: scaled(rate),
        // No instruction takes no time: where too little is known, the logarithm has as wide an interval.
        low: scaled(if half < rate { rate - half } else { rate * (-half / rate).exp() }),
        high: scaled(rate + half),
        level: LEVEL,
        blocks: windows.len() as u32,
    })
}

/// Instructions of a thread that its windows stand for; none if they were not chosen for that.
pub fn stood_for(windows: &[SimulatedWindow]) -> Option<f64> {
    Run::of(windows, 0).filter(|run| run.is_chosen).map(|run| run.stand_for())
}

/// Windows, and what they are of.
struct Run<'a> {
    /// Each window, with how many times it counts.
    windows: Vec<(&'a SimulatedWindow, f64)>,
    /// Whether they were chosen to count so many times.
    is_chosen: bool,
    /// Instructions of the windows, ...
    instructions: f64,
    /// ... of all that is recorded, ...
    recorded: f64,
    /// ... and of the run.
    total: f64,
}

fn instructions(window: &SimulatedWindow) -> f64 {
    window.noticed.instructions as f64
}

impl<'a> Run<'a> {
    fn of(windows: &'a [SimulatedWindow], total: u64) -> Option<Self> {
        let is_chosen = windows.iter().all(|window| window.stands_for.is_some());
        let chosen = |it: &SimulatedWindow| it.stands_for.filter(|_| is_chosen);
        let times =
            |it: &SimulatedWindow| chosen(it).map_or(1.0, |it| it.all as f64 / it.own as f64);
        let sum = |of: fn(&SimulatedWindow) -> u64| windows.iter().map(of).sum::<u64>() as f64;
        let instructions = sum(|it| it.noticed.instructions);
        (instructions > 0.0).then(|| Self {
            windows: windows.iter().map(|window| (window, times(window))).collect(),
            is_chosen,
            instructions,
            recorded: sum(|it| it.with_warm_up.instructions),
            total: total as f64,
        })
    }

    /// Instructions that the windows stand for.
    fn stand_for(&self) -> f64 {
        self.windows.iter().map(|(it, times)| times * instructions(it)).sum()
    }

    /// Of something of windows, for each instruction of the run.
    fn mean(&self, of: impl Fn(&SimulatedWindow) -> f64) -> f64 {
        self.windows.iter().map(|(it, times)| times * of(it)).sum::<f64>() / self.stand_for()
    }

    /// Cycles of an instruction of all windows but one.
    fn rate_without(&self, left: usize) -> f64 {
        let others = || self.windows.iter().enumerate().filter(|(at, _)| *at != left);
        let cycles: f64 = others().map(|(_, (it, times))| times * it.cycles as f64).sum();
        cycles / others().map(|(_, (it, times))| times * instructions(it)).sum::<f64>()
    }

    /// Of something of windows, how much of it what is not recorded has; nothing unless they stand for that.
    fn left_out(&self, of: impl Fn(&SimulatedWindow) -> f64) -> f64 {
        let times = |it: &SimulatedWindow| {
            let stands_for = it.stands_for.filter(|_| self.is_chosen);
            stands_for.map_or(0.0, |it| it.left_out as f64 / it.own as f64)
        };
        self.windows.iter().map(|(it, _)| times(it) * of(it)).sum()
    }

    /// Something of each window.
    fn each(&self, of: impl Fn(&SimulatedWindow) -> f64) -> Vec<f64> {
        self.windows.iter().map(|(it, _)| of(it)).collect()
    }

    /// Of the mean of these, one a window, for each instruction of the run, if the windows lay by chance: by how much it
    /// would be another one without each of them in turn (jackknife), so that a window which stands for most of the run
    /// does not vouch for itself.
    fn variance(&self, values: &[f64], freedom_lost: usize) -> f64 {
        let all = self.stand_for();
        let windows = || self.windows.iter().zip(values);
        let mean = windows().map(|((_, times), value)| times * value).sum::<f64>() / all;
        let deviations = windows().map(|((it, times), value)| {
            let part = times * instructions(it) / all;
            part * (value / instructions(it) - mean) / (1.0 - part).max(f64::EPSILON)
        });
        let count = self.windows.len() as f64;
        let deviations: Vec<f64> = deviations.collect();
        variance(deviations.into_iter(), freedom_lost) * (count - 1.0).powi(2) / count
    }
}

/// What is not looked at, as a share.
fn share_left(part: f64, whole: f64) -> f64 {
    (1.0 - part / whole.max(1.0)).max(0.0)
}

/// Of values whose mean is 0.
fn variance(values: impl ExactSizeIterator<Item = f64>, freedom_lost: usize) -> f64 {
    let freedom = values.len().saturating_sub(freedom_lost).max(1) as f64;
    values.map(|value| value * value).sum::<f64>() / freedom
}

/// Cycles of an instruction, a misprediction, a miss, ...
#[derive(Debug)]
struct Prices {
    each: DVector<f64>,
    /// By how many the prices, which fit the windows, make their residuals too small.
    freedom_lost: usize,
    /// Which of them were learned, if any was.
    tells: Option<[bool; FIGURES]>,
}

impl Prices {
    /// Those that fit the windows best (least squares, each window as often as it counts) of those with which nothing
    /// saves time; none if there are too few windows to tell, or nothing else was recorded.
    ///
    /// What seems to save time came along with something else in these windows, and in the rest of the run need not.
    fn learned(run: &Run<'_>) -> Option<Self> {
        let pieces = pieces(&run.windows);
        if pieces.len() < PIECES_A_PRICE * FIGURES || run.recorded <= run.instructions {
            return None;
        }
        let mut tells = comparable(run);
        loop {
            let (each, rank) = fitting(&pieces, tells)?;
            let is_paid = |at: &usize| tells[*at] && each[*at] < 0.0;
            // By what it takes off all pieces together.
            let taken_off = |at: &usize| each[*at] * sum(&pieces, *at);
            let least = (1..FIGURES)
                .filter(is_paid)
                .min_by(|one, other| taken_off(one).total_cmp(&taken_off(other)));
            let Some(least) = least else {
                // Of the freedom that pieces lose, windows lose their part.
                let freedom_lost = (rank * run.windows.len()).div_ceil(pieces.len());
                return Some(Self { each, freedom_lost, tells: Some(tells) });
            };
            tells[least] = false;
        }
    }

    /// Every instruction takes as long.
    fn of_instructions(rate: f64, windows: &[SimulatedWindow]) -> Self {
        let mut each = DVector::zeros(FIGURES);
        each[0] = rate;
        Self { each, freedom_lost: windows.len().min(1), tells: None }
    }

    /// Cycles of each window besides its price; by prices that others teach where windows were chosen, since few of them
    /// bend prices their way, and one that stands for most of the run does so alone. Where others know nothing of what it
    /// met, their mean rate is the nearer guess.
    fn unexplained(&self, run: &Run<'_>) -> Vec<f64> {
        let without = |at: usize| {
            let tells = self.tells.filter(|_| run.is_chosen && run.windows.len() > 1)?;
            let others = [&run.windows[..at], &run.windows[at + 1..]].concat();
            let (each, _) = fitting(&pieces(&others), tells)?;
            Some(Self { each, ..*self })
        };
        let cycles = |(at, (it, _)): (usize, &(&SimulatedWindow, f64))| {
            let besides = |price: f64| it.cycles as f64 - price;
            let Some(prices) = without(at) else { return besides(self.of(&it.noticed)) };
            let [priced, rated] =
                [prices.of(&it.noticed), run.rate_without(at) * instructions(it)].map(besides);
            if priced.abs() < rated.abs() { priced } else { rated }
        };
        run.windows.iter().enumerate().map(cycles).collect()
    }

    fn of(&self, noticed: &Noticed) -> f64 {
        self.each.iter().zip(figures(noticed)).map(|(price, figure)| price * figure).sum()
    }
}

/// The pieces of windows, each with how many times it counts.
fn pieces<'a>(windows: &[(&'a SimulatedWindow, f64)]) -> Vec<(&'a Piece, f64)> {
    let pieces = windows
        .iter()
        .flat_map(|(window, times)| window.pieces.iter().map(|piece| (piece, *times)));
    pieces.collect()
}

/// The prices of what tells that fit these pieces best, each of which counts so many times, and how many of them are
/// independent.
fn fitting(pieces: &[(&Piece, f64)], tells: [bool; FIGURES]) -> Option<(DVector<f64>, usize)> {
    let rows = pieces.iter().flat_map(|(piece, times)| {
        let noticed = figures(&piece.noticed).into_iter().zip(tells);
        noticed.map(|(figure, tells)| if tells { figure * times.sqrt() } else { 0.0 })
    });
    let mut noticed = DMatrix::from_row_iterator(pieces.len(), FIGURES, rows);
    let cycles = pieces.iter().map(|(piece, times)| piece.cycles as f64 * times.sqrt());
    let cycles = DVector::from_iterator(pieces.len(), cycles);
    // In units of their own, so that what is rare weighs no less.
    let units: Vec<f64> = noticed.column_iter().map(|column| column.norm().max(1.0)).collect();
    for (mut column, unit) in noticed.column_iter_mut().zip(&units) {
        column /= *unit;
    }
    let parts = noticed.svd(true, true);
    let weakest = WEAKEST * parts.singular_values.max();
    let mut each = parts.solve(&cycles, weakest).ok()?;
    for ((price, unit), tells) in each.iter_mut().zip(&units).zip(tells) {
        *price = if tells { *price / unit } else { 0.0 };
    }
    each.iter().all(|price| price.is_finite()).then_some((each, parts.rank(weakest)))
}

/// Of a figure in all pieces.
fn sum(pieces: &[(&Piece, f64)], at: usize) -> f64 {
    pieces.iter().map(|(piece, times)| times * figures(&piece.noticed)[at]).sum()
}

/// Of each figure, whether windows notice it as the warm-ups before them do, on average over all. What they notice
/// otherwise, such as misses that prefetchers are in time for only while nothing is timed, tells of the pipeline and
/// not of the program.
fn comparable(run: &Run<'_>) -> [bool; FIGURES] {
    let difference = |it: &SimulatedWindow, at: usize| {
        let (own, both) = (figures(&it.noticed), figures(&it.with_warm_up));
        let warm_up = both[0] - own[0];
        // For as many instructions as the window has.
        if warm_up > 0.0 { own[at] - (both[at] - own[at]) * own[0] / warm_up } else { 0.0 }
    };
    std::array::from_fn(|at| {
        let of = |it: &SimulatedWindow| difference(it, at);
        at == 0 || run.mean(of).abs() <= DEVIATIONS * run.variance(&run.each(of), 1).sqrt()
    })
}

/// What has a price, instructions first. Lines of code and walks have none: of the first the pipeline asks for more,
/// since prediction is ahead of it, and of the others it begins some twice.
fn figures(noticed: &Noticed) -> [f64; FIGURES] {
    let requests = &noticed.requests;
    [
        noticed.instructions,
        noticed.mispredicts,
        requests.l1d_misses,
        requests.l2_misses,
        requests.main,
    ]
    .map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use corun_sim::{Requests, StandsFor};
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Windows behind warm-ups in which the same was noticed, so many times.
    fn windows(cycles: &[u64], instructions: u64, warm_ups: u64) -> Vec<SimulatedWindow> {
        let noticed = Noticed { instructions, ..Default::default() };
        let with_warm_up =
            Noticed { instructions: instructions * (1 + warm_ups), ..Default::default() };
        let window = |(index, &cycles)| SimulatedWindow {
            begin: index as u64 * 2 * instructions,
            cycles,
            noticed,
            with_warm_up,
            pieces: vec![Piece { cycles, noticed }],
            stands_for: None,
        };
        cycles.iter().enumerate().map(window).collect()
    }

    #[test]
    fn a_whole_run_is_what_it_is() {
        let all = extrapolated(&windows(&[700], 1000, 0), 1000).unwrap();
        assert_eq!((all.value, all.low, all.high, all.blocks), (700.0, 700.0, 700.0, 1));
        assert_eq!(extrapolated(&[], 1000), None);
    }

    #[test]
    fn windows_give_the_textbook_interval() {
        // Rates 0.8, 1.0 and 1.2 a hundred instructions: deviation 20, t(2) = 4.30265.
        for warm_ups in [0, 5] {
            let found =
                extrapolated(&windows(&[80, 100, 120], 100, warm_ups), 1_000_000_000).unwrap();
            assert!((found.value - 1e9).abs() < 1.0, "{found:?}");
            let half = 4.302_652_7 * 20.0 / 3_f64.sqrt() / 100.0;
            assert!((found.high / 1e9 - 1.0 - half).abs() < 1e-6, "{found:?}");
            assert!((1.0 - found.low / 1e9 - half).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn windows_that_were_chosen_weigh_what_they_stand_for() {
        let mut three = windows(&[100, 200, 500], 100, 4);
        for (window, stands_for) in three.iter_mut().zip([7000, 2000, 1000]) {
            window.stands_for =
                Some(StandsFor { own: 100, all: stands_for, left_out: stands_for - 500 });
        }
        let found = extrapolated(&three, 10_000).unwrap();
        assert!((found.value - 16_000.0).abs() < 1e-6, "{found:?}");
        assert_eq!(stood_for(&three), Some(10_000.0));
        assert_eq!(stood_for(&windows(&[100], 100, 4)), None);
        assert!(found.low < found.value && found.value < found.high, "{found:?}");
    }

    /// A misprediction costs 20 cycles, an instruction 0.4. Of the run half is recorded, and of the other half windows stand
    /// for three quarters and a quarter.
    #[test]
    fn what_is_recorded_counts_for_itself_and_windows_for_the_rest() {
        let noticed =
            |instructions, mispredicts| Noticed { instructions, mispredicts, ..Default::default() };
        let window = |index: u64| {
            let (mispredicts, part) = if index.is_multiple_of(2) { (2, 3) } else { (14, 1) };
            let own = noticed(1000, mispredicts);
            let cycles = 400 + 20 * mispredicts;
            SimulatedWindow {
                begin: 100_000 * index,
                cycles,
                noticed: own,
                with_warm_up: noticed(25_000, if index.is_multiple_of(2) { 40 } else { 160 }),
                pieces: vec![Piece { cycles, noticed: own }; 6],
                stands_for: Some(StandsFor {
                    own: 1000,
                    all: 25_000 * part,
                    left_out: 12_500 * part,
                }),
            }
        };
        let windows: Vec<SimulatedWindow> = (0..10).map(window).collect();
        let expected = 400.0 + 20.0 * (4.0 + 5.0) / 2.0;
        let found = extrapolated(&windows, 500_000).unwrap();
        assert!((found.value / 500.0 / expected - 1.0).abs() < 1e-6, "{found:?}");
    }

    /// Runs of kinds of work, each with a rate and a spread of its own; a window of each kind, by chance. How often the
    /// interval holds the truth.
    #[test]
    fn windows_of_kinds_hold_the_truth() {
        let mut chance = StdRng::seed_from_u64(2026);
        let mut held = 0;
        const TRIES: u32 = 300;
        for _ in 0..TRIES {
            let mut truth = 0.0;
            let kind = |_| {
                let (rate, share) = (chance.random_range(300..2000), chance.random_range(1..60));
                let spread = rate / 20;
                let mut part = || chance.random_range(rate - spread..rate + spread);
                let parts: Vec<u64> = (0..share).map(|_| part()).collect();
                truth += parts.iter().sum::<u64>() as f64;
                let mut window = windows(&parts[..1], 1000, 0).remove(0);
                let all = 1000 * share;
                window.stands_for = Some(StandsFor { own: 1000, all, left_out: all - 1000 });
                window
            };
            let kinds: Vec<SimulatedWindow> = (0..8).map(kind).collect();
            let total = stood_for(&kinds).unwrap() as u64;
            let found = extrapolated(&kinds, total).unwrap();
            held += u32::from((found.low..=found.high).contains(&truth));
            assert!((found.value / truth - 1.0).abs() < 0.06, "{found:?} {truth}");
        }
        assert!(f64::from(held) >= 0.95 * f64::from(TRIES), "{held} of {TRIES}");
    }

    #[test]
    fn a_window_that_stands_for_most_does_not_vouch_for_itself() {
        let mut ten = windows(&[100, 200, 200, 200, 200, 200, 200, 200, 200, 200], 100, 0);
        for (at, window) in ten.iter_mut().enumerate() {
            let all = if at == 0 { 99_100 } else { 100 };
            window.stands_for = Some(StandsFor { own: 100, all, left_out: all - 100 });
        }
        let found = extrapolated(&ten, 100_000).unwrap();
        assert!(found.high > 1.3 * found.value, "{found:?}");
    }

    #[test]
    fn windows_that_leave_nothing_out_have_no_width() {
        let found = extrapolated(&windows(&[80, 100, 120], 100, 0), 300).unwrap();
        assert_eq!((found.value, found.low, found.high), (300.0, 300.0, 300.0));
    }

    /// A run of stretches of 1000 instructions, in some of which branches are mispredicted or lines come from
    /// memory, in bursts; and the cycles of each, with something that nothing explains.
    struct Population {
        stretches: Vec<(Noticed, f64)>,
    }

    impl Population {
        fn of(chance: &mut StdRng, count: usize) -> Self {
            let mut burst = 0_u64;
            let mut stretch = || {
                if chance.random_bool(0.02) {
                    burst = chance.random_range(0..60);
                }
                let mispredicts = chance.random_range(0..8) + burst;
                let l1d_misses = chance.random_range(0..20) + burst / 2;
                let main = l1d_misses / 4;
                let requests = Requests { l1d_misses, l2_misses: main, main, ..Default::default() };
                let noticed = Noticed { instructions: 1000, mispredicts, requests };
                let unexplained = chance.random_range(-60.0..60.0);
                let cycles = 400.0
                    + 18.0 * mispredicts as f64
                    + 9.0 * l1d_misses as f64
                    + 150.0 * main as f64
                    + unexplained;
                (noticed, cycles)
            };
            Self { stretches: (0..count).map(|_| stretch()).collect() }
        }

        fn cycles(&self) -> f64 {
            self.stretches.iter().map(|(_, cycles)| cycles).sum()
        }

        fn instructions(&self) -> u64 {
            1000 * self.stretches.len() as u64
        }

        /// One stretch of every `part`, by chance, behind up to so many that are recorded.
        fn windows(
            &self,
            chance: &mut StdRng,
            part: usize,
            recorded: usize,
        ) -> Vec<SimulatedWindow> {
            let window = |stretches: &[(Noticed, f64)]| {
                let at = chance.random_range(recorded - 1..part);
                let (noticed, cycles) = stretches[at];
                let all = stretches[at + 1 - recorded..=at].iter();
                let cycles = cycles.round() as u64;
                SimulatedWindow {
                    begin: 0,
                    cycles,
                    noticed,
                    with_warm_up: all.fold(Noticed::default(), |sum, (one, _)| sum.plus(one)),
                    pieces: vec![Piece { cycles, noticed }],
                    stands_for: None,
                }
            };
            self.stretches.chunks_exact(part).map(window).collect()
        }
    }

    /// How often the interval holds the truth, and its mean half-width as a share.
    fn coverage(part: usize, recorded: usize) -> (f64, f64) {
        let mut chance = StdRng::seed_from_u64(2026);
        let (mut held, mut width) = (0, 0.0);
        const TRIES: u32 = 300;
        for _ in 0..TRIES {
            let population = Population::of(&mut chance, part * 150);
            let windows = population.windows(&mut chance, part, recorded);
            let found = extrapolated(&windows, population.instructions()).unwrap();
            let truth = population.cycles();
            held += u32::from((found.low..=found.high).contains(&truth));
            width += (found.high - found.low) / 2.0 / truth / f64::from(TRIES);
        }
        (f64::from(held) / f64::from(TRIES), width)
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for (part, recorded) in [(20, 20), (20, 6), (20, 1)] {
            let (held, width) = coverage(part, recorded);
            assert!(held >= 0.92, "{recorded} of {part} recorded: {held}, half a width {width}");
        }
    }

    /// Ten windows of forty stretches each, behind warm-ups of two hundred; how often the interval holds the truth, and
    /// how far the estimate and the mean rate of the windows are off, as shares.
    #[test]
    fn long_windows_teach_in_pieces() {
        let mut chance = StdRng::seed_from_u64(2026);
        let (mut held, mut off, mut off_by_mean) = (0, 0.0, 0.0);
        const TRIES: u32 = 200;
        for _ in 0..TRIES {
            let population = Population::of(&mut chance, 4000);
            let window = |stretches: &[(Noticed, f64)]| {
                let begin = chance.random_range(200..360);
                let all = |stretches: &[(Noticed, f64)]| {
                    stretches.iter().fold(Noticed::default(), |sum, (one, _)| sum.plus(one))
                };
                let own = &stretches[begin..begin + 40];
                let piece =
                    |&(noticed, cycles): &(Noticed, f64)| Piece { cycles: cycles as u64, noticed };
                let pieces: Vec<Piece> = own.iter().map(piece).collect();
                SimulatedWindow {
                    begin: 0,
                    cycles: pieces.iter().map(|piece| piece.cycles).sum(),
                    noticed: all(own),
                    with_warm_up: all(&stretches[begin - 200..begin + 40]),
                    pieces,
                    stands_for: None,
                }
            };
            let windows: Vec<SimulatedWindow> =
                population.stretches.chunks_exact(400).map(window).collect();
            let found = extrapolated(&windows, population.instructions()).unwrap();
            let truth = population.cycles();
            held += u32::from((found.low..=found.high).contains(&truth));
            off += (found.value / truth - 1.0).abs() / f64::from(TRIES);
            let cycles: u64 = windows.iter().map(|window| window.cycles).sum();
            off_by_mean += (cycles as f64 * 10.0 / truth - 1.0).abs() / f64::from(TRIES);
        }
        assert!(f64::from(held) >= 0.92 * f64::from(TRIES), "{held} of {TRIES}");
        assert!(off < 0.5 * off_by_mean, "{off} and {off_by_mean}");
    }

    /// Kinds of work of unequal shares, in each of which something else costs cycles besides; of each a window of forty
    /// stretches by chance, and all is recorded. How often the interval holds the truth.
    #[test]
    fn windows_of_kinds_that_teach_in_pieces_hold_the_truth() {
        const TRIES: u32 = 200;
        for shares in [[1, 2, 3, 5, 8, 13, 21, 34], [1, 1, 1, 2, 2, 3, 5, 85]] {
            let mut chance = StdRng::seed_from_u64(2026);
            let (mut held, mut off) = (0, 0.0);
            for _ in 0..TRIES {
                let mut truth = 0.0;
                let mut kind = |share: usize| {
                    let stretches = Population::of(&mut chance, 40 * share).stretches;
                    let besides = chance.random_range(0.0..100.0);
                    let cycles = |it: &(Noticed, f64)| it.1 + besides;
                    truth += stretches.iter().map(cycles).sum::<f64>();
                    let noticed = |stretches: &[(Noticed, f64)]| {
                        stretches.iter().fold(Noticed::default(), |sum, (one, _)| sum.plus(one))
                    };
                    let begin = 40 * chance.random_range(0..share);
                    let own = &stretches[begin..begin + 40];
                    let piece = |it| Piece { cycles: cycles(it) as u64, noticed: it.0 };
                    let pieces: Vec<Piece> = own.iter().map(piece).collect();
                    SimulatedWindow {
                        begin: 0,
                        cycles: pieces.iter().map(|piece| piece.cycles).sum(),
                        noticed: noticed(own),
                        with_warm_up: noticed(&stretches),
                        pieces,
                        stands_for: Some(StandsFor {
                            own: 40_000,
                            all: 40_000 * share as u64,
                            left_out: 0,
                        }),
                    }
                };
                let windows: Vec<SimulatedWindow> = shares.map(&mut kind).into();
                let total = stood_for(&windows).unwrap() as u64;
                let found = extrapolated(&windows, total).unwrap();
                held += u32::from((found.low..=found.high).contains(&truth));
                off += (found.value / truth - 1.0).abs() / f64::from(TRIES);
            }
            assert!(f64::from(held) >= 0.92 * f64::from(TRIES), "{shares:?}: {held} of {TRIES}");
            assert!(off < 0.03, "{shares:?}: {off}");
        }
    }

    #[test]
    fn what_is_noticed_narrows_the_interval() {
        let [(_, alone), (_, some), (_, all)] = [1, 6, 20].map(|recorded| coverage(20, recorded));
        assert!(some < 0.8 * alone && all < 0.4 * alone, "{alone} {some} {all}");
    }

    #[test]
    fn what_warming_notices_otherwise_has_no_price() {
        let stream = |index: u64| {
            let noticed = |instructions, l1d_misses| Noticed {
                instructions,
                requests: Requests { l1d_misses, ..Default::default() },
                ..Default::default()
            };
            let (cycles, own) = (800 + index % 3, noticed(1000, 399 + index % 3));
            SimulatedWindow {
                begin: 20_000 * index,
                cycles,
                noticed: own,
                pieces: vec![Piece { cycles, noticed: own }],
                // Prefetchers are in time for three of four lines there.
                with_warm_up: noticed(11_000, 399 + index % 3 + 1000 + index % 5),
                stands_for: None,
            }
        };
        let windows: Vec<SimulatedWindow> = (0..100).map(stream).collect();
        let found = extrapolated(&windows, 2_000_000).unwrap();
        assert!((found.value / 1_600_000.0 - 1.0).abs() < 0.01, "{found:?}");
    }

    /// In each window misses come along with three mispredictions and with something quick; in the rest of the run alone.
    #[test]
    fn nothing_saves_time() {
        let noticed = |mispredicts, l1d_misses| Noticed {
            instructions: 1000,
            mispredicts,
            requests: Requests { l1d_misses, ..Default::default() },
        };
        let window = |index: u64| {
            let (own, misses) = (noticed(index % 7, index % 5), index % 5);
            let cycles = 800 + 20 * (index % 7) - 30 * misses;
            let mut both = own.plus(&noticed(index % 7, index % 5));
            both.requests.l1d_misses += 4 * (index % 2);
            SimulatedWindow {
                begin: 10_000 * index,
                cycles,
                noticed: own,
                with_warm_up: both,
                pieces: vec![Piece { cycles, noticed: own }],
                stands_for: None,
            }
        };
        let windows: Vec<SimulatedWindow> = (0..105).map(window).collect();
        let prices = Prices::learned(&Run::of(&windows, 1_000_000).unwrap()).unwrap();
        assert!(prices.each.iter().all(|price| *price >= 0.0), "{prices:?}");
        assert!((prices.each[1] - 20.0).abs() < 2.0, "{prices:?}");
    }

    /// A start in which mispredictions cost more than in the long rest, most of which five windows stand for.
    #[test]
    fn prices_are_those_of_what_windows_stand_for() {
        let window = |index: u64| {
            let (price, all) = if index < 5 { (60, 1000) } else { (20, 200_000) };
            let piece = |at: u64| {
                let mispredicts = at + 3 * index;
                let noticed = Noticed { instructions: 1000, mispredicts, ..Default::default() };
                Piece { cycles: 300 + price * mispredicts, noticed }
            };
            let pieces: Vec<Piece> = (0..10).map(piece).collect();
            let own = pieces.iter().fold(Noticed::default(), |sum, it| sum.plus(&it.noticed));
            SimulatedWindow {
                begin: 100_000 * index,
                cycles: pieces.iter().map(|piece| piece.cycles).sum(),
                noticed: own,
                with_warm_up: own.plus(&own),
                pieces,
                stands_for: Some(StandsFor { own: 10_000, all: 10 * all, left_out: 0 }),
            }
        };
        let windows: Vec<SimulatedWindow> = (0..10).map(window).collect();
        let total = stood_for(&windows).unwrap() as u64;
        let prices = Prices::learned(&Run::of(&windows, total).unwrap()).unwrap();
        assert!((prices.each[1] - 20.0).abs() < 2.0, "{prices:?}");
    }

    proptest! {
        #[test]
        fn without_more_that_was_noticed_it_lies_between_the_slowest_and_the_fastest_window(
            cycles in prop::collection::vec(1_u64..100_000, 1..200),
            warm_ups in 0_u64..20,
            total in 1_u64..1 << 40,
        ) {
            let found = extrapolated(&windows(&cycles, 1000, warm_ups), total).unwrap();
            let rate = |cycles: Option<&u64>| *cycles.unwrap() as f64 / 1000.0 * total as f64;
            prop_assert!(found.low <= found.value && found.value <= found.high);
            prop_assert!(found.value >= rate(cycles.iter().min()) * (1.0 - 1e-9));
            prop_assert!(found.value <= rate(cycles.iter().max()) * (1.0 + 1e-9));
        }
    }
}
