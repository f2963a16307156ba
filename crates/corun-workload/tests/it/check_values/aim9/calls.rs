//! What is counted by calls and jumps, in closed form.

use super::super::OPERATIONS;
use super::assert_checks;

#[test]
fn every_call_counts() {
    assert_checks("fun_cal", &OPERATIONS, |calls| calls);
    assert_checks("fun_cal1", &OPERATIONS, |calls| counted_down(calls, 512, 1000));
    assert_checks("fun_cal2", &OPERATIONS, |calls| {
        counted_down(calls, 512, 1000) + counted_down(calls, 16, 32)
    });
    assert_checks("fun_cal15", &OPERATIONS, |calls| 2 * counted_down(calls, 1, 512));
}

/// The sum of a counter that goes down from `rounds` - 1 to 0 again and again, each value of it taken
/// `each` times.
fn counted_down(calls: u64, each: u64, rounds: u64) -> u64 {
    let (turns, rest) = (calls / each, calls % each);
    let below = |count: u64| count * (rounds - 1) - count * count.saturating_sub(1) / 2;
    let whole = turns / rounds * below(rounds) + below(turns % rounds);
    each * whole + rest * (rounds - 1 - turns % rounds)
}

#[test]
fn every_jump_arrives() {
    assert_checks("jmp_test", &OPERATIONS, |jumps| jumps);
}
