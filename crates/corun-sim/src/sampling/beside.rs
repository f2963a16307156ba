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
    /// Where its recorded instructions that count begin and end, in instructions of the thread.
    pub(super) fn counted(&self) -> (u64, u64) {
        let own = self.trace.threads().iter().find(|it| it.id == self.thread);
        let (begin, end) = own.map_or((0, 0), |it| (it.begin(), it.end()));
        (begin.max(before(self.trace)).min(end), end)
    }

    /// Recorded instructions that count.
    fn recorded(&self) -> u64 {
        let own = self.trace.threads().iter().find(|it| it.id == self.thread);
        own.map_or(0, |it| {
            let before_what_counts = before(self.trace).saturating_sub(it.begin());
            it.instructions.saturating_sub(before_what_counts)
        })
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
    /// Where it begins, as a part of what counts of its run (0 to 1); at 0 with what warms up before that part.
    pub begin: f64,
    /// Whether it is a copy of the counted thread, which progresses as the counted one does: it is at most
    /// [`MAX_LAG`] instructions from it, by chance for each window, since copies do not run in step.
    pub is_copy: bool,
}

/// Instructions by which copies that began together are apart at most, either being ahead: what the start of a process
/// varies by.
pub const MAX_LAG: u64 = 1 << 19;

/// Instructions between two calls of `goes_on` in a warm-up.
const STRIDE: u64 = 1 << 18;

