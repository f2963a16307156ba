//! The progress of long work: reported by the crate that does it, shown by the command that started it.
//!
//! A crate knows no terminal; it says what it does, how much there is of it, and how much more is done. What is not
//! known is not made up: a stage without a total has none.

use std::sync::{Mutex, PoisonError};

/// A stage of long work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The work, as a participle: "simulating".
    pub what: String,
    /// Unit of progress: "instructions".
    pub unit: &'static str,
    /// Total of the unit, if that is known.
    pub total: Option<u64>,
}

impl Stage {
    /// A stage of `what`, in which so many of `unit` are done.
    pub fn new(what: impl Into<String>, unit: &'static str, total: impl Into<Option<u64>>) -> Self {
        Self { what: what.into(), unit, total: total.into() }
    }
}

/// Hears how far work has come, from any thread.
pub trait Progress: Sync {
    /// A stage begins, and the one before it, if any, is over.
    fn begin(&self, stage: Stage);

    /// So many more units of the stage are done.
    fn advance(&self, units: u64);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn begin(&self, _: Stage) {}
    fn advance(&self, _: u64) {}
}

/// Tells of units many at a time, so that telling costs nothing beside the work.
pub struct Counter<'a> {
    progress: &'a dyn Progress,
    unreported: u64,
}

impl<'a> Counter<'a> {
    /// Units that are reported at a time.
    const STEP: u64 = 1 << 16;

    /// Of a stage that has begun.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, unreported: 0 }
    }

    /// So many more are done.
    #[inline]
    pub fn add(&mut self, units: u64) {
        self.unreported += units;
        if self.unreported >= Self::STEP {
            self.tell();
        }
    }

    #[cold]
    fn tell(&mut self) {
        self.progress.advance(std::mem::take(&mut self.unreported));
    }
}

impl Drop for Counter<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

/// A piece of work that is so many units of a larger one, whatever it counts itself.
pub struct Portion<'a> {
    whole: &'a dyn Progress,
    units: u64,
    state: Mutex<PortionState>,
}

#[derive(Default)]
struct PortionState {
    total: Option<u64>,
    done: u64,
    /// Units of the whole that were reported.
    reported: u64,
}

impl<'a> Portion<'a> {
    /// Of so many units of `whole`; they are all done when the piece is dropped.
    pub fn of(whole: &'a dyn Progress, units: u64) -> Self {
        Self { whole, units, state: Mutex::default() }
    }

    fn tell_up_to(&self, state: &mut PortionState, units: u64) {
        let new = units.min(self.units).saturating_sub(state.reported);
        if new > 0 {
            state.reported += new;
            self.whole.advance(new);
        }
    }
}

impl Progress for Portion<'_> {
    fn begin(&self, stage: Stage) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.total, state.done) = (stage.total, 0);
    }

    fn advance(&self, units: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += units;
        let Some(total) = state.total.filter(|&total| total > 0) else { return };
        let units = u128::from(self.units) * u128::from(state.done) / u128::from(total);
        self.tell_up_to(&mut state, u64::try_from(units).unwrap_or(u64::MAX));
    }
}

impl Drop for Portion<'_> {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.tell_up_to(&mut state, self.units);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Heard(AtomicU64);

    impl Progress for Heard {
        fn begin(&self, _: Stage) {}
        fn advance(&self, units: u64) {
            self.0.fetch_add(units, Ordering::Relaxed);
        }
    }

    impl Heard {
        fn units(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_counter_tells_everything_in_the_end() {
        let heard = Heard::default();
        let mut counter = Counter::new(&heard);
        counter.add(Counter::STEP - 1);
        assert_eq!(heard.units(), 0);
        counter.add(1);
        assert_eq!(heard.units(), Counter::STEP);
        counter.add(5);
        drop(counter);
        assert_eq!(heard.units(), Counter::STEP + 5);
    }

    #[test]
    fn portions_of_a_whole_add_up_to_it() {
        let heard = Heard::default();
        let portion = Portion::of(&heard, 1000);
        portion.begin(Stage::new("simulating", "instructions", 3));
        portion.advance(1);
        assert_eq!(heard.units(), 333);
        // More than was expected is not more than the whole.
        portion.advance(5);
        assert_eq!(heard.units(), 1000);
        drop(portion);
        assert_eq!(heard.units(), 1000);
        let unknown = Portion::of(&heard, 1000);
        unknown.begin(Stage::new("simulating", "instructions", None));
        unknown.advance(7);
        assert_eq!(heard.units(), 1000);
        drop(unknown);
        assert_eq!(heard.units(), 2000);
    }
}
