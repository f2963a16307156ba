//! Bounds of a simulated figure. A figure outside of that says something of how it was made, not of the
//! core, so that it is refused wherever it would be shown.

use crate::core::CycleStack;
use crate::spread::Spread;
use corun_model::CoreModel;

/// The least work per second of a core with several busy hardware threads, against the same core with one.
pub const MIN_YIELD: f64 = 0.3;
/// A warm-up is short that is less than one part of so many of what is counted.
const WARMED: u64 = 4;
/// Instructions of which cold caches cost no more than a few in a hundred.
const LONG: u64 = 100_000_000;
/// Tolerance of a figure outside its bounds, because windows end between two instructions.
const ROUNDING: f64 = 0.01;
/// Instructions that a rename slot holds at most: two that were fused.
const FUSED: u32 = 2;

/// A figure that cannot be, with what it should be and why it may be otherwise.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "expected {} {} to {}, found {}{}", figure, shown(*least), shown(*most), shown(*found), because(reason)
)]
pub struct Implausible {
    /// Name of the figure.
    pub figure: String,
    /// Simulated value: the mean, or the phase that lies outside.
    pub found: f64,
    /// The least that it can be.
    pub least: f64,
    /// The most that it can be.
    pub most: f64,
    /// Difference, if that is known.
    pub reason: String,
}

