//! What the requests of a load end in, computed from its text alone: bytes that are moved, lengths of
//! files, and 1 or 0 for other requests that succeed or fail.

use std::collections::HashMap;

use corun_workload::Histogram;

use super::{kernels, run_at_once};

pub(crate) const OWN: &str = include_str!("../../../loads/office.txt");

/// Some numbers of lines: parts of the load, exactly one pass, and more.
pub(crate) const LINES: [u64; 7] = [1, 2, 11, 500, 1023, 6350, 7000];

/// The words of each request, again and again.
pub(crate) fn requests(load: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines: Vec<&str> = load.lines().filter(|line| !line.starts_with('#')).collect();
    lines.into_iter().cycle().map(|line| line.split(' ').collect())
}

/// The value, and the bytes that are moved.
fn expected(operations: u64) -> (u64, u64) {
    let mut lengths: HashMap<&str, u64> = HashMap::new();
    let mut open: HashMap<&str, &str> = HashMap::new();
    let (mut value, mut bytes) = (0, 0);
    for words in requests(OWN).take(operations as usize) {
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let succeeds = words.last() == Some(&"NT_STATUS_OK");
        value += match words[0] {
            "NTCreateX" if !succeeds => 0,
            "NTCreateX" => {
                open.insert(words[4], words[1]);
                if words[2] == "0x40" {
                    lengths.entry(words[1]).or_default();
                }
                1
            }
            "ReadX" => {
                let length = lengths[open[words[1]]];
                let read = length.saturating_sub(number(2)).min(number(3));
                bytes += read;
                read
            }
            "WriteX" => {
                let length = lengths.get_mut(open[words[1]]).unwrap();
                *length = number(3).checked_add(number(2)).unwrap().max(*length);
                bytes += number(3);
                number(3)
            }
            "QUERY_FILE_INFORMATION" => lengths[open[words[1]]],
            "Deltree" => {
                lengths.clear();
                1
            }
            "Unlink" => u64::from(lengths.remove(words[1]).is_some()),
            "Rename" => {
                let length = lengths.remove(words[1]).unwrap();
                lengths.insert(words[2], length);
                1
            }
            _ => 1,
        };
    }
    (value, bytes)
}

#[test]
fn dbench_moves_the_bytes_of_its_load() {
    let mut kernels = kernels("dbench", &[], 2);
    for operations in LINES {
        let (value, bytes) = expected(operations);
        assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [value; 2], "{operations}");
        for kernel in &kernels {
            assert_eq!(kernel.tallies(), [bytes]);
            let latencies = kernel.latencies();
            assert_eq!(latencies.values().map(Histogram::count).sum::<u64>(), operations);
        }
    }
}

/// A pass need not begin where the one before has left off.
#[test]
fn dbench_runs_twice_without_a_reset() {
    let mut kernel = kernels("dbench", &[], 1).remove(0);
    kernel.reset();
    for operations in [3000, 50, 500] {
        kernel.run(operations);
        assert_eq!(kernel.check(), expected(operations).0);
    }
}

/// The load of the original, where it is installed.
#[test]
fn dbench_reads_the_load_of_the_original() {
    let path = "/usr/share/dbench/client.txt";
    let Ok(text) = std::fs::read_to_string(path) else {
        return corun_testing::skip("the load of dbench", "it is not installed");
    };
    let mut kernel = kernels("dbench", &[format!("load={path}")], 1).remove(0);
    kernel.reset();
    kernel.run(5000);
    let moved = requests(&text).take(5000).filter(|words| matches!(words[0], "ReadX" | "WriteX"));
    let bytes: u64 = moved.map(|words| words[4].parse::<u64>().unwrap()).sum();
    assert_eq!(kernel.tallies(), [bytes]);
}
