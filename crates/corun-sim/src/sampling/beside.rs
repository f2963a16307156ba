//! The windows of a sampled trace beside busy siblings: the same windows after the same warm-up as alone.
//!
//! What a sibling costs depends on which phases of the programs meet. The siblings therefore go through their own traces
//! while the counted thread goes through its windows, each as fast as it progresses beside the other (the co-phases that
//! Van Biesbrouck, Sherwood and Calder 2004 find by a matrix of rates).

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{PageSize, Unwatched};
use corun_trace::format::{FormatError, Trace};
use corun_trace::{Phase, ThreadId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Simulated;
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::memory::Pages;
use crate::plausible;
use crate::replay::recorded::{Recorded, Replay};
use crate::sampling::{Collected, Interval, SimulatedWindows, before, intervals};
use crate::uops::Lowering;

/// A thread of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'t> {
    /// The trace.
    pub trace: &'t Trace,
    /// The thread.
    pub thread: ThreadId,
    /// Instructions of the thread's whole run, of which the trace may hold a part.
    pub total: u64,
}

impl Recording<'_> {
    /// Recorded instructions.
    fn recorded(&self) -> u64 {
        let own = self.trace.threads().iter().find(|it| it.id == self.thread);
        own.map_or(0, |it| it.instructions)
    }

    /// The share of the run that is recorded.
    fn share(&self) -> f64 {
        self.recorded() as f64 / self.total.max(1) as f64
    }
}

/// A busy sibling of the counted thread.
#[derive(Debug, Clone, Copy)]
pub struct Sibling<'t> {
    /// What it runs, again and again.
    pub recording: Recording<'t>,
    /// Where it begins, as a part of its run (0 to 1).
    pub begin: f64,
    /// Whether it is a copy of the counted thread, which progresses as the counted one does: it is at most
    /// [`MAX_LAG`] instructions from it, by chance for each window, since copies do not run in step.
    pub is_copy: bool,
}

/// Instructions by which copies that began together are apart at most: what the start of a process varies by.
pub const MAX_LAG: u64 = 1 << 19;

/// Instructions between two calls of `goes_on` in a warm-up.
const STRIDE: u64 = 1 << 18;

