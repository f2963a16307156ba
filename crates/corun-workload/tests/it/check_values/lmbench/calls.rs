//! A system call answers every time as it does the first time.

use super::super::kernels;
use super::assert_checks;

#[test]
fn every_call_is_answered() {
    // Bytes moved, the length of the file `corun`, descriptors that are ready, or 1.
    for (row, parameters, answer) in [
        ("simple-syscall", &[][..], 1),
        ("simple-read", &[], 1),
        ("simple-write", &[], 1),
        ("simple-stat", &[], 5),
        ("simple-fstat", &[], 5),
        ("simple-open-close", &[], 1),
        ("select-10-fds", &[], 10),
        ("select-10-fds", &["examined=1"], 1),
        ("select-10-tcp-fds", &[], 10),
        ("select-10-tcp-fds", &["examined=2"], 2),
        ("signal-installation", &[], 1),
        ("signal-overhead", &[], 1),
        // Pages of 16 KiB in the first tenth, and every tenth of them in the whole.
        ("mmap", &[], 26),
        ("mmap", &["touched=sparse"], 26),
        ("mmap", &["size=1MiB"], 7),
    ] {
        assert_checks(row, parameters, &[1, 2, 1023, 700], |operations| operations * answer);
    }
}

#[test]
fn the_overhead_leaves_the_check_value_alone() {
    for row in corun_workload::of_suite(corun_workload::Suite::Lmbench) {
        let descriptor = row.descriptor();
        let few = if descriptor.name.contains("/fork-") { 2 } else { 300 };
        let mut kernel = kernels(descriptor.name, &[], 1).remove(0);
        kernel.reset();
        kernel.run(few);
        let check = kernel.check();
        kernel.overhead(few);
        assert_eq!(kernel.check(), check, "{}", descriptor.name);
        kernel.reset();
        kernel.run(few);
        assert_eq!(kernel.check(), check, "{}", descriptor.name);
    }
}
