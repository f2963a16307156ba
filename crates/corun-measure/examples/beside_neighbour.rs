//! Two equal programs, and two that differ by 5 %, compared beside a neighbour of known load on their CPU:
//! `cargo run -p corun-measure --example beside_neighbour [SECONDS]`, for each of the comparisons.
//!
//! Each line has the ratio by elapsed time as it was, and as corun gives it. `record RUNS` instead prints runs of the equal
//! program as the CSV that `tests/it/disturbed.rs` draws from.
#![allow(clippy::disallowed_macros, reason = "an example prints")]

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command as Program};
use std::time::{Duration, Instant};

use corun_machine::{Affinity, Machine};
use corun_measure::analysis::{AnalysisRequest, Workers, analyse};
use corun_measure::cores::usable_cores;
use corun_measure::execution::{Command, Interrupt, LocalExecutor, Task, Work};
use corun_measure::experiment::Executor;
use corun_measure::series::Series;
use corun_record::{Arm, Metric, Mode, Placement, Sample};
use corun_stats::paired;

/// Loads of the neighbour: its name, its share of the CPU that is measured on, and whether all CPUs have one.
const NEIGHBOURS: [(&str, f64, bool); 4] =
    [("none", 0.0, false), ("20 %", 0.2, false), ("half", 0.5, false), ("all CPUs", 1.0, true)];
/// A neighbour works and rests once in this time.
const PERIOD: Duration = Duration::from_millis(70);
/// Steps through memory of one run.
const STEPS: u64 = 5_000_000;
/// Steps through 256 KB of memory.
const RING: usize = 1 << 15;
/// Work of the second program where it differs: 5 % more.
const MORE: f64 = 1.05;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<f64>().ok());
    match arguments.first().map(String::as_str) {
        Some("work") => work(number(1).unwrap_or(0.0) as u64),
        Some("neighbour") => {
            neighbour(number(1).unwrap_or(0.0) as u32, number(2).unwrap_or(0.0));
        }
        Some("record") => record(number(1).unwrap_or(100.0) as u32),
        _ => compare(Duration::from_secs_f64(number(0).unwrap_or(15.0))),
    }
}

/// Follows a ring through memory, in an order that no prefetcher finds.
fn work(steps: u64) {
    let mut ring: Vec<u32> = vec![0; RING];
    let mut at = 0;
    for _ in 0..RING {
        // A full cycle: the multiplier is 1 modulo 4, and the addend odd.
        let next = (at * 5 + 12_345) % RING;
        ring[at] = next as u32;
        at = next;
    }
    let mut at = 0;
    for _ in 0..steps {
        at = ring[at as usize];
    }
    std::hint::black_box(at);
}

/// Keeps a CPU busy for a share of its time.
fn neighbour(cpu: u32, share: f64) -> ! {
    // SAFETY: ends this process with the one that started it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    assert!(Affinity::pin(0, cpu), "CPU {cpu} may not be used");
    let mut memory = vec![0_u8; 1 << 20];
    loop {
        let begin = Instant::now();
        let cpu_s = || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: fills a plain time.
            unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
            time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
        };
        let until = cpu_s() + share * PERIOD.as_secs_f64();
        while share >= 1.0 || cpu_s() < until {
            memory.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
            std::hint::black_box(&memory);
        }
        std::thread::sleep(PERIOD.saturating_sub(begin.elapsed()));
    }
}

/// Neighbours that run until this is dropped.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn start(share: f64, cpus: &[u32]) -> Self {
        let own = std::env::current_exe().expect("the path of this program");
        let start = |cpu: &u32| {
            let arguments = ["neighbour".to_owned(), cpu.to_string(), share.to_string()];
            Program::new(&own).args(arguments).spawn().expect("a neighbour")
        };
        Self(if share > 0.0 { cpus.iter().map(start).collect() } else { Vec::new() })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Two programs on one CPU, each with its twin.
struct Pair {
    arms: Vec<Arm>,
    executors: [LocalExecutor; 2],
    cpus: Vec<u32>,
    /// Ends whose closing would interrupt the executors.
    _raise: Vec<UnixStream>,
}

impl Pair {
    /// The second program does so many times the work of the first.
    fn new(more: f64) -> Self {
        let machine = Machine::read(Path::new("/")).expect("a machine");
        let cores = usable_cores(&machine);
        let cpus: Vec<u32> = cores.iter().map(|core| core.cpus[0]).collect();
        let cpu = *cpus.last().expect("a CPU");
        let arm = |placement| Arm::new(placement, 1, 1, vec![cpu]);
        let (one, other) = (arm(Placement::Single), arm(Placement::Spread(None)));
        let twin = |of: &Arm| Arm {
            id: format!("{}.aa", of.id),
            twin_of: Some(of.id.clone()),
            ..of.clone()
        };
        let arms = vec![twin(&one), twin(&other), one, other];
        let mut raise = Vec::new();
        let mut executor = |steps: f64| {
            let (interrupt, end) = Interrupt::new().expect("a pair of sockets");
            raise.push(end);
            LocalExecutor::new(program(steps as u64), cores.clone(), interrupt, None)
                .expect("an executor of this program")
        };
        let executors = [executor(STEPS as f64), executor(STEPS as f64 * more)];
        Self { arms, executors, cpus, _raise: raise }
    }

