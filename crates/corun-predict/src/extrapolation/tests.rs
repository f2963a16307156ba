//! Windows of runs whose cycles are known.

use corun_record::MemoryRequests;
use corun_sim::{ChosenPoint, EventCounts, Piece, SimulationWeight};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// Windows after warm-ups in which the same was noticed, so many times.
fn windows(cycles: &[u64], instructions: u64, warm_ups: u64) -> Vec<SimulatedWindow> {
    let noticed = EventCounts { instructions, ..Default::default() };
    let events_with_warm_up =
        EventCounts { instructions: instructions * (1 + warm_ups), ..Default::default() };
    let window = |(index, &cycles)| SimulatedWindow {
        begin: index as u64 * 2 * instructions,
        cycles,
        events: noticed,
        events_with_warm_up,
        pieces: vec![Piece { cycles, events: noticed }],
        weight: None,
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
        let found = extrapolated(&windows(&[80, 100, 120], 100, warm_ups), 1_000_000_000).unwrap();
        assert!((found.value - 1e9).abs() < 1.0, "{found:?}");
        let half = 4.302_652_7 * 20.0 / 3_f64.sqrt() / 100.0;
        assert!((found.high / 1e9 - 1.0 - half).abs() < 1e-6, "{found:?}");
        assert!((1.0 - found.low / 1e9 - half).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn windows_that_were_chosen_weigh_what_they_stand_for() {
    let mut three = windows(&[100, 200, 500], 100, 4);
    for (window, weight) in three.iter_mut().zip([7000, 2000, 1000]) {
        window.weight = Some(SimulationWeight {
            own: 100,
            all: weight,
            point: Some(ChosenPoint { left_out: weight - 500 }),
        });
    }
    let found = extrapolated(&three, 10_000).unwrap();
    assert!((found.value - 16_000.0).abs() < 1e-6, "{found:?}");
    assert_eq!(represented_instructions(&three), Some(10_000.0));
    assert_eq!(represented_instructions(&windows(&[100], 100, 4)), None);
    assert!(found.low < found.value && found.value < found.high, "{found:?}");
}

/// A misprediction costs 20 cycles, an instruction 0.4. Of the run half is recorded, and of the other half windows stand
/// for three quarters and a quarter.
#[test]
fn what_is_recorded_counts_for_itself_and_windows_for_the_rest() {
    let noticed =
        |instructions, mispredicts| EventCounts { instructions, mispredicts, ..Default::default() };
    let window = |index: u64| {
        let (mispredicts, part) = if index.is_multiple_of(2) { (2, 3) } else { (14, 1) };
        let own = noticed(1000, mispredicts);
        let cycles = 400 + 20 * mispredicts;
        SimulatedWindow {
            begin: 100_000 * index,
            cycles,
            events: own,
            events_with_warm_up: noticed(25_000, if index.is_multiple_of(2) { 40 } else { 160 }),
            pieces: vec![Piece { cycles, events: own }; 6],
            weight: Some(SimulationWeight {
                own: 1000,
                all: 25_000 * part,
                point: Some(ChosenPoint { left_out: 12_500 * part }),
            }),
        }
    };
    let windows: Vec<SimulatedWindow> = (0..10).map(window).collect();
    let expected = 400.0 + 20.0 * (4.0 + 5.0) / 2.0;
    let found = extrapolated(&windows, 500_000).unwrap();
    assert!((found.value / 500.0 / expected - 1.0).abs() < 1e-6, "{found:?}");
}

/// Runs of kinds of work, each with a rate and a spread of its own; a random window of each cluster. How often the
/// interval holds the truth.
#[test]
fn windows_of_clusters_hold_the_truth() {
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
            window.weight = Some(SimulationWeight {
                own: 1000,
                all,
                point: Some(ChosenPoint { left_out: all - 1000 }),
            });
            window
        };
        let kinds: Vec<SimulatedWindow> = (0..8).map(kind).collect();
        let total = represented_instructions(&kinds).unwrap() as u64;
        let found = extrapolated(&kinds, total).unwrap();
        held += u32::from((found.low..=found.high).contains(&truth));
        assert!((found.value / truth - 1.0).abs() < 0.06, "{found:?} {truth}");
    }
    assert!(f64::from(held) >= 0.95 * f64::from(TRIES), "{held} of {TRIES}");
}

#[test]
fn a_window_that_stands_for_most_does_not_confirm_itself() {
    let mut ten = windows(&[100, 200, 200, 200, 200, 200, 200, 200, 200, 200], 100, 0);
    for (at, window) in ten.iter_mut().enumerate() {
        let all = if at == 0 { 99_100 } else { 100 };
        window.weight = Some(SimulationWeight {
            own: 100,
            all,
            point: Some(ChosenPoint { left_out: all - 100 }),
        });
    }
    let found = extrapolated(&ten, 100_000).unwrap();
    assert!(found.high > 1.3 * found.value, "{found:?}");
}

#[test]
fn windows_that_leave_nothing_out_have_no_width() {
    let found = extrapolated(&windows(&[80, 100, 120], 100, 0), 300).unwrap();
    assert_eq!((found.value, found.low, found.high), (300.0, 300.0, 300.0));
}

/// A run of intervals of 1000 instructions, in some of which branches are mispredicted or lines come from
/// memory, in bursts; and the cycles of each, with something that nothing explains.
struct Population {
    intervals: Vec<(EventCounts, f64)>,
}

impl Population {
    fn of(chance: &mut StdRng, count: usize) -> Self {
        let mut burst = 0_u64;
        let mut interval = || {
            if chance.random_bool(0.02) {
                burst = chance.random_range(0..60);
            }
            let mispredicts = chance.random_range(0..8) + burst;
            let l1d_misses = chance.random_range(0..20) + burst / 2;
            let main = l1d_misses / 4;
            let requests =
                MemoryRequests { l1d_misses, l2_misses: main, main, ..Default::default() };
            let noticed = EventCounts { instructions: 1000, mispredicts, requests };
            let unexplained = chance.random_range(-60.0..60.0);
            let cycles = 400.0
                + 18.0 * mispredicts as f64
                + 9.0 * l1d_misses as f64
                + 150.0 * main as f64
                + unexplained;
            (noticed, cycles)
        };
        Self { intervals: (0..count).map(|_| interval()).collect() }
    }

    fn cycles(&self) -> f64 {
        self.intervals.iter().map(|(_, cycles)| cycles).sum()
    }

    fn instructions(&self) -> u64 {
        1000 * self.intervals.len() as u64
    }

    /// One interval of every `part`, at random, after up to so many that are recorded.
    fn windows(&self, chance: &mut StdRng, part: usize, recorded: usize) -> Vec<SimulatedWindow> {
        let window = |number: usize| {
            let at = part * number + chance.random_range(recorded - 1..part);
            self.window(at + 1 - recorded, at)
        };
        (0..self.intervals.len() / part).map(window).collect()
    }

    /// The last of some intervals that are recorded.
    fn window(&self, first: usize, last: usize) -> SimulatedWindow {
        let (events, cycles) = self.intervals[last];
        let cycles = cycles.round() as u64;
        let all = self.intervals[first..=last].iter();
        SimulatedWindow {
            begin: 0,
            cycles,
            events,
            events_with_warm_up: all.fold(EventCounts::default(), |sum, (one, _)| sum.plus(one)),
            pieces: vec![Piece { cycles, events }],
            weight: None,
        }
    }
}

/// Share of intervals that hold the truth, and its mean half-width as a share.
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

/// A run that begins with intervals which cost ten times as much. Windows lie in equal parts, or also in parts that double from
/// one interval on: how often the interval holds the truth, and its mean half-width as a share.
fn coverage_of_slow_start(doubles: bool, recorded: usize) -> (f64, f64) {
    const PART: usize = 64;
    const TRIES: u32 = 300;
    let mut chance = StdRng::seed_from_u64(2026);
    let (mut held, mut width) = (0, 0.0);
    for _ in 0..TRIES {
        let mut population = Population::of(&mut chance, PART * 60);
        for (_, cycles) in &mut population.intervals[..40] {
            *cycles *= 10.0;
        }
        let mut ends = if doubles { vec![1, 2, 4, 8, 16, 32] } else { Vec::new() };
        let first = ends.last().copied().unwrap_or(0);
        let length = (population.intervals.len() - first) / 60;
        ends.extend((1..=60).map(|number| first + number * length));
        let mut begin = 0;
        let mut before = 0;
        let mut window = |end: usize| {
            let at = chance.random_range(begin..end);
            let from = before.max((at + 1).saturating_sub(recorded));
            let all = 1000 * (end - begin) as u64;
            (begin, before) = (end, at + 1);
            let weight = doubles.then_some(SimulationWeight { own: 1000, all, point: None });
            SimulatedWindow { weight, ..population.window(from, at) }
        };
        let windows: Vec<SimulatedWindow> = ends.iter().map(|&end| window(end)).collect();
        let found = extrapolated(&windows, population.instructions()).unwrap();
        let truth = population.cycles();
        held += u32::from((found.low..=found.high).contains(&truth));
        width += (found.high - found.low) / 2.0 / truth / f64::from(TRIES);
    }
    (f64::from(held) / f64::from(TRIES), width)
}

#[test]
fn parts_that_double_know_a_slow_start() {
    for recorded in [1, 12, 200] {
        let (held, width) = coverage_of_slow_start(true, recorded);
        let (of_equal, width_of_equal) = coverage_of_slow_start(false, recorded);
        let both = format!("{held}, {width}; equal parts {of_equal}, {width_of_equal}");
        assert!(held >= 0.92, "{recorded} recorded: {both}");
        assert!(held > of_equal && width < width_of_equal, "{recorded} recorded: {both}");
    }
}

/// Ten windows of forty intervals each, after warm-ups of two hundred; how often the interval holds the truth, and
/// how far the estimate and the mean rate of the windows are off, as shares.
#[test]
fn long_windows_enter_the_regression_in_pieces() {
    let mut chance = StdRng::seed_from_u64(2026);
    let (mut held, mut off, mut off_by_mean) = (0, 0.0, 0.0);
    const TRIES: u32 = 200;
    for _ in 0..TRIES {
        let population = Population::of(&mut chance, 4000);
        let window = |intervals: &[(EventCounts, f64)]| {
            let begin = chance.random_range(200..360);
            let all = |intervals: &[(EventCounts, f64)]| {
                intervals.iter().fold(EventCounts::default(), |sum, (one, _)| sum.plus(one))
            };
            let own = &intervals[begin..begin + 40];
            let piece = |&(noticed, cycles): &(EventCounts, f64)| Piece {
                cycles: cycles as u64,
                events: noticed,
            };
            let pieces: Vec<Piece> = own.iter().map(piece).collect();
            SimulatedWindow {
                begin: 0,
                cycles: pieces.iter().map(|piece| piece.cycles).sum(),
                events: all(own),
                events_with_warm_up: all(&intervals[begin - 200..begin + 40]),
                pieces,
                weight: None,
            }
        };
        let windows: Vec<SimulatedWindow> =
            population.intervals.chunks_exact(400).map(window).collect();
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
/// random intervals, and all is recorded. How often the interval holds the truth.
#[test]
fn windows_of_clusters_with_pieces_hold_the_truth() {
    const TRIES: u32 = 200;
    for shares in [[1, 2, 3, 5, 8, 13, 21, 34], [1, 1, 1, 2, 2, 3, 5, 85]] {
        let mut chance = StdRng::seed_from_u64(2026);
        let (mut held, mut off) = (0, 0.0);
        for _ in 0..TRIES {
            let mut truth = 0.0;
            let mut kind = |share: usize| {
                let intervals = Population::of(&mut chance, 40 * share).intervals;
                let besides = chance.random_range(0.0..100.0);
                let cycles = |it: &(EventCounts, f64)| it.1 + besides;
                truth += intervals.iter().map(cycles).sum::<f64>();
                let noticed = |intervals: &[(EventCounts, f64)]| {
                    intervals.iter().fold(EventCounts::default(), |sum, (one, _)| sum.plus(one))
                };
                let begin = 40 * chance.random_range(0..share);
                let own = &intervals[begin..begin + 40];
                let piece = |it| Piece { cycles: cycles(it) as u64, events: it.0 };
                let pieces: Vec<Piece> = own.iter().map(piece).collect();
                SimulatedWindow {
                    begin: 0,
                    cycles: pieces.iter().map(|piece| piece.cycles).sum(),
                    events: noticed(own),
                    events_with_warm_up: noticed(&intervals),
                    pieces,
                    weight: Some(SimulationWeight {
                        own: 40_000,
                        all: 40_000 * share as u64,
                        point: Some(ChosenPoint { left_out: 0 }),
                    }),
                }
            };
            let windows: Vec<SimulatedWindow> = shares.map(&mut kind).into();
            let total = represented_instructions(&windows).unwrap() as u64;
            let found = extrapolated(&windows, total).unwrap();
            held += u32::from((found.low..=found.high).contains(&truth));
            off += (found.value / truth - 1.0).abs() / f64::from(TRIES);
        }
        assert!(f64::from(held) >= 0.92 * f64::from(TRIES), "{shares:?}: {held} of {TRIES}");
        assert!(off < 0.03, "{shares:?}: {off}");
    }
}

#[test]
fn events_narrow_the_interval() {
    let [(_, alone), (_, some), (_, all)] = [1, 6, 20].map(|recorded| coverage(20, recorded));
    assert!(some < 0.8 * alone && all < 0.4 * alone, "{alone} {some} {all}");
}

#[test]
fn events_at_another_rate_in_warm_ups_have_no_coefficient() {
    let stream = |index: u64| {
        let noticed = |instructions, l1d_misses| EventCounts {
            instructions,
            requests: MemoryRequests { l1d_misses, ..Default::default() },
            ..Default::default()
        };
        let (cycles, own) = (800 + index % 3, noticed(1000, 399 + index % 3));
        SimulatedWindow {
            begin: 20_000 * index,
            cycles,
            events: own,
            pieces: vec![Piece { cycles, events: own }],
            // Prefetchers are in time for three of four lines there.
            events_with_warm_up: noticed(11_000, 399 + index % 3 + 1000 + index % 5),
            weight: None,
        }
    };
    let windows: Vec<SimulatedWindow> = (0..100).map(stream).collect();
    let found = extrapolated(&windows, 2_000_000).unwrap();
    assert!((found.value / 1_600_000.0 - 1.0).abs() < 0.01, "{found:?}");
}

/// In each window misses come along with three mispredictions and with something quick; in the rest of the run alone.
#[test]
fn no_coefficient_is_negative() {
    let noticed = |mispredicts, l1d_misses| EventCounts {
        instructions: 1000,
        mispredicts,
        requests: MemoryRequests { l1d_misses, ..Default::default() },
    };
    let window = |index: u64| {
        let (own, misses) = (noticed(index % 7, index % 5), index % 5);
        let cycles = 800 + 20 * (index % 7) - 30 * misses;
        let mut both = own.plus(&noticed(index % 7, index % 5));
        both.requests.l1d_misses += 4 * (index % 2);
        SimulatedWindow {
            begin: 10_000 * index,
            cycles,
            events: own,
            events_with_warm_up: both,
            pieces: vec![Piece { cycles, events: own }],
            weight: None,
        }
    };
    let windows: Vec<SimulatedWindow> = (0..105).map(window).collect();
    let coefficients = Coefficients::fit(&Sample::of(&windows, 1_000_000).unwrap()).unwrap();
    assert!(coefficients.each.iter().all(|cycles| *cycles >= 0.0), "{coefficients:?}");
    assert!((coefficients.each[1] - 20.0).abs() < 2.0, "{coefficients:?}");
}

/// A start in which mispredictions cost more than in the long rest, most of which five windows stand for.
#[test]
fn coefficients_follow_the_weights_of_windows() {
    let window = |index: u64| {
        let (cost, all) = if index < 5 { (60, 1000) } else { (20, 200_000) };
        let piece = |at: u64| {
            let mispredicts = at + 3 * index;
            let noticed = EventCounts { instructions: 1000, mispredicts, ..Default::default() };
            Piece { cycles: 300 + cost * mispredicts, events: noticed }
        };
        let pieces: Vec<Piece> = (0..10).map(piece).collect();
        let own = pieces.iter().fold(EventCounts::default(), |sum, it| sum.plus(&it.events));
        SimulatedWindow {
            begin: 100_000 * index,
            cycles: pieces.iter().map(|piece| piece.cycles).sum(),
            events: own,
            events_with_warm_up: own.plus(&own),
            pieces,
            weight: Some(SimulationWeight {
                own: 10_000,
                all: 10 * all,
                point: Some(ChosenPoint { left_out: 0 }),
            }),
        }
    };
    let windows: Vec<SimulatedWindow> = (0..10).map(window).collect();
    let total = represented_instructions(&windows).unwrap() as u64;
    let coefficients = Coefficients::fit(&Sample::of(&windows, total).unwrap()).unwrap();
    assert!((coefficients.each[1] - 20.0).abs() < 2.0, "{coefficients:?}");
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
