//! Cost of watching: of a refresh with many threads, and of seeing every switch of tasks.
//!
//! `cargo bench -p corun-monitor --bench cost` prints the CPU time of the thread that watches, and how much longer a
//! switch takes while switches are recorded, in rounds that alternate. Two threads that wake each other over pipes on
//! one CPU are the load: 50,000 times a second, and as often as they can. Where the machine shows no siblings, its first
//! two CPUs are taken for some: what recording costs does not depend on whether they are.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use corun_machine::Machine;
use corun_monitor::{Options, Source, System};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

const INTERVAL: Duration = Duration::from_millis(500);
const ROUNDS: usize = 5;

fn main() {
    for threads in [10, 1_000, 10_000] {
        let sleepers = Sleepers::begin(threads);
        let mut system =
            System::open(Options { exact: false, ..Options::default() }).expect("/proc");
        system.next(INTERVAL).expect("a second reading");
        let mut costs: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let before = cpu_time();
                system.next(INTERVAL).expect("a reading");
                (cpu_time() - before) * 1e3
            })
            .collect();
        costs.sort_by(f64::total_cmp);
        println!("{threads:6} threads: {:8.2} ms of CPU time a refresh", costs[ROUNDS / 2]);
        drop(sleepers);
    }
    let Some(machine) = with_siblings() else {
        return println!("one CPU: switches of siblings are not recorded");
    };
    for period in [Duration::from_micros(20), Duration::ZERO] {
        switches(&machine, period);
    }
}

/// This machine, or one whose first two CPUs are siblings.
fn with_siblings() -> Option<Machine> {
    let mut machine = Machine::read("/".as_ref()).expect("a machine");
    if machine.cores.iter().any(|core| core.smt_width > 1) {
        return Some(machine);
    }
    let other = (machine.cores.len() > 1).then(|| machine.cores.remove(1))?;
    let core = &mut machine.cores[0];
    core.cpus = core.cpus.iter().chain(other.cpus.iter()).collect();
    core.smt_width = 2;
    Some(machine)
}

/// Cost of recording where a switch comes once in each period, or as soon as it can.
fn switches(machine: &Machine, period: Duration) {
    let load = PingPong::begin(period);
    let (mut without, mut with, mut said) = (Vec::new(), Vec::new(), String::new());
    for _ in 0..ROUNDS {
        without.push(load.rate(|| thread::sleep(INTERVAL)));
        let options = Options { machine: Some(machine.clone()), ..Options::default() };
        let mut system = System::open(options).expect("/proc");
        with.push(load.rate(|| {
            let activity = system.next(INTERVAL).expect("a reading");
            said = format!("{:?}", activity.co_busy);
        }));
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    };
    let (without, with) = (median(&mut without), median(&mut with));
    println!("{without:.0} switches a second without, {with:.0} while they are recorded");
    println!("{:.0} ns more a switch; {said}", (1.0 / with - 1.0 / without) * 1e9);
}

/// The CPU time of the calling thread, in seconds.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Threads that wait.
struct Sleepers {
    is_over: Arc<(Mutex<bool>, Condvar)>,
    threads: Vec<JoinHandle<()>>,
}

impl Sleepers {
    fn begin(count: usize) -> Self {
        let is_over: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let threads = (0..count)
            .map_while(|_| {
                let is_over = Arc::clone(&is_over);
                let wait = move || {
                    let over = is_over.0.lock().expect("no panic");
                    drop(is_over.1.wait_while(over, |over| !*over).expect("no panic"));
                };
                thread::Builder::new().stack_size(64 << 10).spawn(wait).ok()
            })
            .collect();
        Self { is_over, threads }
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        *self.is_over.0.lock().expect("no panic") = true;
        self.is_over.1.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Two threads on one CPU, each of which waits for the other.
struct PingPong {
    is_over: Arc<AtomicBool>,
    switches: Arc<AtomicU64>,
}

impl PingPong {
    fn begin(period: Duration) -> Self {
        let (is_over, switches) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let [(one_in, one_out), (two_in, two_out)] =
            [(); 2].map(|()| rustix::pipe::pipe().expect("a pipe"));
        for (input, output, begins) in [(one_in, two_out, true), (two_in, one_out, false)] {
            let (is_over, switches) = (Arc::clone(&is_over), Arc::clone(&switches));
            thread::spawn(move || play(input, output, begins, period, &is_over, &switches));
        }
        Self { is_over, switches }
    }

    /// Switches a second while something is done.
    fn rate(&self, work: impl FnOnce()) -> f64 {
        let (before, began) = (self.switches.load(Ordering::Relaxed), Instant::now());
        work();
        (self.switches.load(Ordering::Relaxed) - before) as f64 / began.elapsed().as_secs_f64()
    }
}

impl Drop for PingPong {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn play(
    input: OwnedFd,
    output: OwnedFd,
    begins: bool,
    period: Duration,
    is_over: &AtomicBool,
    switches: &AtomicU64,
) {
    let mut cpus = CpuSet::new();
    cpus.set(0);
    let _ = sched_setaffinity(None, &cpus);
    let (mut input, mut output) = (std::fs::File::from(input), std::fs::File::from(output));
    if begins {
        let _ = output.write_all(b"x");
    }
    while !is_over.load(Ordering::Relaxed) && input.read_exact(&mut [0]).is_ok() {
        let began = Instant::now();
        switches.fetch_add(1, Ordering::Relaxed);
        while began.elapsed() < period {
            std::hint::spin_loop();
        }
        if output.write_all(b"x").is_err() {
            break;
        }
    }
}