fn shown(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value}")
    } else {
        format!("{value:.3}")
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl Implausible {
    /// The error with its reason.
    #[must_use]
    pub fn with(self, reason: String) -> Self {
        Self { reason, ..self }
    }
}

/// Work per second of cores with at most so many busy hardware threads each (1 or more), against cores with one.
///
/// # Errors
/// If its mean or a phase lies outside 0.3 to the number of threads.
pub fn of_yield(name: &str, value: Spread, threads: f64) -> Result<(), Implausible> {
    within(name, value, MIN_YIELD, threads.max(1.0))
}

/// Check of the slowdown of workers, of which up to `threads` share a core, against workers alone.
///
/// # Errors
/// If its mean or a phase lies outside 1 to what the least yield means.
pub fn of_time(name: &str, value: Spread, threads: f64) -> Result<(), Implausible> {
    let threads = threads.max(1.0);
    within(name, value, 1.0, threads / MIN_YIELD)
}

/// Caveat on `counted` instructions after so many of a warm-up, of a recorded thread of `all`, where what they find
/// in caches and predictors hangs on how little was executed before.
pub fn cold_start(all: u64, warm_up: u64, counted: u64) -> Option<String> {
    let is_much = counted.saturating_mul(2) > all;
    let is_little = warm_up < counted / WARMED;
    (counted > 0 && counted < LONG && (is_much || is_little)).then(|| {
        format!(
            "{counted} instructions of {all} are counted after a warm-up of {warm_up}: cold caches decide much of \
             these figures, as at the start of a program. Record more, and give a --warmup as long as --length or longer."
        )
    })
}

fn within(name: &str, value: Spread, least: f64, most: f64) -> Result<(), Implausible> {
    let is_outside = |found: &f64| {
        !(found.is_finite()
            && *found >= least * (1.0 - ROUNDING)
            && *found <= most * (1.0 + ROUNDING))
    };
    match [value.mean, value.low, value.high].into_iter().find(is_outside) {
        None => Ok(()),
        Some(found) => {
            Err(Implausible { figure: name.to_owned(), found, least, most, reason: String::new() })
        }
    }
}

/// So many instructions of a hardware thread in so many cycles, which went where its stack says.
///
/// # Errors
/// If it took no time, did more in a cycle than the core renames, or its stack of cycles is not all of them.
pub(crate) fn of_thread(
    instructions: u64,
    cycles: u64,
    stack: &CycleStack,
    model: &CoreModel,
) -> Result<(), Implausible> {
    if instructions == 0 {
        return Ok(());
    }
    of_rate(instructions as f64, cycles as f64, model)?;
    let all = cycles as f64;
    let slack = (ROUNDING * all).max(16.0);
    let stack = || stack.cycles().map(|(_, cycles)| cycles);
    let sum: f64 = stack().sum();
    if (sum - all).abs() > slack || stack().any(|part| part < -slack || part > all + slack) {
        return Err(Implausible {
            figure: "cycles of all components together of".to_owned(),
            found: sum,
            least: all - slack,
            most: all + slack,
            reason: String::new(),
        });
    }
    Ok(())
}

/// So many instructions in so many cycles.
///
/// # Errors
/// If they took no time, or more were done in a cycle than the core renames.
pub fn of_rate(instructions: f64, cycles: f64, model: &CoreModel) -> Result<(), Implausible> {
    let most = f64::from(model.back.dispatch.entries.min(model.back.retire.entries) * FUSED);
    let rate = instructions / cycles;
    // 2^53 cycles are a month of the core's time, and beyond it not all numbers are counted.
    let is_possible = (1.0..9e15).contains(&cycles) && rate <= most * (1.0 + ROUNDING);
    if instructions <= 0.0 || is_possible {
        return Ok(());
    }
    Err(Implausible {
        figure: "instructions a cycle of".to_owned(),
        found: rate,
        least: 0.0,
        most,
        reason: format!("{instructions} instructions took {cycles} cycles"),
    })
}

#[cfg(test)]
mod tests {
    use crate::plausible::*;

    fn spread(low: f64, mean: f64, high: f64) -> Spread {
        Spread { mean, low, high }
    }

    #[test]
    fn a_yield_lies_between_a_third_and_the_number_of_siblings() {
        let refused = |value, threads| of_yield("SMT yield", value, threads).is_err();
        assert!(!refused(spread(0.9, 1.2, 2.0), 2.0));
        assert!(!refused(spread(1.9, 2.0, 2.01), 2.0), "windows end between two instructions");
        assert!(refused(spread(1.9, 2.061, 2.393), 2.0));
        assert!(refused(spread(1.2, 1.7, 2.393), 2.0), "one phase is enough");
        assert!(refused(spread(0.0, 1.238, 1.7), 2.0), "a mean does not hide it");
        assert!(!refused(spread(3.0, 3.6, 3.9), 4.0));
        assert!(refused(spread(f64::NAN, f64::NAN, f64::NAN), 2.0));
        assert!(refused(spread(0.0, 0.0, 0.0), 2.0));
    }

    #[test]
    fn workers_are_not_faster_together_nor_slower_than_by_the_least_yield() {
        let refused = |mean| of_time("time", spread(mean, mean, mean), 2.0).is_err();
        assert_eq!(
            [0.5, 0.97, 1.0, 2.0, 6.6, 7.0].map(refused),
            [true, true, false, false, false, true]
        );
    }

    #[test]
    fn a_core_does_no_more_in_a_cycle_than_it_renames_and_takes_time() {
        let model = corun_model::find("zen4").unwrap();
        let refused = |instructions, cycles| of_rate(instructions, cycles, &model).is_err();
        assert!(!refused(600.0, 100.0) && !refused(0.0, 0.0));
        assert!(refused(600.0, 0.0) && refused(600.0, 10.0) && refused(3e5, 9.2e18));
        assert!(refused(600.0, f64::NAN) && refused(600.0, f64::INFINITY));
    }

    #[test]
    fn a_short_window_or_warm_up_is_said_to_be_cold() {
        let is_said = |all, warm_up, counted| cold_start(all, warm_up, counted).is_some();
        assert!(is_said(700_000, 0, 700_000) && is_said(4_000_000, 0, 1_000_000));
        assert!(is_said(1_000_000, 400_000, 600_000), "most of the trace");
        assert!(!is_said(4_000_000, 1_000_000, 1_000_000) && !is_said(200_000_000, 0, 200_000_000));
        assert!(!is_said(700_000, 700_000, 0));
    }

    #[test]
    fn a_refusal_says_what_was_expected_and_found() {
        let refused = of_yield("an SMT yield of", spread(2.4, 2.4, 2.4), 2.0).unwrap_err();
        let message = refused.with("caches were colder".to_owned()).to_string();
        assert_eq!(message, "expected an SMT yield of 0.300 to 2, found 2.400: caches were colder");
    }
}
