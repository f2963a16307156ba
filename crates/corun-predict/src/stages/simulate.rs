//! Simulate: windows on core models, several sections of them at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use corun_record::{DetailedCost, Progress, SimulationCost, Stage};
use corun_sim::{
    Mode, SimulatedSection, SimulatedWindows, SimulationError, WindowSimulation, in_parallel,
};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::PredictError;

/// Simulated windows, and the cost of their simulation.
#[derive(Debug)]
pub(crate) struct SimulatedRun {
    pub(super) windows: SimulatedWindows,
    pub(super) cost: SimulationCost,
}

impl SimulatedRun {
    /// These windows and those of another recording of the same run.
    pub(crate) fn with(self, other: Self) -> Self {
        let cost = sum(self.cost, other.cost);
        Self { windows: self.windows.with_recording(other.windows), cost }
    }
}

/// Simulations, as far as they were done.
pub(super) struct Simulations {
    /// Each in its order; none of which too little is known. Those of the same run have the same windows.
    pub(super) runs: Vec<Option<SimulatedRun>>,
    /// The share of the windows that is missing, of each.
    pub(super) missing: Vec<f64>,
}

/// The part of another simulation's windows that one has to have, or it has no result: with fewer, too little would be left
/// of all of them.
const LEAST_COMMON: usize = 4;

