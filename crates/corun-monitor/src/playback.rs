//! Control of a replay from another thread: pause, and steps back and forth.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A handle to a replay; its copies control the same one.
#[derive(Debug, Clone, Default)]
pub struct Playback(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Intervals to go from the one that is shown; 0 for none.
    steps: i64,
    is_paused: bool,
}

impl Playback {
    /// Shows the interval that is so many after the present one, or before it.
    pub fn step(&self, intervals: i64) {
        self.change(|state| state.steps = state.steps.saturating_add(intervals));
    }

    /// Holds the replay, or lets it go on.
    pub fn pause(&self, is_paused: bool) {
        self.change(|state| state.is_paused = is_paused);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.changed.notify_all();
    }

    /// Waits for so long, for as long as the replay is held, or for ever without a time; ends early with the steps that
    /// were asked for.
    pub(crate) fn wait(&self, time: Option<Duration>) -> i64 {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.steps != 0 {
                return std::mem::take(&mut state.steps);
            }
            match time.filter(|_| !state.is_paused) {
                None => {
                    state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Some(time) => {
                    let waited = self.0.changed.wait_timeout(state, time);
                    let (left, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    state = left;
                    if timeout.timed_out() && !state.is_paused && state.steps == 0 {
                        return 0;
                    }
                }
            }
        }
    }
}
