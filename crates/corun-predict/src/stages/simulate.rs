//! Simulate: windows on core models, several sections of them at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_record::{DetailedCost, Progress, SimulationCost, Stage};
use corun_sim::{Mode, SimulatedWindows, SimulationError, WindowSimulation, in_parallel};
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
        Self { windows: self.windows.with(other.windows), cost }
    }
}

/// Simulations, as far as they were done.
pub(super) struct Simulations {
    /// Each in its order; none of which nothing is known. Those with as many sections as the first have the same windows.
    pub(super) runs: Vec<Option<SimulatedRun>>,
    /// The share of the first one that is missing.
    pub(super) missing: f64,
}

/// All of these simulations, in their order, so many sections at a time, until `stop` is set.
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
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut meter = Meter::begin()?;
        let mut cpu_time = Ok(());
        let simulated = simulations[number].simulate(section, |done, next| {
            progress.advance(done);
            cpu_time = meter.note(done, next);
            cpu_time.is_ok() && !stop.load(Ordering::Relaxed)
        })?;
        cpu_time?;
        Ok::<_, PredictError>(simulated.map(|simulated| (simulated, meter.cost)))
    });
    let done = done.into_iter().collect::<Result<Vec<_>, PredictError>>()?;
    let mut done: BTreeMap<_, _> =
        tasks.iter().copied().zip(done).filter_map(|(task, it)| Some((task, it?))).collect();
    // Windows are compared with the same windows.
    let sections = simulations.first().map_or(0, |it| it.sections());
    let alike: Vec<usize> =
        (0..simulations.len()).filter(|at| simulations[*at].sections() == sections).collect();
    let is_common = |section: &usize| alike.iter().all(|at| done.contains_key(&(*at, *section)));
    let common: Vec<usize> = match sections {
        // Of one section each result counts by itself.
        0 | 1 => (0..sections).collect(),
        _ => (0..sections).filter(is_common).collect(),
    };
    let instructions = |of: &mut dyn Iterator<Item = usize>| {
        of.map(|section| simulations[0].instructions(section)).sum::<u64>() as f64
    };
    let all = instructions(&mut (0..sections));
    let done_of_all = instructions(&mut common.iter().copied());
    let missing = if all > 0.0 { 1.0 - done_of_all / all } else { 0.0 };
    let joined = simulations.iter().enumerate().map(|(number, of)| {
        let wanted = match of.sections() == sections {
            true => common.clone(),
            false => (0..of.sections()).collect(),
        };
        let parts: Option<Vec<_>> =
            wanted.iter().map(|section| done.remove(&(number, *section))).collect();
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else { return Ok(None) };
        let (parts, costs): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let cost = costs.into_iter().reduce(sum).expect("there is a part");
        Ok(Some(SimulatedRun { windows: of.join(parts)?, cost }))
    });
    let runs = joined.collect::<Result<_, SimulationError>>()?;
    Ok(Simulations { runs, missing })
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
            assert!(missing.abs() < 1e-9, "{missing}");
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

    #[test]
    fn it_stops_on_request_with_what_is_done() {
        let stopped = on(2, &AtomicBool::new(true), &Unwatched).unwrap();
        assert!(stopped.runs.iter().all(Option::is_none));
        let stop = AtomicBool::new(false);
        // The first of one section is done, and the others are not.
        let part = on(1, &stop, &StopsAt(AtomicU64::new(130_000), &stop)).unwrap();
        assert!(part.runs[0].is_some() && part.runs[1..].iter().all(Option::is_none));
        let mut spread: Vec<usize> = (0..8).collect();
        spread.sort_by_key(|it| spread_order(*it));
        assert_eq!(spread, [0, 4, 2, 6, 1, 5, 3, 7]);
    }
}