/// All of these simulations, in their order, so many sections at a time, until `stop` is set. Of the first one there is a result
/// in any case.
///
/// # Errors
/// If one fails.
pub(super) fn simulate(
    jobs: usize,
    simulations: &[&WindowSimulation<'_>],
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Simulations, PredictError> {
    let sections = |(number, of): (usize, &&WindowSimulation<'_>)| {
        (0..of.sections()).map(move |section| (number, section)).collect::<Vec<_>>()
    };
    let mut tasks: Vec<_> = simulations.iter().enumerate().flat_map(sections).collect();
    let all = tasks.iter().map(|&(number, section)| simulations[number].instructions(section));
    progress.begin(Stage::new("simulating", "instructions", all.sum::<u64>()));
    // What is done when the time is over lies everywhere in the run. Of a section the first is what others are compared with;
    // then the longest, so that no CPU is left with one at the end.
    tasks.sort_by_key(|&(number, section)| {
        let of = simulations[number];
        (spread_order(section), number != 0, Reverse(of.cost(section)))
    });
    let done = in_parallel(jobs, tasks.len(), |at| {
        let (number, section) = tasks[at];
        let is_over = || stop.load(Ordering::Relaxed);
        if at > 0 && is_over() {
            return Ok(None);
        }
        let mut meter = Meter::begin()?;
        let mut cpu_time = Ok(());
        let simulated = simulations[number].simulate(section, |step| {
            progress.advance(step.instructions);
            cpu_time = meter.note(step.instructions, step.next);
            cpu_time.is_ok() && (!is_over() || at == 0 && !step.has_result)
        })?;
        cpu_time?;
        Ok::<_, PredictError>(simulated.map(|simulated| (simulated, meter.cost)))
    });
    let done = done.into_iter().collect::<Result<Vec<_>, PredictError>>()?;
    let mut done: BTreeMap<_, _> =
        tasks.iter().copied().zip(done).filter_map(|(task, it)| Some((task, it?))).collect();
    let mut of = |number: usize| {
        let sections = 0..simulations[number].sections();
        let done = sections.map(|section| done.remove(&(number, section)));
        Done::of(done.collect())
    };
    let mut all: Vec<Option<Done>> = (0..simulations.len()).map(&mut of).collect();
    let mut found = Simulations {
        runs: simulations.iter().map(|_| None).collect(),
        missing: vec![0.0; simulations.len()],
    };
    for first in 0..simulations.len() {
        let has_windows_of = |other: &usize| simulations[first].has_windows_of(simulations[*other]);
        if (0..first).any(|before| has_windows_of(&before)) {
            continue;
        }
        let alike: Vec<usize> = (first..simulations.len()).filter(has_windows_of).collect();
        let instructions = {
            let of = simulations[first];
            (0..of.sections()).map(|section| of.counted(section)).sum()
        };
        let group = alike.iter().map(|at| all[*at].take()).collect();
        let (group, missing) = common(group, instructions);
        for (at, done) in alike.into_iter().zip(group) {
            let joined = done.map(|Done { sections, cost, .. }| {
                let windows = simulations[at].join(sections)?;
                Ok::<_, SimulationError>(SimulatedRun { windows, cost })
            });
            found.runs[at] = joined.transpose()?;
            found.missing[at] = missing;
        }
    }
    Ok(found)
}

/// The sections of a simulation that are done, and their cost.
struct Done {
    sections: Vec<SimulatedSection>,
    cost: SimulationCost,
    is_whole: bool,
}

impl Done {
    /// None if nothing is done.
    fn of(sections: Vec<Option<(SimulatedSection, SimulationCost)>>) -> Option<Self> {
        let is_done = |it: &Option<(SimulatedSection, _)>| {
            it.as_ref().is_some_and(|(section, _)| section.is_whole())
        };
        let is_whole = sections.iter().all(is_done);
        let (sections, costs): (Vec<_>, Vec<_>) = sections.into_iter().flatten().unzip();
        Some(Self { sections, cost: costs.into_iter().reduce(sum)?, is_whole })
    }

    fn begins(&self) -> BTreeSet<u64> {
        self.sections.iter().flat_map(SimulatedSection::begins).collect()
    }

    fn in_pieces(self) -> Self {
        let sections = self.sections.into_iter().map(SimulatedSection::in_pieces).collect();
        Self { sections, ..self }
    }
}

/// Simulations of the same run, of which the first is what others are compared with, with the windows that all of them have;
/// where the first has no two windows, with their pieces. And the share that is missing of a run whose windows have so many
/// instructions.
fn common(mut all: Vec<Option<Done>>, instructions: u64) -> (Vec<Option<Done>>, f64) {
    let Some(Some(first)) = all.first() else { return (all, 1.0) };
    if all.iter().all(|it| it.as_ref().is_some_and(|it| it.is_whole)) {
        return (all, 0.0);
    }
    let is_whole = first.is_whole;
    if first.begins().len() < 2 {
        all = all.into_iter().map(|it| it.map(Done::in_pieces)).collect();
    }
    let windows = |all: &[Option<Done>]| all[0].as_ref().map_or(0, |it| it.begins().len());
    let windows_of_first = windows(&all);
    let mut kept = None;
    for it in &mut all {
        let Some(own) = it.as_ref().map(Done::begins) else { continue };
        let before = kept.as_ref().unwrap_or(&own);
        let common: BTreeSet<u64> = before.intersection(&own).copied().collect();
        match common.len() * LEAST_COMMON < before.len() {
            true => *it = None,
            false => kept = Some(common),
        }
    }
    let kept = kept.unwrap_or_default();
    let sections = all.iter_mut().flatten().flat_map(|it| &mut it.sections);
    sections.for_each(|section| section.retain(|begin| kept.contains(&begin)));
    if is_whole && windows(&all) == windows_of_first {
        return (all, 0.0);
    }
    let left = all.iter().take(1).flatten().flat_map(|it| &it.sections);
    let left: u64 = left.map(SimulatedSection::instructions).sum();
    let missing = 1.0 - left as f64 / instructions.max(1) as f64;
    (all, missing.max(0.0))
}

/// Orders numbers so that the first of them lie everywhere among the others (van der Corput 1935).
fn spread_order(number: usize) -> usize {
    number.reverse_bits()
}

/// Meter of a section's cost, by the CPU time of the thread that simulates it.
struct Meter {
    cost: SimulationCost,
    /// Mode of the instructions that come next.
    mode: Mode,
    /// CPU time up to which it is counted, in seconds.
    counted_s: f64,
}

impl Meter {
    fn begin() -> Result<Self, PredictError> {
        let Usage { cpu_s, peak_rss_bytes } = Usage::now()?;
        let detailed = Some(DetailedCost { instructions: 0, cpu_s: 0.0 });
        let cost = SimulationCost { instructions: 0, cpu_s: 0.0, peak_rss_bytes, detailed };
        Ok(Self { cost, mode: Mode::Warming, counted_s: cpu_s })
    }

    /// So many instructions are done since the last time.
    fn note(&mut self, instructions: u64, next: Mode) -> Result<(), PredictError> {
        let Usage { cpu_s, peak_rss_bytes } = Usage::now()?;
        let used_s = cpu_s - std::mem::replace(&mut self.counted_s, cpu_s);
        let detailed = match std::mem::replace(&mut self.mode, next) {
            Mode::Warming => DetailedCost { instructions: 0, cpu_s: 0.0 },
            Mode::Detailed => DetailedCost { instructions, cpu_s: used_s },
        };
        let part = SimulationCost {
            instructions,
            cpu_s: used_s,
            peak_rss_bytes,
            detailed: Some(detailed),
        };
        self.cost = sum(self.cost, part);
        Ok(())
    }
}

fn sum(one: SimulationCost, other: SimulationCost) -> SimulationCost {
    let detailed = one.detailed.zip(other.detailed).map(|(one, other)| DetailedCost {
        instructions: one.instructions + other.instructions,
        cpu_s: one.cpu_s + other.cpu_s,
    });
    SimulationCost {
        instructions: one.instructions + other.instructions,
        cpu_s: one.cpu_s + other.cpu_s,
        peak_rss_bytes: one.peak_rss_bytes.max(other.peak_rss_bytes),
        detailed,
    }
}

/// The CPU time of this thread, and the peak memory of the process.
struct Usage {
    cpu_s: f64,
    peak_rss_bytes: u64,
}

impl Usage {
    fn now() -> Result<Self, PredictError> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD)
            .map_err(|error| PredictError::CpuTime(error.into()))?;
        let seconds = |time: TimeVal| time.num_microseconds() as f64 * 1e-6;
        Ok(Self {
            cpu_s: seconds(usage.user_time()) + seconds(usage.system_time()),
            peak_rss_bytes: usage.max_rss() as u64 * 1024,
        })
    }
}

