//! Fit of a model's memory parameters to readings, so that the rings take as long in the model.

use std::ops::RangeInclusive;

use corun_model::CoreModel;
use corun_record::CalibratedField;
use corun_sim::in_parallel;

use super::{InterferenceReading, ProbeRings};
use crate::curve::median;

/// Rounds of the fit: the parameters depend on each other.
const ROUNDS: usize = 3;
/// Steps that find the background fill bandwidth, in the last round and in the one before it, between these bounds in GB/s:
/// each tries two places at once. Before the last round only the time of main memory depends on it, and by little.
const STEPS: usize = 5;
const FIRST_STEPS: usize = 3;
const OTHERS: [f64; 2] = [0.01, 40.0];
/// Tolerance of two simulated times; a ring that is slower by less shows no fills.
const NOISE: f64 = 0.01;
/// Factors around the bandwidth so found, at which a line is fitted.
const AROUND: [f64; 7] = [0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15];
/// Steps by which memory is tried farther away, in nanoseconds, and the cycles that a load then takes longer at least,
/// for each of them: nearly all of its ring would be in the last level.
const FARTHER_NS: f64 = 50.0;
const SLOPE_AT_LEAST: f64 = 0.1;
/// The least memory bandwidth, in GB/s.
const SLOWEST: f64 = 0.1;

/// Limit of a fitted latency, as a multiple of the model's own, and the cycles by which it may be longer in any case.
const MAX_TIMES: f64 = 4.0;
const MAX_MORE: f64 = 150.0;
/// Latencies of main memory, in nanoseconds, that machines have: from beside the core to behind a busy fabric.
const MAIN: RangeInclusive<f64> = 20.0..=1000.0;
/// Limit of a ring's distance from its reading once all is fitted, as a factor.
const RESIDUAL: f64 = 1.3;

/// A fit that no machine has: other programs used its caches and its memory while the rings were timed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{what} comes out at {found:.0} {unit}, expected {} to {}", .expected.start(), .expected.end())]
pub struct ImplausibleFit {
    what: &'static str,
    found: f64,
    unit: &'static str,
    expected: RangeInclusive<f64>,
}

/// The model fields with which the rings take as long as in the readings; none without readings. A virtual machine's pages
/// also have entries in the hypervisor's tables.
///
/// # Errors
/// If a latency comes out as no machine has it, or no latency makes a ring take as long as it did.
pub fn fit_memory(
    model: &CoreModel,
    rings: ProbeRings,
    readings: &[InterferenceReading],
    is_virtual: bool,
) -> Result<Vec<CalibratedField>, ImplausibleFit> {
    // Interference comes in bursts, so readings are averaged on the log scale, as the measured runs are. The machine's own
    // latencies are the median over the least times of each sample.
    let mean = |of: fn(&InterferenceReading) -> f64| {
        let sum: f64 = readings.iter().map(|it| of(it).ln()).sum();
        (sum / readings.len() as f64).exp()
    };
    let usual =
        |of: fn(&InterferenceReading) -> f64| median(&readings.iter().map(of).collect::<Vec<_>>());
    if readings.is_empty() {
        return Ok(Vec::new());
    }
    let base = &model.hierarchy;
    let mut model = model.clone();
    model.hierarchy.walk.nested = is_virtual.into();
    model.hierarchy.main.gigabytes_a_second = mean(|it| it.gigabytes_a_second);
    let (last_level, pages) = (usual(|it| it.last_level), usual(|it| it.pages));
    for round in 1..=ROUNDS {
        // The least time of a sample has no interference in it.
        let more = pages - rings.pages.cycles(&with_background_fills(&model, 0.0));
        add(&mut model.hierarchy.walk.cycles, more);
        let more = last_level - rings.last_level.cycles(&with_background_fills(&model, 0.0));
        add(&mut model.hierarchy.l2.miss, more);
        if round > 1 {
            let contended = mean(|it| it.contended);
            let taken = |others: f64| {
                rings.contended.cycles(&with_background_fills(&model, others)) / contended
            };
            let others = background_bandwidth(taken, round == ROUNDS);
            model = with_background_fills(&model, others);
        }
        model.hierarchy.main.nanoseconds = latency_of_main(&model, rings, mean(|it| it.main));
    }
    let hierarchy = &model.hierarchy;
    let most = |cycles: u32| (MAX_TIMES * f64::from(cycles)).max(f64::from(cycles) + MAX_MORE);
    let check = |what, found, unit, expected: RangeInclusive<f64>| match expected.contains(&found) {
        true => Ok(()),
        false => Err(ImplausibleFit { what, found, unit, expected }),
    };
    check(
        "the miss of the second level",
        hierarchy.l2.miss.into(),
        "cycles",
        1.0..=most(base.l2.miss),
    )?;
    check("a page walk", hierarchy.walk.cycles.into(), "cycles", 0.0..=most(base.walk.cycles))?;
    check("the latency of main memory", hierarchy.main.nanoseconds, "ns", MAIN)?;
    let quiet = with_background_fills(&model, 0.0);
    for (what, read, simulated) in [
        ("a load from the last level", last_level, rings.last_level.cycles(&quiet)),
        ("a load with a page walk", pages, rings.pages.cycles(&quiet)),
        ("a load from main memory", mean(|it| it.main), rings.main_on(&model)),
    ] {
        check(what, read, "cycles", simulated / RESIDUAL..=simulated * RESIDUAL)?;
    }
    let field = |path: &str, value: f64, digits: i32| {
        let unit = 10_f64.powi(digits);
        CalibratedField { field: format!("hierarchy.{path}"), value: (value * unit).round() / unit }
    };
    let mut found = vec![
        field("l2.miss", hierarchy.l2.miss.into(), 0),
        field(
            "l3.background_fills",
            hierarchy.l3.as_ref().map_or(0.0, |l3| l3.background_fills),
            2,
        ),
        field("main.nanoseconds", hierarchy.main.nanoseconds, 0),
        field("main.gigabytes_a_second", hierarchy.main.gigabytes_a_second.max(SLOWEST), 1),
        field("walk.cycles", hierarchy.walk.cycles.into(), 0),
    ];
    found.extend(is_virtual.then(|| field("walk.nested", hierarchy.walk.nested.into(), 0)));
    Ok(found)
}

