//! What the kernel's answers add up to, and the kernel's own count of the calls.

use std::fs::read_to_string;

use super::{OPERATIONS, kernels, run_at_once};

/// Answer of each call of a mix: bytes moved, the length of the file, descriptors that are ready, or 1.
const ANSWERS: [(&str, &[u64]); 4] = [
    ("null", &[1]),
    ("vdso", &[1]),
    ("file", &[1, 4096, 4096, 4096, 1]),
    ("mixed", &[1, 1, 1, 4096, 1, 3, 1, 4096, 1, 1, 4096, 1, 1]),
];

#[test]
fn syscall_mix_gets_an_answer_to_every_call() {
    for (mix, answers) in ANSWERS {
        let mut kernels = kernels("syscall-mix", &[format!("mix={mix}")], 2);
        for operations in OPERATIONS.map(|operations| operations.min(20_000)) {
            let turns = answers.iter().cycle();
            let expected: u64 = turns.take(operations as usize).sum();
            let found = run_at_once(&mut kernels, &[operations; 2]);
            assert_eq!(found, [expected; 2], "{mix}, {operations}");
        }
    }
}

#[test]
fn the_kernel_counts_the_calls_of_syscall_mix() {
    for (mix, reads, writes) in [("null", 0, 0), ("vdso", 0, 0), ("file", 1, 1), ("mixed", 3, 3)] {
        let mut kernel = kernels("syscall-mix", &[format!("mix={mix}")], 1).remove(0);
        let turns = 10;
        let length = ANSWERS.iter().find(|(name, _)| *name == mix).unwrap().1.len() as u64;
        kernel.reset();
        let Some(before) = reads_and_writes() else {
            return corun_testing::skip("the kernel's count of calls", "this kernel keeps none");
        };
        // What reading the count adds to it.
        let again = reads_and_writes().unwrap();
        kernel.run(turns * length);
        let after = reads_and_writes().unwrap();
        let found = [0, 1].map(|kind| after[kind] + before[kind] - 2 * again[kind]);
        assert_eq!(found, [turns * reads, turns * writes], "{mix}");
    }
}

/// The system calls of this thread so far that read, and those that write.
fn reads_and_writes() -> Option<[u64; 2]> {
    let counts = read_to_string("/proc/thread-self/io").ok()?;
    let count = |name| counts.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    Some([count("syscr: ")?, count("syscw: ")?])
}
