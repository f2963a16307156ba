//! Which port a micro-op is given, where several can do it.

use std::collections::VecDeque;

use crate::uops::PortSet;
use corun_model::PortAssignment;

/// Number of micro-ops that were assigned to each port and have not left it, as the renamer knows it.
#[derive(Debug)]
pub(super) struct Counts {
    assignment: PortAssignment,
    /// The pair of load ports that takes turns.
    pair: PortSet,
    counts: Vec<u32>,
    /// Counts at the start of the cycle.
    at_start: Vec<u32>,
    /// Micro-ops that have started, which count for a cycle longer.
    leaving: VecDeque<(u64, u8)>,
}

/// Differences from which on the port with the fewest is always taken.
const LARGE: u32 = 3;

impl Counts {
    pub(super) fn new(assignment: PortAssignment, loads: PortSet, ports: usize) -> Self {
        Self {
            assignment,
            pair: if loads.count_ones() == 2 { loads } else { 0 },
            counts: vec![0; ports],
            at_start: vec![0; ports],
            leaving: VecDeque::new(),
        }
    }

    /// A cycle of the renamer begins.
    pub(super) fn begin(&mut self, now: u64) {
        if self.assignment == PortAssignment::Fewest {
            return;
        }
        while let Some(&(at, port)) = self.leaving.front().filter(|(at, _)| at + 2 <= now) {
            debug_assert!(at < now);
            self.counts[usize::from(port)] -= 1;
            self.leaving.pop_front();
        }
        self.at_start.clone_from(&self.counts);
    }

    pub(super) fn give(&mut self, port: u8) {
        if self.assignment != PortAssignment::Fewest {
            self.counts[usize::from(port)] += 1;
        }
    }

    pub(super) fn start(&mut self, now: u64, port: usize) {
        if self.assignment != PortAssignment::Fewest {
            self.leaving.push_back((now, port as u8));
        }
    }

    /// A micro-op is not started after all.
    pub(super) fn take_back(&mut self, port: u8) {
        if self.assignment != PortAssignment::Fewest {
            self.counts[usize::from(port)] -= 1;
        }
    }

    /// The port of these for a micro-op in this place of the cycle; `turn` is changed by a pair.
    pub(super) fn choose(&self, ports: PortSet, place: u32, turn: &mut bool) -> usize {
        let lowest = ports.trailing_zeros() as usize;
        if ports.count_ones() <= 1 {
            return lowest;
        }
        let highest = (PortSet::BITS - 1 - ports.leading_zeros()) as usize;
        if ports == self.pair {
            *turn = !*turn;
            return if *turn { lowest } else { highest };
        }
        let all = (lowest..=highest).filter(|port| ports >> port & 1 == 1);
        let count = |port: &usize| self.at_start[*port];
        let is_even = place.is_multiple_of(2);
        if self.assignment == PortAssignment::Pairs {
            let fewest = |skipped: Option<usize>| {
                let others = all.clone().filter(move |port| Some(*port) != skipped);
                others.min_by_key(|port| (count(port), usize::MAX - port)).unwrap_or(lowest)
            };
            let least = fewest(None);
            let second = fewest(Some(least));
            let is_far = count(&second) >= count(&least) + LARGE;
            return if is_even || is_far { least } else { second };
        }
        let least = all.clone().min_by_key(|port| (count(port), *port)).unwrap_or(lowest);
        let most = all.clone().max_by_key(|port| (count(port), *port)).unwrap_or(highest);
        if count(&most) >= count(&least) + LARGE {
            return least;
        }
        if ports.count_ones() == 2 {
            return if is_even { least } else { most };
        }
        // Round the others from the highest down, and back.
        let mut order: Vec<usize> = all.filter(|port| *port != least).collect();
        order.push(least);
        order.reverse();
        order[place as usize % order.len()]
    }
}

#[cfg(test)]
mod tests {
    use crate::execute::port_assignment::*;

    const ALL: PortSet = 0b1111;

    fn places(assignment: PortAssignment, given: &[u8], ports: PortSet) -> [usize; 4] {
        let mut counts = Counts::new(assignment, 0b11_0000, 6);
        given.iter().for_each(|port| counts.give(*port));
        counts.begin(10);
        let mut turn = false;
        std::array::from_fn(|place| counts.choose(ports, place as u32, &mut turn))
    }

    #[test]
    fn pairs_take_the_fewest_and_the_second_fewest() {
        assert_eq!(places(PortAssignment::Pairs, &[], ALL), [3, 2, 3, 2]);
        assert_eq!(places(PortAssignment::Pairs, &[3, 2, 2], ALL), [1, 0, 1, 0]);
        assert_eq!(places(PortAssignment::Pairs, &[1, 1, 1], 0b11), [0, 0, 0, 0], "three more");
    }

    #[test]
    fn a_rotation_goes_round_three_ports() {
        assert_eq!(places(PortAssignment::Rotation, &[], 0b111), [0, 2, 1, 0]);
        assert_eq!(places(PortAssignment::Rotation, &[0], 0b111), [1, 2, 0, 1]);
        assert_eq!(places(PortAssignment::Rotation, &[0, 0, 0], 0b111), [1, 1, 1, 1]);
    }

    #[test]
    fn load_ports_take_turns() {
        for assignment in [PortAssignment::Pairs, PortAssignment::Rotation] {
            assert_eq!(places(assignment, &[4, 4], 0b11_0000), [4, 5, 4, 5]);
        }
    }

    #[test]
    fn what_started_counts_for_one_cycle_more() {
        let mut counts = Counts::new(PortAssignment::Pairs, 0, 2);
        counts.give(1);
        counts.start(9, 1);
        counts.begin(10);
        assert_eq!(counts.choose(0b11, 0, &mut false), 0);
        counts.begin(11);
        assert_eq!(counts.choose(0b11, 0, &mut false), 1);
    }
}