/// Adds to whole cycles, with 0 as the least.
fn add(cycles: &mut u32, more: f64) {
    *cycles = (f64::from(*cycles) + more).round().max(0.0) as u32;
}

/// The latency of main memory, in nanoseconds, with which a load in its ring takes so many cycles. A last level that keeps a
/// part of the ring answers some of them, so that a line through two latencies is followed.
fn latency_of_main(model: &CoreModel, rings: ProbeRings, cycles: f64) -> f64 {
    let known = model.hierarchy.main.nanoseconds;
    let with = |nanoseconds: f64| {
        let mut model = model.clone();
        model.hierarchy.main.nanoseconds = nanoseconds;
        rings.main_on(&model)
    };
    let [near, far] = [known, known + FARTHER_NS].map(with);
    let cycles_a_ns = ((far - near) / FARTHER_NS).max(SLOPE_AT_LEAST);
    (known + (cycles - near) / cycles_a_ns).max(1.0)
}

/// The model with this background fill bandwidth, in GB/s.
fn with_background_fills(model: &CoreModel, others: f64) -> CoreModel {
    let mut model = model.clone();
    if let Some(l3) = &mut model.hierarchy.l3 {
        l3.background_fills = others;
    }
    model
}

/// The background fill bandwidth, in GB/s, at which `taken`, the ratio of simulated to measured time, is 1.
///
/// The simulated time is slightly noisy; `is_exact` fits a line to it around the place that was found.
fn background_bandwidth(taken: impl Fn(f64) -> f64 + Sync, is_exact: bool) -> f64 {
    let [mut low, mut high] = OTHERS;
    if taken(low) >= 1.0 - NOISE {
        return 0.0;
    }
    let steps = if is_exact { STEPS } else { FIRST_STEPS };
    for _ in 0..steps {
        let part = (high / low).cbrt();
        let middle = [low * part, low * part * part];
        let is_below = in_parallel(2, 2, |at| taken(middle[at]) < 1.0);
        match is_below[..] {
            [_, true] => low = middle[1],
            [true, _] => [low, high] = middle,
            _ => high = middle[0],
        }
    }
    if !is_exact {
        return (low * high).sqrt();
    }
    let around = |at: usize| [(low * AROUND[at]).ln(), taken(low * AROUND[at]).ln()];
    let seen: Vec<[f64; 2]> = in_parallel(2, AROUND.len(), around);
    let mean = |at: usize| seen.iter().map(|it| it[at]).sum::<f64>() / seen.len() as f64;
    let [others, excess] = [mean(0), mean(1)];
    let sum = |of: fn(f64, f64) -> f64| {
        seen.iter().map(|it| of(it[0] - others, it[1] - excess)).sum::<f64>()
    };
    let slope = sum(|others, excess| others * excess) / sum(|others, _| others * others);
    let found = (others - excess / slope).exp();
    // A nearly level line would extrapolate too far.
    let [least, most] = [AROUND[0] * low, AROUND[AROUND.len() - 1] * low];
    if slope > 0.0 { found.clamp(least, most) } else { low }
}

