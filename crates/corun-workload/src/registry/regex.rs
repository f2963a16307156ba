//! Searching a log for a pattern, with the crate `regex`.
//!
//! An automaton makes a load for each byte, whose address depends on the load before: latency of
//! the first-level cache, which a sibling can use the gaps of. A literal is found with vector
//! instructions, many bytes at a time.

use std::num::NonZeroUsize;

use regex::bytes::Regex;

use crate::generated::log;
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "regex",
    summary: "searches the log of a web server for every match of a pattern",
    tags: &[Tag::IntegerLatency, Tag::BranchPrediction],
    parameters: &[PATTERN],
    operation: "a byte searched",
    counted: "bytes",
    ..Descriptor::PLAIN
};

const PATTERN: Parameter = Parameter {
    name: "pattern",
    summary: "what to find",
    default: "address",
    domain: Domain::Choice(&[
        Choice { value: "address", summary: "the clients' addresses, by an automaton" },
        Choice { value: "literal", summary: "the word POST, by vector instructions" },
    ]),
};

/// Fits most second-level caches.
const LOG_BYTES: usize = 512 << 10;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let pattern = match parameters.choice(&PATTERN)? {
        "literal" => "POST",
        _ => r"(?-u)[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+",
    };
    let kernel = || {
        let regex = Regex::new(pattern).expect("the patterns above are correct");
        RegexKernel { regex, log: Vec::new(), found: MatchCounts::default() }
    };
    Ok(Job::of((0..workers.get()).map(|_| kernel())))
}

struct RegexKernel {
    regex: Regex,
    log: Vec<u8>,
    found: MatchCounts,
}

/// Number of matches, and the sum of the places where they start.
#[derive(Default)]
struct MatchCounts {
    matches: u64,
    places: u64,
}

impl RegexKernel {
    fn search(&mut self, bytes: u64) -> MatchCounts {
        let mut found = MatchCounts::default();
        let mut left = bytes;
        while left > 0 {
            let length = left.min(self.log.len() as u64);
            for place in self.regex.find_iter(&self.log[..length as usize]) {
                found.matches += 1;
                found.places = found.places.wrapping_add(place.start() as u64);
            }
            left -= length;
        }
        found
    }
}

impl Kernel for RegexKernel {
    /// Searches once, since the automaton is built as its states are first met.
    fn reset(&mut self) {
        if self.log.is_empty() {
            self.log = log(LOG_BYTES);
        }
        self.search(self.log.len() as u64);
        self.found = MatchCounts::default();
    }

    /// Searches the log from its start, over and over; the last time as much of it as is left.
    fn run(&mut self, operations: u64) {
        self.found = self.search(operations);
    }

    fn check(&self) -> u64 {
        self.found.places.wrapping_add(self.found.matches)
    }
}
