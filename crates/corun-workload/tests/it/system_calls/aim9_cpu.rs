//! AIM9's rows about memory and about the process.

use super::assert_calls;

#[test]
fn every_operation_moves_the_break_once() {
    for row in ["aim9/brk_test", "aim9/page_test"] {
        assert_calls(row, &[("brk", 1.0)]);
    }
}

#[test]
fn every_bundle_asks_each_question_once() {
    let questions = [
        "getcwd",
        "getuid",
        "geteuid",
        "getgid",
        "getegid",
        "getgroups",
        "getpid",
        "getppid",
        "times",
        "uname",
        "clock_gettime",
    ];
    assert_calls("aim9/misc_rtns_1", &questions.map(|call| (call, 1.0)));
}
