//! The rows of LMbench.

use super::assert_calls;

#[test]
fn a_simple_system_call_is_one() {
    assert_calls("lmbench/simple-syscall", &[("getppid", 1.0)]);
}
