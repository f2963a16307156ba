//! Every workload's check value against the same number computed in another way.

use std::num::NonZeroUsize;
use std::sync::Barrier;

use corun_workload::{Job, Kernel, Parameters, Program, find};

/// Numbers of operations around the lengths of loops, of the smallest array and of several passes.
const OPERATIONS: [u64; 11] = [1, 2, 3, 93, 1023, 1024, 1025, 2048, 5000, 123_456, 1_000_001];

#[test]
fn fib_computes_fibonacci_numbers_in_every_variant() {
    for variant in ["memory", "register"] {
        for call in ["inline", "call"] {
            for workers in [1, 2, 5] {
                let parameters = [format!("variant={variant}"), format!("call={call}")];
                let mut kernels = kernels("fib", &parameters, workers);
                for operations in OPERATIONS {
                    let shares = vec![operations; workers];
                    let expected = vec![fibonacci(operations + 2); workers];
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(run_at_once(&mut kernels, &shares), expected, "{case}");
                }
            }
        }
    }
}

/// Workers 2k and 2k + 1 write to one line all the time, and must not get into each other's way
/// otherwise.
#[test]
fn fib_is_right_while_workers_share_lines() {
    for granularity in [32, 40, 64, 4096] {
        for variant in ["memory", "register"] {
            let parameters = [format!("granularity={granularity}"), format!("variant={variant}")];
            let mut kernels = kernels("fib", &parameters, 4);
            let shares = [1_000_000, 1_000_001, 999_999, 777_778];
            let expected = shares.map(|operations| fibonacci(operations + 2));
            assert_eq!(run_at_once(&mut kernels, &shares), expected, "{parameters:?}");
        }
    }
}

#[test]
fn ram_stores_every_element_of_every_pass() {
    for variant in ["memory", "register"] {
        for (touched, length) in [("4KiB", 1024), ("4100", 1025), ("1MiB", 262_144)] {
            for workers in [1, 2] {
                let parameters = [format!("variant={variant}"), format!("touched={touched}")];
                let mut kernels = kernels("ram", &parameters, workers);
                for operations in OPERATIONS {
                    let shares: Vec<u64> = (0..workers as u64).map(|n| operations + n).collect();
                    let expected: Vec<u64> =
                        shares.iter().map(|&share| ram_check(length, share)).collect();
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(run_at_once(&mut kernels, &shares), expected, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_reset_forgets_the_run_before() {
    for name in ["fib", "ram"] {
        let mut kernel = kernels(name, &[], 1).remove(0);
        let mut check_after = |operations| {
            kernel.reset();
            kernel.run(operations);
            kernel.check()
        };
        let short = check_after(7);
        check_after(10_000);
        assert_eq!(check_after(7), short, "{name}");
    }
}

#[test]
fn regn_prints_the_sum() {
    for max in [1, 2, 1000] {
        let workload = find("regn").unwrap();
        if let Some(reason) = workload.unavailable() {
            return corun_testing::skip("regn_prints_the_sum", &reason);
        }
        let parameters = Parameters::parse(workload.about(), [format!("max={max}")]).unwrap();
        let Ok(Job::Program(program)) = workload.prepare(&parameters, NonZeroUsize::MIN) else {
            panic!("regn is a program");
        };
        assert_eq!(program.operations, max);
        assert_eq!(output(&program), format!("{}\n", max * (max + 1) / 2));
    }
}

#[test]
fn the_regn_example_prints_the_sum() {
    if let Some(reason) = find("regn").unwrap().unavailable() {
        return corun_testing::skip("the_regn_example_prints_the_sum", &reason);
    }
    let example = corun_testing::repository().join("examples/regn.sh");
    let argv = vec![example.into_os_string(), "100".into()];
    assert_eq!(output(&Program { argv, operations: 100 }), "5050\n");
}

fn kernels(name: &str, parameters: &[String], workers: usize) -> Vec<Box<dyn Kernel>> {
    let workload = find(name).unwrap();
    let parameters = Parameters::parse(workload.about(), parameters).unwrap();
    let workers = NonZeroUsize::new(workers).unwrap();
    match workload.prepare(&parameters, workers).unwrap() {
        Job::Kernels(kernels) => {
            assert_eq!(kernels.len(), workers.get());
            kernels
        }
        Job::Program(program) => panic!("{name} is a program: {program:?}"),
    }
}

/// Runs each kernel on a thread of its own, all starting together, and returns their check values.
fn run_at_once(kernels: &mut [Box<dyn Kernel>], shares: &[u64]) -> Vec<u64> {
    let start = Barrier::new(kernels.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = kernels
            .iter_mut()
            .zip(shares)
            .map(|(kernel, &operations)| {
                let start = &start;
                scope.spawn(move || {
                    kernel.reset();
                    start.wait();
                    kernel.run(operations);
                    kernel.check()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

fn output(program: &Program) -> String {
    let output =
        std::process::Command::new(&program.argv[0]).args(&program.argv[1..]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Fibonacci number `n` modulo 2^64, with F(1) = F(2) = 1, by fast doubling:
/// F(2k) = F(k) (2 F(k+1) - F(k)) and F(2k+1) = F(k)^2 + F(k+1)^2.
fn fibonacci(n: u64) -> u64 {
    fn pair(n: u64) -> (u64, u64) {
        if n == 0 {
            return (0, 1);
        }
        let (a, b) = pair(n / 2);
        let even = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
        let odd = a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b));
        match n % 2 {
            0 => (even, odd),
            _ => (odd, even.wrapping_add(odd)),
        }
    }
    pair(n).0
}

/// The first m elements hold 0 to m - 1, the others all ones; plus the number of stores.
fn ram_check(length: u64, operations: u64) -> u64 {
    let written = length.min(operations);
    written * (written - 1) / 2 + (length - written) * u64::from(u32::MAX) + operations
}

#[test]
fn fast_doubling_knows_published_numbers() {
    let known = [(1, 1), (2, 1), (10, 55), (93, 12_200_160_415_121_876_738)];
    assert_eq!(known.map(|(n, _)| (n, fibonacci(n))), known);
}
