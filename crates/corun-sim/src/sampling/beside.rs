//! The windows of a sampled trace beside busy siblings: the same windows after the same warm-up as alone.
//!
//! What a sibling costs depends on which phases of the programs meet. The siblings therefore go through their own traces
//! while the counted thread goes through its windows, each as fast as it progresses beside the other (the co-phases that
//! Van Biesbrouck, Sherwood and Calder 2004 find by a matrix of rates).

use corun_trace::ThreadId;
use corun_trace::format::Trace;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::intervals::before;
use crate::machine::Machine;
use crate::replay::recorded::{Recorded, Replay};

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
    /// Range of its recorded instructions that count, in instructions of the thread.
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
    /// The recording that it runs, again and again.
    pub recording: Recording<'t>,
    /// Begin, as a part of what counts of its run (0 to 1); at 0 with what warms up before that part.
    pub begin: f64,
    /// True if it is a copy of the counted thread, which progresses as the counted one does: it is at most
    /// [`MAX_LAG`] instructions from it, by chance for each window, since copies do not run in step.
    pub is_copy: bool,
}

impl Sibling<'_> {
    /// Progress through its run where the counted thread begins after so many instructions of its own.
    pub(super) fn course(&self, place: u64) -> Replay {
        let (begin, end) = self.recording.counted();
        let part = ((end - begin) as f64 * self.begin.clamp(0.0, 1.0)) as u64;
        let first = match (part, place) {
            (0, 0) => 0,
            (part, place) => begin + (place.saturating_sub(begin) + part) % (end - begin).max(1),
        };
        Replay::Looping { begin, end, first }
    }
}

/// Instructions by which copies that began together are apart at most, either being ahead: what the start of a process
/// varies by.
pub const MAX_LAG: u64 = 1 << 19;

/// Progress of the siblings beside the counted thread.
pub(super) struct Course<'a, 't> {
    counted: Recording<'t>,
    siblings: &'a [Sibling<'t>],
    /// Recorded instructions of each sibling for one of the counted thread.
    progress: Vec<f64>,
    chance: ChaCha8Rng,
    /// Position of each sibling after its last window.
    done: Vec<u64>,
}

impl<'a, 't> Course<'a, 't> {
    /// `seed` and the number of a section choose how far apart copies are.
    pub(super) fn new(
        counted: Recording<'t>,
        siblings: &'a [Sibling<'t>],
        (seed, section): (u64, u64),
    ) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(section);
        let of = |it: &Sibling<'_>| it.recording.share() / counted.share().max(f64::MIN_POSITIVE);
        Self {
            counted,
            siblings,
            progress: siblings.iter().map(of).collect(),
            chance,
            done: vec![0; siblings.len()],
        }
    }

    /// Target position of each thread at the end of a warm-up, the counted one first: at `end`, from `begun` on.
    pub(super) fn targets(&mut self, end: u64, begun: u64) -> Vec<u64> {
        let mut targets = vec![end];
        let advance = end.saturating_sub(begun) as f64;
        for (at, sibling) in self.siblings.iter().enumerate() {
            let apart = self.chance.random_range(0..=MAX_LAG);
            let is_ahead = self.chance.random_bool(0.5);
            targets.push(match (sibling.is_copy, is_ahead) {
                (true, true) => end + apart,
                (true, false) => end.saturating_sub(apart),
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

    /// Counts of each sibling.
    pub(super) fn others(&self, machine: &Machine<Recorded<'_>>) -> Vec<u64> {
        (1..=self.siblings.len()).map(|thread| machine.state(0, thread).retired).collect()
    }

    /// A window is over, in which the counted thread did so many instructions: siblings go on at the rate that they had
    /// beside it. A part of the run that no trace holds takes both as long.
    pub(super) fn learn(
        &mut self,
        machine: &Machine<Recorded<'_>>,
        instructions: u64,
        before: &[u64],
    ) {
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
    use corun_model::timing::TimingTable;
    use corun_record::PageSize;
    use corun_trace::Phase::{Counted, WarmUp};
    use corun_trace::format::{Opening, Options, Writer};
    use corun_trace::{Marker, OrderedMarker, Sink, decode};

    use crate::sampling::beside::*;
    use crate::sampling::sections::Section;
    use crate::sampling::{SampledRun, SimulatedWindows, WindowSimulation};

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
        let run = SampledRun::of(recording(counted)).unwrap();
        let of = |siblings: &[Sibling<'_>]| {
            let core = (&model, &timings);
            let siblings = siblings.to_vec();
            let windows = WindowSimulation::new(core, &run, siblings, PageSize::Small, 7).unwrap();
            windows.run(|_| true).unwrap().unwrap()
        };
        let beside = of(siblings);
        assert_eq!(beside, of(siblings), "the same seed gives the same windows");
        (of(&[]), beside)
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
        let mut course = Course::new(recording(&chain), &siblings, (1, 0));
        let share = recording(&port).share() / recording(&chain).share();
        assert!((course.progress[0] - share).abs() < 1e-12);
        let model = find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let run = SampledRun::of(recording(&chain)).unwrap();
        let core = (&model, &timings);
        let of = WindowSimulation::new(core, &run, siblings.to_vec(), PageSize::Small, 1).unwrap();
        let mut machine = of.machine(&Section::whole(&[])).unwrap();
        let before = course.others(&machine);
        machine.run_first(30_000).unwrap();
        course.learn(&machine, 30_000, &before);
        let done = course.others(&machine)[0] - before[0];
        assert!(done > 1000);
        assert!((course.progress[0] - done as f64 / 30_000.0).abs() < 1e-3, "{done}");
        let target = course.targets(90_000, 30_000)[1] - course.done[0];
        assert!(target.abs_diff(2 * done) < 100, "{target} after {done}");
    }
}
