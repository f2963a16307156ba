//! Speed of the scheduler model, and its memory.
//!
//! `cargo bench -p corun-sched --bench schedule`: events a second on one core for each policy, a large
//! machine for ten simulated seconds, and the growth of memory with tasks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use corun_sched::policy::{ALL, PolicyEntry};
use corun_sched::program::{Amount, Load, Step};
use corun_sched::{Costs, Outcome, Settings, Slowdowns, Topology, load, schedule};

/// Bytes that are allocated, now and at most.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!("events a second of processor time on one core, median of 5 runs\n");
    for (machine, text) in [
        ("1x4x2", "tbench:clients=16,requests=4000"),
        ("1x4x2", "chat:rooms=2,messages=10"),
        ("2x16x2", "server:threads=64,rate=20000,requests=60000"),
    ] {
        let load = load::find(text, |path| std::fs::read_to_string(path)).expect("a load");
        println!("{text} on {machine}");
        for policy in ALL {
            let settings = settings(machine);
            let mut rates: Vec<f64> = (0..5).map(|_| rate(policy, &load, &settings)).collect();
            rates.sort_by(f64::total_cmp);
            println!("  {:<8} {:>6.2} M events/s", policy.name, rates[2] / 1e6);
        }
    }
    println!("\n10,000 tasks on 1,024 logical CPUs (8x64x2), 10 simulated seconds");
    let large = busy_sleepers(10_000);
    for policy in ALL {
        let settings = Settings { until: Some(10_000_000_000), ..settings("8x64x2") };
        let begin = Instant::now();
        let (outcome, used) = timed(policy, &large, &settings);
        println!(
            "  {:<8} {:>6.2} s ({:.2} s of processor time), {:.1} M events, {:.2} M events/s",
            policy.name,
            begin.elapsed().as_secs_f64(),
            used,
            outcome.events as f64 / 1e6,
            outcome.events as f64 / 1e6 / used
        );
    }
    println!("\nmemory at most, of cfs on 64 logical CPUs for a simulated second");
    for count in [1_000, 10_000, 100_000] {
        let load = busy_sleepers(count);
        let settings = Settings { until: Some(1_000_000_000), ..settings("2x16x2") };
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let policy = PolicyEntry::find("cfs").expect("a policy");
        schedule(&policy, &load, &settings, &mut ()).expect("it can be scheduled");
        let most = PEAK.load(Ordering::Relaxed) - before;
        println!(
            "  {count:>7} tasks: {:>7.1} MB, {} bytes a task",
            most as f64 / 1e6,
            most / count
        );
    }
}

fn settings(machine: &str) -> Settings {
    Settings {
        topology: Topology::parse(machine).expect("a topology"),
        slowdowns: Slowdowns::uniform("1.6".parse().expect("a number")),
        costs: Costs { switch: 1_500, refill: 10_000, wake_up: 1_000, ..Costs::default() },
        seed: 1,
        until: None,
    }
}

/// Tasks that work for a few milliseconds, sleep, and never end.
fn busy_sleepers(count: usize) -> Load {
    let mut load = Load::default();
    let steps = vec![
        Step::Repeat(None),
        Step::Run(Amount::Uniform(1_000_000, 9_000_000)),
        Step::Sleep(Amount::Uniform(1_000_000, 9_000_000)),
        Step::End,
    ];
    let program = load.program("sleeper", "sleeper", steps);
    load.tasks(program, count);
    load
}

fn rate(policy: &PolicyEntry, load: &Load, settings: &Settings) -> f64 {
    let (outcome, used) = timed(policy, load, settings);
    outcome.events as f64 / used
}

fn timed(policy: &PolicyEntry, load: &Load, settings: &Settings) -> (Outcome, f64) {
    let begin = processor_time();
    let outcome = schedule(policy, load, settings, &mut ()).expect("it can be scheduled");
    (outcome, processor_time() - begin)
}

/// Seconds that this thread has run.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