    fn cpus(&self, all: bool) -> Vec<u32> {
        if all { self.cpus.clone() } else { self.cpus.last().copied().into_iter().collect() }
    }

    /// One run of each arm, from another one on in each block.
    fn block(&mut self, block: u32) -> Vec<Sample> {
        let count = self.arms.len();
        let first = (block as usize * 7 + 3) % count;
        let mut order: Vec<usize> = (0..count).map(|index| (first + index) % count).collect();
        if block % 2 == 1 {
            order.reverse();
        }
        let run = |(position, index): (usize, usize)| {
            let outcome = self.executors[index % 2].run(&self.arms[index]).expect("a run");
            Sample {
                block,
                position: position as u32,
                arm: self.arms[index].id.clone(),
                makespan_s: outcome.makespan.as_secs_f64(),
                throughput: outcome.throughput,
                workers: outcome.workers,
                evidence: outcome.evidence,
                ..Sample::default()
            }
        };
        order.into_iter().enumerate().map(run).collect()
    }
}

fn program(steps: u64) -> Work {
    let own = std::env::current_exe().expect("the path of this program");
    Work {
        task: Task::Command(Command {
            argv: vec![own.into_os_string(), "work".into(), OsString::from(steps.to_string())],
            environment: std::env::vars_os().collect(),
            directory: None,
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument: None,
        }),
        mode: Mode::Copies,
        steady: false,
        operations: 1.0,
        timeout: None,
        prepare: None,
    }
}

fn compare(time: Duration) {
    println!("neighbour   truth   by elapsed time             without what others took");
    for (name, share, all) in NEIGHBOURS {
        for more in [1.0, MORE] {
            let mut pair = Pair::new(more);
            let _neighbours = Neighbours::start(share, &pair.cpus(all));
            let begin = Instant::now();
            let mut samples = Vec::new();
            for block in 0.. {
                if block > 3 && begin.elapsed() > time {
                    break;
                }
                samples.extend(pair.block(block));
            }
            println!("{name:<10}  {:.3}   {}", 1.0 / more, line(&pair.arms, &samples));
        }
    }
}

/// The ratio of the second program's throughput to the first one's, by elapsed time and as corun gives it.
fn line(arms: &[Arm], samples: &[Sample]) -> String {
    let series = Series::of_throughput(arms, samples);
    let logs = series.arm("spread").into_iter().zip(series.arm("single")).map(|(b, a)| b - a);
    let elapsed = paired(&logs.collect::<Vec<_>>(), 0.95).map(|it| it.ratio());
    let elapsed = elapsed.map_or_else(String::new, |[value, low, high]| {
        format!("{value:.3} ({low:.3} to {high:.3})")
    });
    let question = AnalysisRequest {
        practical: 0.02,
        level: 0.95,
        seed: 1,
        mode: Mode::Copies,
        workers: Workers::Alike,
        row: None,
    };
    let analysis = analyse(arms, samples, &question, None);
    let seen = analysis.observations.iter().find(|it| it.metric == Metric::Scaling);
    let seen = seen.map_or_else(String::new, |it| {
        let it = it.estimate;
        format!("{:.3} ({:.3} to {:.3}), {} blocks", it.value, it.low, it.high, it.blocks)
    });
    let answer = analysis.verdicts.first().map(|it| format!("{:?}", it.answer));
    format!("{elapsed:<26}  {seen}: {}", answer.unwrap_or_default())
}

fn record(runs: u32) {
    println!("neighbour,makespan_s,cpu_wait,pressure_s,by_elapsed,by_processor");
    for block in 0..runs.div_ceil(4) {
        for (name, share, all) in NEIGHBOURS {
            let mut pair = Pair::new(1.0);
            let _neighbours = Neighbours::start(share, &pair.cpus(all));
            for sample in pair.block(block) {
                let evidence = &sample.evidence;
                let known =
                    |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.6}"));
                println!(
                    "{name},{:.6},{},{},{},{}",
                    sample.makespan_s,
                    known(evidence.cpu_wait),
                    known(evidence.cpu_pressure_s),
                    known(evidence.undisturbed.by_elapsed),
                    known(evidence.undisturbed.by_processor)
                );
            }
        }
    }
}
