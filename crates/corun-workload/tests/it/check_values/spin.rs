//! Additions as a multiplication, exclusive ors by their parity, rotations as one.

use corun_workload::{Parameters, WorkloadError, find};
use proptest::prelude::*;

use super::{OPERATIONS, kernels, on_one_cpu, run_at_once};

const EVERYWHERE: [&str; 4] = ["nothing", "pause", "yield", "futex"];

#[test]
fn spin_gives_every_waiter_the_worker_s_result() {
    for wait in ways() {
        for workers in [1, 2, 5] {
            let mut kernels = kernels("spin", &[format!("wait={wait}")], workers);
            for operations in OPERATIONS.map(|operations| operations.min(20_000)) {
                let expected = vec![result(operations); workers];
                let checks = run_at_once(&mut kernels, &vec![operations; workers]);
                assert_eq!(checks, expected, "{wait}, {workers} workers, {operations}");
            }
        }
    }
}

#[test]
fn spin_ends_when_worker_and_waiters_take_turns_on_one_cpu() {
    for wait in ways() {
        let mut kernels = kernels("spin", &[format!("wait={wait}")], 3);
        let checks = on_one_cpu(|| run_at_once(&mut kernels, &[100_000; 3]));
        assert_eq!(checks, [result(100_000); 3], "{wait}");
    }
}

/// On one thread: the work is over before its waiters begin.
#[test]
fn spin_keeps_no_late_waiter_waiting() {
    for wait in ways() {
        let mut kernels = kernels("spin", &[format!("wait={wait}")], 3);
        for kernel in &mut kernels {
            for _ in 0..3 {
                kernel.reset();
                kernel.run(93);
                assert_eq!(kernel.check(), result(93), "{wait}");
            }
        }
    }
}

#[test]
fn spin_names_the_instruction_that_this_cpu_has_not_got() {
    let workload = find("spin").unwrap();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    for (wait, flag) in [("umwait", "waitpkg"), ("mwaitx", "mwaitx")] {
        let parameters =
            Parameters::parse(workload.descriptor(), [format!("wait={wait}")]).unwrap();
        let prepared = workload.prepare(&parameters, 2.try_into().unwrap());
        match prepared {
            Ok(_) => assert!(has(&cpu, flag), "{wait}"),
            Err(WorkloadError::Unavailable { reason, .. }) => {
                assert!(!has(&cpu, flag) && reason.contains(flag), "{wait}: {reason}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spin_is_right_for_any_total(operations in 1..3000_u64, workers in 1..6_usize, way in 0..4_usize) {
        let mut kernels = kernels("spin", &[format!("wait={}", EVERYWHERE[way])], workers);
        let checks = run_at_once(&mut kernels, &vec![operations; workers]);
        prop_assert_eq!(checks, vec![result(operations); workers]);
    }
}

/// The ways to wait that this CPU has.
fn ways() -> Vec<&'static str> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let instructions = [("umwait", "waitpkg"), ("mwaitx", "mwaitx")];
    let there = instructions.into_iter().filter(|(_, flag)| has(&cpu, flag)).map(|(wait, _)| wait);
    EVERYWHERE.into_iter().chain(there).collect()
}

fn has(cpu: &str, flag: &str) -> bool {
    cpu.split_ascii_whitespace().any(|word| word == flag)
}

fn result(steps: u64) -> u64 {
    let term = 0x9e37_79b9_7f4a_7c15_u64;
    let sum = |start: u64| start.wrapping_add(term.wrapping_mul(steps));
    let mask = |start: u64| if steps % 2 == 1 { start ^ term } else { start };
    let ring = |start: u64| start.rotate_left((steps % 64 * 7 % 64) as u32);
    (1..=12).fold(0, |folded: u64, start| {
        folded.rotate_left(1)
            ^ match start {
                1..=4 => sum(start),
                5..=8 => mask(start),
                _ => ring(start),
            }
    })
}
