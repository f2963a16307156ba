//! The silent run before the traced one, which counts or profiles the program so that windows can be chosen.

use std::sync::atomic::AtomicBool;

use crate::{Ending, Profile, SystemCall, Target, TraceError, TracePlan, Traced, Tracer};

/// The start of the part that counts: the first system call of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromCall {
    /// Which.
    pub call: SystemCall,
    /// Instructions before it that are recorded to fill caches and predictors.
    pub warm_up: u64,
}

/// Intervals of a run that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// Number of intervals.
    pub count: u32,
    /// Instructions of each.
    pub length: u64,
    /// Instructions recorded before each to fill caches and predictors; before chosen ones on average.
    pub warm_up: u64,
    /// True if they are chosen by what is executed, so that they stand for all of it; else they are spread evenly.
    pub are_chosen: bool,
    /// Places of spread intervals in their parts, as [`TracePlan::Samples`] has them.
    pub seed: u64,
    /// Instructions before each warm-up, at most, of which only the lines that they touch are recorded.
    pub look_back: u64,
    /// The first part of those that are spread, as [`TracePlan::Samples`] has it.
    pub first_part: u64,
}

/// Instructions before all warm-ups together of which the lines that they touch are recorded: some seconds of a tracer's
/// time.
const LOOK_BACK: u64 = 2_000_000_000;

impl Samples {
    /// The usual look-back of so many: most of a run of up to two billion instructions.
    pub fn usual_look_back(count: u32) -> u64 {
        LOOK_BACK / u64::from(count.max(1))
    }
}

/// The request to a pre-run: what the run before the recorded one has to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreRun {
    /// Placement of intervals, if any are wanted.
    pub samples: Option<Samples>,
    /// System call from which the run counts.
    pub from: Option<FromCall>,
}

/// The result of a pre-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreRunResult {
    /// Instructions before the part that counts.
    pub before: u64,
    /// Number of them to be recorded.
    pub warm_up: u64,
    /// Instructions of the part that counts.
    pub total: u64,
    /// The intervals that were wanted, counted from where the run begins to count.
    pub samples: Option<TracePlan>,
    /// Counts of the tracer.
    pub traced: Traced,
}

impl PreRun {
    /// True if there is anything to find.
    pub fn is_needed(&self) -> bool {
        self.samples.is_some() || self.from.is_some()
    }

    /// True if the run is seen in full, which takes longer than to count its instructions.
    pub fn learns(&self) -> bool {
        self.from.is_some() || self.samples.is_some_and(|it| it.are_chosen)
    }

    /// Runs the program silently.
    ///
    /// # Errors
    /// If the program cannot be run, does not make the system call that it is to count from, or the tracer fails.
    pub fn run(
        self,
        target: &Target,
        tracer: &dyn Tracer,
        stop: &AtomicBool,
    ) -> Result<PreRunResult, TraceError> {
        let call = self.from.map(|from| from.call);
        let length = self.samples.map_or(u64::MAX, |samples| samples.length);
        let mut profile = Profile::new(length, call);
        let plan = if self.learns() { TracePlan::Learn } else { TracePlan::Count };
        let traced = tracer.trace(target, plan, &mut profile, stop)?;
        let was_interrupted = traced.ending == Ending::Interrupted;
        let (before, total) = match (profile.instructions(), call) {
            (Some(counted), _) if self.learns() => counted,
            // A program that was killed may not have reached the call.
            (None, Some(call)) if matches!(traced.ending, Ending::Exited(_)) => {
                return Err(TraceError::NoCall { call, remarks: traced.remarks });
            }
            _ => (0, traced.instructions),
        };
        // One of several threads may miss windows. Which part each of the others represents is then not known.
        let has_equal_parts = profile.threads() != 1;
        let samples = self.samples.map(|samples| {
            let Samples { count, length, warm_up, are_chosen, seed, look_back, first_part } =
                samples;
            match are_chosen {
                // After an interruption no clustering is done.
                true => profile.plan(if was_interrupted { 0 } else { count }, warm_up, look_back),
                false => {
                    let first_part = if has_equal_parts { 0 } else { first_part };
                    TracePlan::Samples {
                        count,
                        length,
                        warm_up,
                        total,
                        seed,
                        look_back,
                        first_part,
                    }
                }
            }
        });
        let warm_up = self.from.map_or(0, |from| from.warm_up);
        Ok(PreRunResult { before, warm_up, total, samples, traced })
    }
}

impl PreRunResult {
    /// This plan, applied to the part of the run that counts.
    pub fn after(&self, plan: TracePlan) -> TracePlan {
        match self.before {
            0 => plan,
            skip => TracePlan::After { skip, warm_up: self.warm_up, rest: Box::new(plan) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sink, Unavailable};

    /// A program with so many threads.
    struct Threads(u32);

    impl Tracer for Threads {
        fn name(&self) -> &'static str {
            "threads"
        }

        fn version(&self) -> String {
            String::new()
        }

        fn merit(&self) -> &'static str {
            ""
        }

        fn slowdown(&self) -> u32 {
            1
        }

        fn ready(&self) -> Result<(), Unavailable> {
            Ok(())
        }

        fn trace(
            &self,
            _: &Target,
            _: TracePlan,
            sink: &mut dyn Sink,
            _: &AtomicBool,
        ) -> Result<Traced, TraceError> {
            (0..self.0).try_for_each(|number| sink.thread(number).map(|_| ())).unwrap();
            let (ending, remarks) = (Ending::Exited(0), Vec::new());
            Ok(Traced { ending, instructions: 1000, becomes_another: false, remarks })
        }
    }

    #[test]
    fn parts_double_in_a_run_of_one_thread() {
        let (count, length, warm_up, are_chosen, seed, look_back) = (2, 10, 0, false, 1, 0);
        let first_part = 10;
        let samples = Samples { count, length, warm_up, are_chosen, seed, look_back, first_part };
        let target = Target { program: "/bin/true".into(), ..Target::default() };
        let parts = |threads| {
            let pre_run = PreRun { samples: Some(samples), from: None };
            let found = pre_run.run(&target, &Threads(threads), &AtomicBool::new(false)).unwrap();
            found.samples.unwrap().parts().len()
        };
        assert_eq!((parts(1), parts(2)), (8, 2));
    }
}