/// Runs the windows of a thread on a core whose other hardware threads run `siblings`, which are not counted. `seed`
/// chooses how far apart copies are. `goes_on` is called as [`simulate_windows`](crate::simulate_windows) calls it.
///
/// # Errors
/// If a trace is damaged where it is read, or has no such thread, or the core makes no progress.
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
    let (windows, stacks, together) = collected.all();
    let together = Simulated::of(together, &sources[0].lowering);
    plausible::of_thread(&together, model)?;
    for window in &windows {
        plausible::of_rate(window.events.instructions as f64, window.cycles as f64, model)?;
    }
    Ok(Some(SimulatedWindows { windows, stacks, together }))
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
    let lengths = first.iter().zip(targets).map(|(first, target)| target.saturating_sub(*first));
    let steps = lengths.max().unwrap_or(0).div_ceil(STRIDE).max(1);
    for step in 1..=steps {
        let done = u128::from(length) * u128::from(step - 1) / u128::from(steps);
        if !goes_on(begun + done as u64) {
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
    // Where its pages lie is as it is alone.
    let own_pages = Pages::of(0, 0, pages).on(model);
    let Recording { trace, thread, .. } = counted;
    let counted = Recorded::new(lowering(), trace, thread, own_pages, Replay::Once, &Unwatched)?;
    let mut sources = vec![counted];
    for (number, sibling) in (1..).zip(siblings) {
        let Recording { trace, thread, .. } = sibling.recording;
        let (begin, end) = sibling.recording.counted();
        let part = ((end - begin) as f64 * sibling.begin.clamp(0.0, 1.0)) as u64;
        let first = if part == 0 { 0 } else { (begin + part).min(end - 1) };
        let course = Replay::Looping { begin, end, first };
        let own = Pages::of(number, seed, pages).on(model);
        let pages = if sibling.is_copy { own.with_code_of(own_pages) } else { own };
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
            let apart = self.chance.random_range(0..=MAX_LAG);
            let is_ahead = self.chance.random_bool(0.5);
            targets.push(match (sibling.is_copy, is_ahead) {
                (true, true) => interval.end + apart,
                (true, false) => interval.end.saturating_sub(apart),
                (false, _) => {
                    let advance = (advance * self.progress[at]) as u64;
                    // Whole rounds of a short program change nothing after the first.
                    let round = sibling.recording.recorded().max(1);
                    let part = if advance > round { round + advance % round } else { advance };
                    self.done[at] + part
                }
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

#[cfg(test)]
mod tests {
    use corun_model::find;
    use corun_trace::Phase::{Counted, WarmUp};
    use corun_trace::format::{Opening, Options, Writer};
    use corun_trace::{Marker, OrderedMarker, Sink, decode};

    use crate::sampling::beside::*;
    use crate::simulate_windows;

    /// imul rax, rax; dec rcx; jnz to the first: each round waits for the one before.
    const CHAIN: &[u8] = &[0x48, 0x0f, 0xaf, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf7];
    /// imul of rax, rbx and rdx; dec rcx; jnz: as many multiplications as there are cycles to wait for one.
    const PORT: &[u8] = &[
        0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x0f, 0xaf, 0xdb, 0x48, 0x0f, 0xaf, 0xd2, 0x48, 0xff, 0xc9,
        0x75, 0xef,
    ];

    /// A loop of this code in three windows, each after a warm-up.
    fn trace(code: &[u8], instructions: u32) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Opening::default(), Options::default()).unwrap();
        let block = writer.define(decode(0x1000, code).unwrap()).unwrap();
        let thread = writer.thread(1).unwrap();
        let mut order = 0;
        for rounds in [20_000, 4_000, 3_000] {
            for (phase, rounds) in [(WarmUp, rounds), (Counted, 2000)] {
                order += 1;
                let marker = Marker::Begin { phase, skipped: 0 };
                writer.mark(thread, OrderedMarker { order, marker }).unwrap();
                for _ in 0..rounds {
                    writer.execute(thread, block, instructions, &[]).unwrap();
                }
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    fn recording(trace: &Trace) -> Recording<'_> {
        let thread = &trace.threads()[0];
        Recording { trace, thread: thread.id, total: thread.instructions }
    }

    /// Windows alone, and beside these siblings.
    fn both(counted: &Trace, siblings: &[Sibling<'_>]) -> (SimulatedWindows, SimulatedWindows) {
        let model = find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let own = recording(counted);
        let small = PageSize::Small;
        let alone = simulate_windows(&model, &timings, counted, own.thread, small, |_, _| true);
        let beside = || {
            simulate_windows_beside(&model, &timings, own, siblings, small, 7, |_, _| true)
                .unwrap()
                .unwrap()
        };
        let first = beside();
        assert_eq!(first, beside(), "the same seed gives the same windows");
        (alone.unwrap().unwrap(), first)
    }

    fn slowdown(counted: &Trace, siblings: &[Sibling<'_>]) -> f64 {
        let (alone, beside) = both(counted, siblings);
        let begins =
            |of: &SimulatedWindows| of.windows.iter().map(|it| it.begin).collect::<Vec<_>>();
        assert_eq!((begins(&alone), begins(&beside).len()), (begins(&beside), 3));
        let cycles =
            |of: &SimulatedWindows| of.windows.iter().map(|it| it.cycles).sum::<u64>() as f64;
        cycles(&beside) / cycles(&alone)
    }

    #[test]
    fn a_chain_leaves_the_sibling_all_it_needs_and_a_port_is_shared() {
        let (chain, port) = (trace(CHAIN, 3), trace(PORT, 5));
        let of = |trace, is_copy| [Sibling { recording: recording(trace), begin: 0.0, is_copy }];
        let beside_itself = slowdown(&chain, &of(&chain, true));
        assert!((0.99..1.02).contains(&beside_itself), "{beside_itself}");
        let on_one_port = slowdown(&port, &of(&port, true));
        assert!((1.9..2.05).contains(&on_one_port), "{on_one_port}");
        // The chain needs the port in one of three cycles, and entries of the scheduler that it has to itself alone.
        let unequal = slowdown(&port, &of(&chain, false));
        assert!((1.2..3.1).contains(&unequal), "{unequal}");
    }

    #[test]
    fn another_program_goes_on_as_fast_as_it_runs_beside() {
        let (chain, port) = (trace(CHAIN, 3), trace(PORT, 5));
        let siblings = [Sibling { recording: recording(&port), begin: 0.0, is_copy: false }];
        let mut course = Course::new(recording(&chain), &siblings, 1);
        let share = recording(&port).share() / recording(&chain).share();
        assert!((course.progress[0] - share).abs() < 1e-12);
        let model = find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let mut machine =
            machine(&model, &timings, recording(&chain), &siblings, PageSize::Small, 1).unwrap();
        let before = course.others(&machine);
        machine.run_first(30_000).unwrap();
        course.learn(&machine, 30_000, &before);
        let done = course.others(&machine)[0] - before[0];
        assert!(done > 1000);
        assert!((course.progress[0] - done as f64 / 30_000.0).abs() < 1e-3, "{done}");
        let next = Interval { phase: WarmUp, place: 0, end: 90_000, weight: None };
        let target = course.targets(&next, 30_000)[1] - course.done[0];
        assert!(target.abs_diff(2 * done) < 100, "{target} after {done}");
    }
}
