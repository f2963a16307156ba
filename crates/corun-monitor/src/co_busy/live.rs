//! The live kernel's records of switches and states of threads, with two CPUs that are taken for siblings.
//!
//! What is checked does not depend on whether they are: two threads bound to one CPU never run at the same time.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use corun_machine::kernel_clock::{now_ns, own_thread};
use corun_record::CoBusyMethod;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{CoBusy, CoBusyReading, Core, Cores};
use crate::proc::{Accounts, CpuUse, ProcFiles};

const CPUS: [u32; 2] = [0, 1];
const INTERVAL_NS: u64 = 300_000_000;

/// Two CPUs that are taken for siblings, if this process may use both.
fn cores() -> Option<Cores> {
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let is_allowed = CPUS.iter().all(|&cpu| allowed.is_set(cpu as usize));
    let core = Core { id: 0, package: None, cpus: CPUS.to_vec() };
    is_allowed.then(|| Cores { all: vec![core], places: vec![Some((0, 0)), Some((0, 1))] })
}

/// Watches an interval, while this thread does nothing else.
fn watch(co_busy: &mut CoBusy, threads: &[(u32, u32)], cores: &Cores) -> CoBusyReading {
    let mut files = ProcFiles::open("/".as_ref(), true).unwrap();
    let accounts = |into: &mut Accounts| {
        let mut text = Vec::new();
        let mut opened = ProcFiles::open("/".as_ref(), true).unwrap();
        opened.whole("stat", &mut None, &mut text).unwrap();
        into.parse(&text);
        now_ns()
    };
    let (mut before, mut after) = (Accounts::default(), Accounts::default());
    co_busy.begin(threads, cores);
    let from_ns = accounts(&mut before);
    co_busy.wait(&mut files, cores, from_ns + INTERVAL_NS);
    let to_ns = accounts(&mut after);
    let ticks = (to_ns - from_ns) as f64 / 1e7;
    let uses: Vec<CpuUse> =
        CPUS.iter().filter_map(|&cpu| after.since(&before, cpu, ticks)).collect();
    co_busy.finish(cores, &[uses], [from_ns, to_ns])
}

/// Runs `work` in a thread on each of these CPUs until the returned flag is set; returns the threads' numbers too.
fn on_cpus<const N: usize>(
    works: [(u32, Box<dyn FnMut() + Send>); N],
) -> (Arc<AtomicBool>, [u32; N]) {
    let is_over = Arc::new(AtomicBool::new(false));
    let ids = works.map(|(cpu, mut work)| {
        let (is_over, (said, hear)) = (Arc::clone(&is_over), std::sync::mpsc::channel());
        thread::spawn(move || {
            let mut cpus = CpuSet::new();
            cpus.set(cpu as usize);
            sched_setaffinity(None, &cpus).unwrap();
            said.send(own_thread()).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                work();
            }
        });
        hear.recv().unwrap()
    });
    (is_over, ids)
}

#[test]
fn switches_tell_who_ran_beside_whom() {
    let Some(cores) = cores() else {
        return corun_testing::skip("switches", "this process may not use CPUs 0 and 1");
    };
    let mut co_busy = CoBusy::open(&cores, 1.0, 0.01);
    if let Some(reason) = &co_busy.not_exact_because {
        return corun_testing::skip("switches", reason);
    }
    let ((mut ping, mut to_pong), (mut pong, mut to_ping)) =
        (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    to_pong.write_all(b"x").unwrap();
    // Each reads what the other writes: they take turns on CPU 0, beside a thread that always runs.
    let first = move || {
        // Not as often as possible: that would be too often to be recorded.
        (0..100_000).for_each(|it| {
            std::hint::black_box(it);
        });
        let _ = ping.read_exact(&mut [0]);
        let _ = to_ping.write_all(b"x");
    };
    let second = move || {
        let _ = pong.read_exact(&mut [0]);
        let _ = to_pong.write_all(b"x");
    };
    let busy = || {
        (0..1000).for_each(|it| {
            std::hint::black_box(it);
        });
    };
    let (is_over, [one, other, beside]) =
        on_cpus([(0, Box::new(first)), (0, Box::new(second)), (1, Box::new(busy))]);
    let found = watch(&mut co_busy, &[], &cores);
    is_over.store(true, Ordering::Relaxed);
    eprintln!("{:?}, {:?}", found.evidence, found.cores);
    if found.evidence.method != CoBusyMethod::Exact {
        let reason = found.evidence.not_exact_because.unwrap_or_default();
        return corun_testing::skip("switches", &reason);
    }
    assert!((found.cores[0].iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let ran = |task: u32| found.tasks.tasks.get(&task).map_or(0, |it| it.ran_ns);
    assert!(ran(one) > 0 && ran(other) > 0 && ran(beside) > 0, "{:?}", found.tasks);
    assert!(!found.tasks.pairs.contains_key(&(one.min(other), one.max(other))));
    assert_eq!(found.tasks.tasks[&one].cpus, [0]);
    let of_one = found.tasks.pairs.get(&(one.min(beside), one.max(beside)));
    assert!(of_one.is_some_and(|ns| *ns <= ran(one)), "{:?}", found.tasks.pairs);
}

#[test]
fn samples_tell_who_ran_beside_whom() {
    let Some(cores) = cores() else {
        return corun_testing::skip("samples", "this process may not use CPUs 0 and 1");
    };
    let mut co_busy = CoBusy::open(&cores, 0.0, 0.05);
    assert!(co_busy.wants_threads());
    let busy = || -> Box<dyn FnMut() + Send> {
        Box::new(|| {
            (0..1000).for_each(|it| {
                std::hint::black_box(it);
            });
        })
    };
    let (is_over, [one, other]) = on_cpus([(0, busy()), (1, busy())]);
    let process = std::process::id();
    let found = watch(&mut co_busy, &[(process, one), (process, other)], &cores);
    is_over.store(true, Ordering::Relaxed);
    eprintln!("{:?}, {:?}", found.evidence, found.cores);
    assert_eq!(found.evidence.method, CoBusyMethod::Sampled);
    assert_eq!(
        found.evidence.not_exact_because.as_deref(),
        Some("Seeing every switch was not asked for.")
    );
    // Every sample sees threads that always run, whatever else runs.
    assert!(found.tasks.pairs.contains_key(&(one.min(other), one.max(other))));
    let seen = &found.tasks.tasks[&one];
    assert_eq!((seen.cpus.as_slice(), seen.beside_ns), (&[0][..], seen.ran_ns));
}
