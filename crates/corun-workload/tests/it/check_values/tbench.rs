//! The bytes of all answers, from a table of their sizes and the text of the load.

use super::dbench::{LINES, OWN, requests};
use super::{kernels, run_at_once};

/// The bytes of the answer, and those that count as read or written.
fn answer(words: &[&str]) -> (u64, u64) {
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    match words[0] {
        "NTCreateX" => (87, 0),
        "ReadX" => (59 + number(4), number(4)),
        "WriteX" => (55, number(3)),
        "FIND_FIRST" => (39 + 90 * number(4), 0),
        "SET_FILE_INFORMATION" => (47, 0),
        "Deltree" => (0, 0),
        name if name.starts_with("QUERY_") => (71, 0),
        _ => (39, 0),
    }
}

#[test]
fn tbench_gets_the_answers_that_its_load_asks_for() {
    let mut kernels = kernels("tbench", &[], 2);
    for operations in LINES {
        let answers: Vec<_> =
            requests(OWN).take(operations as usize).map(|words| answer(&words)).collect();
        let value: u64 = answers.iter().map(|(value, _)| value).sum();
        let bytes: u64 = answers.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [value; 2], "{operations}");
        assert!(kernels.iter().all(|kernel| kernel.tallies() == [bytes]));
    }
}
