//! A first-level cache whose lines are found by a part of their linear address (AMD's way prediction):
//! where two addresses name one line, a load through the other one misses it and moves it over.

use std::collections::HashMap;

use corun_model::{CoreModel, Microtags as Model};

/// By which address each line is found.
#[derive(Debug)]
pub(crate) struct Microtags {
    model: Option<Model>,
    line_shift: u32,
    /// For a physical line its linear one, and the cycle from which it is found there.
    lines: HashMap<u64, [(u64, u64); 2]>,
    /// Accesses that are still to be repeated.
    repeats: u32,
}

impl Microtags {
    pub(crate) fn of(model: &CoreModel) -> Self {
        Self {
            model: model.memory.microtags.clone(),
            line_shift: model.memory.l1d.line.trailing_zeros(),
            lines: HashMap::new(),
            repeats: 0,
        }
    }

    /// Whether the core has such tags.
    pub(crate) fn is_of_use(&self) -> bool {
        self.model.is_some()
    }

    /// How many of this cycle's accesses are repeated ones, of `rate` at most.
    pub(crate) fn repeat(&mut self, rate: u32) -> u32 {
        let now = self.repeats.min(rate);
        self.repeats -= now;
        now
    }

    /// When a load is done that starts `now` and would be `done` otherwise.
    pub(crate) fn load(&mut self, linear: u64, physical: u64, now: u64, done: u64) -> u64 {
        let Some(model) = &self.model else { return done };
        if linear == physical {
            return done;
        }
        let (linear, physical) = (linear >> self.line_shift, physical >> self.line_shift);
        let found = done + u64::from(model.latency);
        let tags = self.lines.entry(physical).or_insert([(linear, now), (linear, now)]);
        if tags[0].0 != linear && tags[1].0 == linear {
            tags.swap(0, 1);
        }
        let (tag, from) = tags[0];
        if tag != linear {
            tags[1] = tags[0];
            tags[0] = (linear, found);
            self.repeats += model.conflict_accesses + model.retag_accesses;
            found
        } else if from > now {
            self.repeats += model.conflict_accesses;
            done.max(from)
        } else {
            done
        }
    }
}
