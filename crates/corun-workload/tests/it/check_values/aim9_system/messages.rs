//! Messages through whatever the system has: what arrived, and how many bytes.

use super::{assert_checks, assert_reset_forgets, assert_tallies};

const ROWS: [&str; 7] =
    ["shared_memory", "tcp_test", "udp_test", "fifo_test", "stream_pipe", "dgram_pipe", "pipe_cpy"];

/// Around the end of a channel (89, 99 and 100 messages), of the lengths (37) and of a byte.
const OPERATIONS: [u64; 11] = [1, 2, 37, 38, 89, 90, 99, 100, 101, 257, 1000];

/// The lengths as a table of how they come: eleven powers and odd numbers twice, then runs.
fn length(message: u64) -> u64 {
    const ELEVEN: [u64; 11] =
        [1, 3, 5, 7, 1 << 4, 1 << 5, 1 << 6, 1 << 9, 1 << 10, 1 << 11, 1 << 12];
    match message % 37 {
        place @ 0..22 => ELEVEN[place as usize % 11],
        22..28 => 32,
        28..33 => 512,
        _ => 2048,
    }
}

/// The first byte of a message is its number; the last says how long it is, in a way.
fn received(operations: u64) -> u64 {
    let ends = |message| match length(message) {
        1 => 2 * (message % 256),
        length => message % 256 + (length - 1) % 251,
    };
    (0..operations).map(ends).sum()
}

#[test]
fn every_message_arrives() {
    for row in ROWS {
        let name = format!("aim9/{row}");
        assert_checks(&name, &[], &OPERATIONS, received);
        assert_tallies(&name, &OPERATIONS, |operations| vec![(0..operations).map(length).sum()]);
        assert_reset_forgets(&name, &[], [7, 250]);
    }
}

#[test]
fn a_round_of_lengths_has_the_published_mean() {
    let total: u64 = (0..37).map(length).sum();
    assert_eq!((total as f64 / 37.0 * 10.0).round(), 7178.0);
}

#[test]
fn the_original_counts_the_message_that_it_does_not_send() {
    for row in ROWS {
        let (credited, sent) = match row {
            "shared_memory" => (100.0, 100.0),
            "tcp_test" => (90.0, 89.0),
            _ => (100.0, 99.0),
        };
        let found = corun_workload::find(&format!("aim9/{row}")).unwrap().descriptor().row.unwrap();
        assert_eq!(found.credit, credited / sent, "{row}");
    }
}