/// Runs the windows of a thread on a core whose other hardware threads run `siblings`, which are not counted. `seed`
/// chooses how far apart copies are. `goes_on` is called as [`simulate_windows`](crate::simulate_windows) calls it.
///
/// # Errors
/// If a trace is damaged where it is read, or has no such thread, or the core makes no progress.
#[expect(clippy::too_many_arguments, reason = "as simulate_windows has, with who runs beside")]
pub fn simulate_windows_beside(
    model: &CoreModel,
    timings: &TimingTable,
    counted: Recording<'_>,
    siblings: &[Sibling<'_>],
    pages: PageSize,
    seed: u64,
    mut goes_on: impl FnMut(u64, u64) -> bool,
) -> Result<Option<SimulatedWindows>, SimulationError> {
    counted.trace.require_code()?;
    siblings.iter().try_for_each(|it| it.recording.trace.require_code())?;
    let intervals = intervals(counted.trace, counted.thread)?;
    let all = intervals.last().map_or(0, |interval| interval.end);
    let mut machine = machine(model, timings, counted, siblings, pages, seed)?;
    let mut course = Course::new(counted, siblings, seed);
    let mut collected = Collected::new(machine.state(0, 0), before(counted.trace));
    for interval in intervals {
        let begun = machine.state(0, 0);
        if interval.phase == Phase::WarmUp {
            let targets = course.targets(&interval, begun.retired);
            if !warm(&mut machine, &targets, begun.retired, |done| goes_on(done, all))? {
                return Ok(None);
            }
        } else {
            collected.begin();
            let others = course.others(&machine);
            let mut next = begun.retired;
            while next < interval.end {
                if !goes_on(next, all) {
                    return Ok(None);
                }
                next = (next + super::PIECE).min(interval.end);
                let piece = machine.state(0, 0);
                machine.run_first(next)?;
                collected.piece(machine.state(0, 0).since(&piece));
            }
            course.learn(&machine, machine.state(0, 0).since(&begun).retired, &others);
        }
        collected.end(&interval, machine.state(0, 0).since(&begun));
    }
    let mut sources = machine.into_sources().swap_remove(0);
    sources.iter_mut().try_for_each(Recorded::error)?;
    let (windows, together) = collected.all();
    let together = Simulated::of(together, &sources[0].lowering);
    plausible::of_thread(&together, model)?;
    for window in &windows {
        plausible::of_rate(window.events.instructions as f64, window.cycles as f64, model)?;
    }
    Ok(Some(SimulatedWindows { windows, together }))
}

/// Warms all threads up to these instructions; says whether it may go on.
fn warm(
    machine: &mut Machine<Recorded<'_>>,
    targets: &[u64],
    begun: u64,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<bool, SimulationError> {
    let first: Vec<u64> = (0..targets.len()).map(|it| machine.state(0, it).retired).collect();
    let length = targets[0].saturating_sub(begun);
    let steps = length.div_ceil(STRIDE).max(1);
    for step in 1..=steps {
        if !goes_on(begun + length * (step - 1) / steps) {
            return Ok(false);
        }
        let part = |(first, target): (&u64, &u64)| {
            let left = u128::from(target.saturating_sub(*first));
            first + (left * u128::from(step) / u128::from(steps)) as u64
        };
        let next: Vec<u64> = first.iter().zip(targets).map(part).collect();
        match step == steps {
            true => machine.warm_up_together(&next)?,
            false => machine.warm(&next)?,
        }
    }
    Ok(true)
}

fn machine<'t>(
    model: &'t CoreModel,
    timings: &'t TimingTable,
    counted: Recording<'t>,
    siblings: &[Sibling<'t>],
    pages: PageSize,
    seed: u64,
) -> Result<Machine<Recorded<'t>>, FormatError> {
    let lowering = || Lowering::new(model, timings);
    let first = Pages::of(0, seed, pages).on(model);
    let counted =
        Recorded::new(lowering(), counted.trace, counted.thread, first, Replay::Once, &Unwatched)?;
    let mut sources = vec![counted];
    for (number, sibling) in (1..).zip(siblings) {
        let Recording { trace, thread, .. } = sibling.recording;
        let own = trace.threads().iter().find(|it| it.id == thread);
        let (begin, end) = own.map_or((0, 0), |it| (it.begin(), it.end()));
        let first_one = begin + ((end - begin) as f64 * sibling.begin.clamp(0.0, 1.0)) as u64;
        let course =
            Replay::Looping { begin, end, first: first_one.min(end.saturating_sub(1)).max(begin) };
        let own = Pages::of(number, seed, pages).on(model);
        let pages = if sibling.is_copy { own.with_code_of(first) } else { own };
        sources.push(Recorded::new(lowering(), trace, thread, pages, course, &Unwatched)?);
    }
    let stack_update = lowering().stack_update();
    Ok(Machine::new(model, vec![(stack_update, sources)]))
}

/// How far the siblings go while the counted thread goes on.
struct Course<'a, 't> {
    counted: Recording<'t>,
    siblings: &'a [Sibling<'t>],
    /// Recorded instructions of each sibling for one of the counted thread.
    progress: Vec<f64>,
    chance: ChaCha8Rng,
    /// Where each sibling was after its last window.
    done: Vec<u64>,
}

impl<'a, 't> Course<'a, 't> {
    fn new(counted: Recording<'t>, siblings: &'a [Sibling<'t>], seed: u64) -> Self {
        let of = |it: &Sibling<'_>| it.recording.share() / counted.share().max(f64::MIN_POSITIVE);
        Self {
            counted,
            siblings,
            progress: siblings.iter().map(of).collect(),
            chance: ChaCha8Rng::seed_from_u64(seed),
            done: vec![0; siblings.len()],
        }
    }

    /// Where each thread is to be at the end of a warm-up, the counted one first.
    fn targets(&mut self, interval: &Interval, begun: u64) -> Vec<u64> {
        let mut targets = vec![interval.end];
        let advance = (interval.end - begun) as f64;
        for (at, sibling) in self.siblings.iter().enumerate() {
            let lag = self.chance.random_range(0..=MAX_LAG);
            targets.push(match sibling.is_copy {
                true => interval.end.saturating_sub(lag),
                false => self.done[at] + (advance * self.progress[at]) as u64,
            });
        }
        targets
    }

    /// What each sibling has done.
    fn others(&self, machine: &Machine<Recorded<'_>>) -> Vec<u64> {
        (1..=self.siblings.len()).map(|thread| machine.state(0, thread).retired).collect()
    }

    /// A window is over, in which the counted thread did so many instructions: siblings go on at the rate that they had
    /// beside it. A part of the run that no trace holds takes both as long.
    fn learn(&mut self, machine: &Machine<Recorded<'_>>, instructions: u64, before: &[u64]) {
        self.done = self.others(machine);
        for (at, sibling) in self.siblings.iter().enumerate() {
            let own = (self.done[at] - before[at]) as f64 / instructions.max(1) as f64;
            let share = sibling.recording.share() / self.counted.share().max(f64::MIN_POSITIVE);
            self.progress[at] = own * share;
        }
    }
}