#[cfg(test)]
mod tests {
    use corun_model::timing::TimingTable;
    use std::sync::atomic::AtomicU64;

    use corun_record::{PageSize, Unwatched};
    use corun_sim::{Recording, SampledRun, Sibling};
    use corun_trace::format::{Opening, Options, Trace, Writer};
    use corun_trace::{Marker, OrderedMarker, Phase, Sink, decode};

    use super::*;

    /// Loads of one line after another, in three windows after warm-ups.
    fn trace() -> Trace {
        let mut writer = Writer::new(Vec::new(), &Opening::default(), Options::default()).unwrap();
        // mov rdi, [rdi]; jmp to the first
        let block =
            writer.define(decode(0x1000, &[0x48, 0x8b, 0x3f, 0xeb, 0xfb]).unwrap()).unwrap();
        let thread = writer.thread(1).unwrap();
        let (mut line, mut order) = (0_u64, 0);
        for _ in 0..3 {
            for (phase, rounds) in [(Phase::WarmUp, 20_000), (Phase::Counted, 1000)] {
                order += 1;
                let marker = Marker::Begin { phase, skipped: 0 };
                writer.mark(thread, OrderedMarker { order, marker }).unwrap();
                for _ in 0..rounds {
                    line = (line * 5 + 3) % (1 << 12);
                    writer.execute(thread, block, 2, &[0x10_0000 + 64 * line]).unwrap();
                }
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    /// The windows of the trace alone, and beside copies of several seeds, on so many CPUs.
    fn on(
        cpus: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Simulations, PredictError> {
        let trace = trace();
        let model = corun_model::find("zen4").unwrap();
        let timings = TimingTable::of(&model).unwrap();
        let thread = trace.threads()[0].id;
        let recording = Recording { trace: &trace, thread, total: 1 << 20 };
        let run = SampledRun::of(recording).unwrap();
        let of = |(seed, siblings)| {
            let core = (&model, &timings);
            WindowSimulation::new(core, &run, siblings, PageSize::Small, seed).unwrap()
        };
        let copy = Sibling { recording, begin: 0.0, is_copy: true };
        let beside = (1..5).map(|seed| (seed, vec![copy]));
        let all: Vec<_> = std::iter::once((0, Vec::new())).chain(beside).map(of).collect();
        let all: Vec<_> = all.iter().collect();
        simulate(cpus, &all, progress, stop)
    }

    /// Stops when so many instructions are simulated.
    struct StopsAt<'a>(AtomicU64, &'a AtomicBool);

    impl Progress for StopsAt<'_> {
        fn begin(&self, _: Stage) {}

        fn advance(&self, units: u64) {
            let left = self.0.load(Ordering::Relaxed).saturating_sub(units);
            self.0.store(left, Ordering::Relaxed);
            self.1.store(left == 0, Ordering::Relaxed);
        }
    }

    #[test]
    fn results_are_the_same_on_any_number_of_cpus() {
        let of = |cpus| {
            let Simulations { runs, missing } =
                on(cpus, &AtomicBool::new(false), &Unwatched).unwrap();
            assert_eq!(missing, [0.0; 5]);
            runs.into_iter().collect::<Option<Vec<_>>>().unwrap()
        };
        let (one, many) = (of(1), of(3));
        for (one, many) in one.iter().zip(&many) {
            assert_eq!(one.windows, many.windows);
            assert_eq!(one.cost.instructions, many.cost.instructions);
        }
        let cycles = |of: &SimulatedRun| of.windows.together.cycles;
        assert!(one[1..].iter().all(|beside| cycles(beside) > cycles(&one[0])));
        assert_ne!(cycles(&one[1]), cycles(&one[2]), "copies are as far apart");
        let SimulationCost { instructions, cpu_s, detailed, .. } = one[0].cost;
        let detailed = detailed.unwrap();
        assert_eq!(instructions, 3 * 42_000);
        assert!(detailed.instructions.abs_diff(3 * (2000 + 8192)) < 48, "{detailed:?}");
        assert!(detailed.cpu_s <= cpu_s);
    }

    /// Has the system refuse `getrusage` to this thread and those that it starts; false if it sets no such filter.
    fn refuse_getrusage() -> bool {
        let line = |code: u32, jump, k| libc::sock_filter { code: code as u16, jt: 0, jf: jump, k };
        let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        let mut filter = [
            // The number of the call is the first word of its description.
            line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            line(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_getrusage as u32),
            line(libc::BPF_RET | libc::BPF_K, 0, refusal),
            line(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
        // SAFETY: the program and its filter live until the calls return.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0
        }
    }

    #[test]
    fn a_system_that_tells_no_cpu_time_is_an_error() {
        let refused = std::thread::spawn(|| {
            refuse_getrusage().then(|| on(2, &AtomicBool::new(false), &Unwatched))
        });
        match refused.join().expect("an error is no panic") {
            Some(refused) => assert!(matches!(refused, Err(PredictError::CpuTime(_)))),
            None => eprintln!("skipped: this system sets no seccomp filter"),
        }
    }

    /// Simulated until so many instructions are done, of all simulations together.
    fn until(instructions: u64) -> Simulations {
        let stop = AtomicBool::new(instructions == 0);
        on(1, &stop, &StopsAt(AtomicU64::new(instructions), &stop)).unwrap()
    }

    #[test]
    fn what_is_done_when_it_stops_is_the_result_and_the_same_windows_are_compared() {
        let whole = until(u64::MAX).runs.into_iter().collect::<Option<Vec<_>>>().unwrap();
        let own = |of: &Simulations| of.runs[0].as_ref().expect("a result").windows.clone();
        let first = &whole[0].windows;
        assert_eq!(first.windows.len(), 3);
        // Of one that is stopped at once the first two windows are there, and the interval is to hold the third.
        let least = until(0);
        assert_eq!(own(&least).windows, first.windows[..2]);
        assert!((least.missing[0] - 1.0 / 3.0).abs() < 0.01, "{:?}", least.missing);
        assert!(least.runs[1..].iter().all(Option::is_none));
        // The first is done, and the second has two windows of three: these are compared.
        let part = until(126_000 + 100_000);
        assert_eq!(own(&part).windows, first.windows[..2]);
        let beside = part.runs.iter().flatten().nth(1).expect("one beside");
        let begins =
            |of: &SimulatedWindows| of.windows.iter().map(|it| it.begin).collect::<Vec<_>>();
        assert_eq!(begins(&beside.windows), begins(&own(&part)));
        assert_eq!(part.runs.iter().flatten().count(), 2);
        // The second has no window yet.
        let alone = until(126_000 + 10_000);
        assert_eq!((&own(&alone), alone.missing[0]), (first, 0.0));
        assert_eq!(alone.runs.iter().flatten().count(), 1);
    }

    #[test]
    fn results_are_found_in_the_order_of_the_run() {
        let mut spread: Vec<usize> = (0..8).collect();
        spread.sort_by_key(|it| spread_order(*it));
        assert_eq!(spread, [0, 4, 2, 6, 1, 5, 3, 7]);
    }
}