#[cfg(test)]
mod tests {
    use corun_model::find;

    use super::*;

    #[test]
    fn the_background_bandwidth_is_found_despite_noise() {
        for others in [0.05, 0.9, 3.0, 20.0] {
            let taken = |with: f64| (with / others).sqrt();
            assert!((background_bandwidth(taken, true) / others - 1.0).abs() < 1e-3, "{others}");
            let noisy = |with: f64| taken(with) * (1.0 + 0.02 * (1e4 * with).sin());
            assert!((background_bandwidth(noisy, true) / others - 1.0).abs() < 0.05, "{others}");
        }
        assert_eq!(background_bandwidth(|_| 1.5, true), 0.0, "slower without any");
        assert!(background_bandwidth(|_| 0.5, true) > 30.0, "at most the upper bound");
    }

    #[test]
    fn a_model_is_found_again_by_what_its_rings_take() {
        let mut machine = find("zen4").unwrap();
        let hierarchy = &mut machine.hierarchy;
        (hierarchy.l2.miss, hierarchy.walk.cycles, hierarchy.walk.nested) = (45, 80, 1);
        hierarchy.main.nanoseconds = 150.0;
        hierarchy.main.gigabytes_a_second = 21.0;
        let base = find("zen4").unwrap();
        let rings = ProbeRings::of(&base).unwrap();
        let seen = |others: f64| rings.simulated(&with_background_fills(&machine, others));
        // Two quiet readings and a busy one, whose geometric mean is that of 1 GB/s.
        let [quiet, some] = [seen(0.0), seen(1.0)];
        let third = |some: f64, quiet: f64| some.powi(3) / quiet.powi(2);
        let busy = InterferenceReading {
            contended: third(some.contended, quiet.contended),
            main: third(some.main, quiet.main),
            ..seen(2.0)
        };
        let found = fit_memory(&base, rings, &[quiet, busy, quiet], true).unwrap();
        let settings: Vec<_> = found.iter().map(CalibratedField::setting).collect();
        let hierarchy = base.clone().with(&settings).unwrap().hierarchy;
        assert!(hierarchy.l2.miss.abs_diff(45) <= 1, "{found:?}");
        assert!(hierarchy.walk.cycles.abs_diff(80) <= 1, "{found:?}");
        assert!((hierarchy.main.nanoseconds / 150.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!((hierarchy.l3.unwrap().background_fills - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(hierarchy.main.gigabytes_a_second, 21.0);
        assert_eq!(hierarchy.walk.nested, 1);
        assert_eq!(fit_memory(&base, rings, &[], true), Ok(Vec::new()));
    }

    #[test]
    fn a_last_level_that_keeps_a_part_of_the_ring_hides_no_latency() {
        let base = find("coffee-lake").unwrap();
        let rings = ProbeRings::of(&base).unwrap();
        let mut machine = base.clone();
        machine.hierarchy.main.nanoseconds *= 2.0;
        machine.hierarchy.l2.miss += 10;
        let found = fit_memory(&base, rings, &[rings.simulated(&machine)], false).unwrap();
        let settings: Vec<_> = found.iter().map(CalibratedField::setting).collect();
        let hierarchy = base.with(&settings).unwrap().hierarchy;
        let ratio = hierarchy.main.nanoseconds / machine.hierarchy.main.nanoseconds;
        assert!((ratio - 1.0).abs() < 0.03, "{found:?}");
        assert!(hierarchy.l3.unwrap().background_fills < 0.1, "{found:?}");
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let base = find("zen5").unwrap();
        let rings = ProbeRings::of(&base).unwrap();
        let quiet = rings.simulated(&base);
        let fit = |reading| fit_memory(&base, rings, &[reading], false);
        assert!(fit(quiet).is_ok(), "{:?}", fit(quiet));
        // Other programs had the last level: its ring took as long as one in memory.
        let busy = fit(InterferenceReading { last_level: quiet.main, ..quiet });
        assert!(busy.unwrap_err().to_string().contains("the miss of the second level"));
        // No walk is short enough for a ring that takes less than the second level.
        let short = fit(InterferenceReading { pages: 0.5 * quiet.pages, ..quiet });
        assert!(short.unwrap_err().to_string().contains("a load with a page walk"));
        let far = fit(InterferenceReading { main: 20.0 * quiet.main, ..quiet });
        assert!(far.unwrap_err().to_string().contains("the latency of main memory"));
    }
}
