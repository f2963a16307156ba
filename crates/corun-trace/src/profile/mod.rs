//! Basic-block vectors of the intervals of a run, from which simulation points are chosen.
//!
//! After Sherwood, Perelman, Hamerly and Calder (Automatically characterizing large scale program behavior, 2002):
//! intervals that execute the same blocks equally often form a cluster, and one interval of each cluster is simulated.

mod clusters;

use std::ops::Range;

use crate::{
    Block, BlockId, Interval, Marker, OrderedMarker, Sink, SinkError, SystemCall, ThreadId,
    TracePlan, TracedPoint,
};
use clusters::{Cluster, clusters};

/// Takes what a program executes, and keeps how often each of its blocks has its turn in each part of the run.
#[derive(Debug)]
pub struct Profile {
    /// Instructions of a window.
    length: u64,
    /// Instructions of a part.
    part: u64,
    parts: Vec<Mix>,
    /// The part that is not at its end.
    open: Mix,
    executed: u64,
    /// The system call after which the profile begins, while it is waited for.
    awaited: Option<SystemCall>,
    /// Instructions before.
    before: u64,
    /// Successors of each block.
    blocks: Vec<Mix>,
    threads: u32,
}

/// Mix: division of a part's instructions over blocks: each block has a direction of its own, and these are their sum,
/// so that mixes of many thousand blocks keep their distances (Johnson and Lindenstrauss 1984).
type Mix = [f64; DIRECTIONS];

/// As many as SimPoint takes.
const DIRECTIONS: usize = 16;
/// Intervals that are distinguished, at most; of a longer run they are longer than windows.
const MAX_INTERVALS: usize = 1 << 13;

impl Profile {
    /// For windows of so many instructions, of what follows the first system call of a kind, if one is given.
    pub fn new(length: u64, from_call: Option<SystemCall>) -> Self {
        let length = length.max(1);
        Self {
            length,
            part: length,
            parts: Vec::new(),
            open: [0.0; DIRECTIONS],
            executed: 0,
            awaited: from_call,
            before: 0,
            blocks: Vec::new(),
            threads: 0,
        }
    }

    /// Instructions before what counts and of what counts; none if the system call that it begins with was not there.
    pub fn instructions(&self) -> Option<(u64, u64)> {
        self.awaited.is_none().then_some((self.before, self.executed))
    }

    /// Threads that it has seen.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// At most so many windows that together stand for all that was executed, after warm-ups of so many instructions
    /// on average: one with room for less leaves the rest to others. Of up to `look_back` instructions before each warm-up
    /// the lines are recorded.
    pub fn plan(self, count: u32, warm_up: u64, look_back: u64) -> TracePlan {
        let mut clustered = match self.parts.is_empty() {
            true => clusters(&[self.open][..usize::from(self.executed > 0)], count as usize),
            false => clusters(&self.parts, count as usize),
        };
        clustered.sort_unstable_by_key(|cluster| cluster.nearest);
        let warm_up = longest(self.gaps(&clustered), warm_up.saturating_mul(count.into()));
        let plan = |left_out: &dyn Fn(&[usize]) -> u64| TracePlan::SimulationPoints {
            windows: clustered
                .iter()
                .map(|cluster| self.simulation_point(cluster, left_out))
                .collect(),
            length: self.length,
            warm_up,
            total: self.executed,
            look_back,
        };
        // Where windows lie says what is recorded, and that what they stand for besides.
        let recorded: Vec<Interval> = crate::intervals(plan(&|_| 0)).collect();
        plan(&|parts| parts.iter().map(|&at| not_in(&recorded, self.range(at))).sum())
    }

    /// Instructions between the window of each cluster and the preceding one.
    fn gaps(&self, clustered: &[Cluster]) -> Vec<u64> {
        let gap = |end: &mut u64, cluster: &Cluster| {
            let begin = self.window_of(cluster);
            Some(begin.saturating_sub(std::mem::replace(end, begin + self.length)))
        };
        clustered.iter().scan(0, gap).collect()
    }

    /// The first instruction of the window that represents a cluster.
    fn window_of(&self, cluster: &Cluster) -> u64 {
        cluster.nearest as u64 * self.part + (self.part - self.length) / 2
    }

    fn simulation_point(
        &self,
        cluster: &Cluster,
        left_out: &dyn Fn(&[usize]) -> u64,
    ) -> TracedPoint {
        TracedPoint {
            begin: self.window_of(cluster),
            instructions: cluster
                .members
                .iter()
                .map(|&at| self.range(at))
                .map(|it| it.end - it.start)
                .sum(),
            left_out: left_out(&cluster.members),
        }
    }

    /// The instructions of a part. What is left at the end is too short for a window, and counts with the part before.
    fn range(&self, at: usize) -> Range<u64> {
        let begin = at as u64 * self.part;
        let is_last = at + 1 >= self.parts.len();
        begin..if is_last { self.executed } else { begin + self.part }
    }

    fn end_part(&mut self) {
        self.parts.push(std::mem::take(&mut self.open));
        if self.parts.len() == MAX_INTERVALS {
            let both = |pair: &[Mix]| std::array::from_fn(|at| pair[0][at] + pair[1][at]);
            self.parts = self.parts.chunks_exact(2).map(both).collect();
            self.part *= 2;
        }
    }
}

impl Sink for Profile {
    fn thread(&mut self, _: u32) -> Result<ThreadId, SinkError> {
        self.threads += 1;
        Ok(ThreadId(self.threads - 1))
    }

    fn define(&mut self, _: Block) -> Result<BlockId, SinkError> {
        let number = self.blocks.len() as u32;
        let of = |direction| direction_of(u64::from(number) * DIRECTIONS as u64 + direction);
        self.blocks.push(std::array::from_fn(|direction| of(direction as u64)));
        Ok(BlockId(number))
    }

    #[inline]
    fn execute(
        &mut self,
        _: ThreadId,
        block: BlockId,
        executed: u32,
        _: &[u64],
    ) -> Result<(), SinkError> {
        if self.awaited.is_some() {
            self.before += u64::from(executed);
            return Ok(());
        }
        let instructions = f64::from(executed);
        for (sum, direction) in self.open.iter_mut().zip(&self.blocks[block.0 as usize]) {
            *sum += instructions * direction;
        }
        self.executed += u64::from(executed);
        while self.executed >= (self.parts.len() as u64 + 1) * self.part {
            self.end_part();
        }
        Ok(())
    }

    fn mark(&mut self, _: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        if let Marker::SystemCall(number) = marker.marker {
            self.awaited = self.awaited.filter(|awaited| awaited.0 != number);
        }
        Ok(())
    }
}

/// The longest warm-up, so that those before all windows have so many instructions together, or fill all gaps.
fn longest(mut gaps: Vec<u64>, together: u64) -> u64 {
    gaps.sort_unstable();
    let mut left = together;
    for (filled, gap) in gaps.iter().enumerate() {
        let even = left / (gaps.len() - filled) as u64;
        if *gap > even {
            return even;
        }
        left -= gap;
    }
    gaps.last().copied().unwrap_or(0)
}

/// Number of a range's instructions that are in none of these intervals, which are in order.
fn not_in(intervals: &[Interval], range: Range<u64>) -> u64 {
    let first = intervals.partition_point(|interval| interval.end <= range.start);
    let inside = intervals[first..].iter().take_while(|interval| interval.begin < range.end);
    let common = |it: &Interval| it.end.min(range.end) - it.begin.max(range.start);
    range.end - range.start - inside.map(common).sum::<u64>()
}

/// A number from -1 to 1, pseudo-random, always the same one: splitmix64 (Steele, Lea and Flood 2014).
fn direction_of(number: u64) -> f64 {
    let mut it = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((it ^ it >> 31) >> 40) as f64 / f64::from(1 << 23) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    /// A run of phases: which of some blocks of two instructions each executes, and how often.
    fn profiled(length: u64, phases: &[(u32, u32)]) -> Profile {
        let mut profile = Profile::new(length, None);
        let block = || decode(0x1000, &[0x48, 0xff, 0xc0, 0xeb, 0xfb]).unwrap();
        let blocks: Vec<BlockId> = (0..4).map(|_| profile.define(block()).unwrap()).collect();
        let thread = profile.thread(7).unwrap();
        for &(block, times) in phases {
            for _ in 0..times {
                profile.execute(thread, blocks[block as usize], 2, &[]).unwrap();
            }
        }
        profile
    }

    fn windows(plan: TracePlan) -> Vec<(u64, u64)> {
        let TracePlan::SimulationPoints { windows, .. } = plan else {
            panic!("expected windows: {plan:?}")
        };
        windows.iter().map(|window| (window.begin, window.instructions)).collect()
    }

    #[test]
    fn a_window_of_each_cluster_represents_all_of_it() {
        // 100 instructions a window; block 1 has 300, block 0 has 1000 before and 500 after it, block 2 has 50.
        let phases = [(0, 500), (1, 150), (0, 250), (2, 25)];
        let found = windows(profiled(100, &phases).plan(3, 0, 0));
        let total: u64 = found.iter().map(|(_, instructions)| instructions).sum();
        assert_eq!((found.len(), total), (2, 1850), "{found:?}");
        let of_one = found.iter().find(|(begin, _)| (1000..1300).contains(begin)).unwrap();
        assert!(
            [300, 350].contains(&of_one.1),
            "what is left is nearer to one of the two: {found:?}"
        );
    }

    #[test]
    fn unrecorded_instructions_are_counted_for_each_cluster() {
        let phases = [(0, 500), (1, 150), (0, 250), (2, 25)];
        let TracePlan::SimulationPoints { windows, .. } = profiled(100, &phases).plan(3, 250, 0)
        else {
            panic!()
        };
        // Recorded are 0 to 100, and 250 to 1100: what the first window and a third one have no use for is the second's.
        let left_out: Vec<u64> = windows.iter().map(|window| window.left_out).collect();
        assert_eq!(left_out, [1550 - 100 - 750, 300 - 100]);
    }

    #[test]
    fn what_a_warm_up_has_no_room_for_others_have() {
        for (gaps, together, expected) in [
            (&[0, 30, 500, 900][..], 800, 385),
            (&[900, 0, 500, 30], 800, 385),
            (&[300, 300], 400, 200),
            (&[100, 10, 50], 0, 0),
            (&[10, 20], 400, 20),
            (&[10, u64::MAX], u64::MAX, u64::MAX - 10),
            (&[], 400, 0),
        ] {
            assert_eq!(longest(gaps.to_vec(), together), expected, "{gaps:?}");
        }
    }

    #[test]
    fn a_run_with_fewer_parts_than_windows_is_simulated_whole() {
        let found = windows(profiled(100, &[(0, 50), (1, 50), (2, 50)]).plan(10, 0, 0));
        assert_eq!(found, [(0, 100), (100, 100), (200, 100)]);
        assert_eq!(windows(profiled(100, &[(0, 10)]).plan(10, 0, 0)), [(0, 20)]);
        assert_eq!(windows(Profile::new(100, None).plan(10, 0, 0)), []);
    }

    #[test]
    fn what_lies_before_the_awaited_system_call_does_not_count() {
        let mut profile = Profile { awaited: Some(SystemCall(110)), ..profiled(100, &[]) };
        let run = |profile: &mut Profile, times| {
            for _ in 0..times {
                profile.execute(ThreadId(0), BlockId(0), 2, &[]).unwrap();
            }
        };
        let call = |profile: &mut Profile, number| {
            let marker = OrderedMarker { order: 1, marker: Marker::SystemCall(number) };
            profile.mark(ThreadId(0), marker).unwrap();
        };
        run(&mut profile, 70);
        call(&mut profile, 12);
        run(&mut profile, 5);
        assert_eq!(profile.instructions(), None);
        call(&mut profile, 110);
        run(&mut profile, 100);
        call(&mut profile, 110);
        assert_eq!(profile.instructions(), Some((150, 200)));
        let total: u64 = windows(profile.plan(2, 0, 0)).iter().map(|(_, all)| all).sum();
        assert_eq!(total, 200);
    }

    #[test]
    fn parts_of_a_long_run_grow() {
        let profile = profiled(2, &[(0, MAX_INTERVALS as u32), (1, MAX_INTERVALS as u32 + 3)]);
        assert!(profile.parts.len() < MAX_INTERVALS);
        assert_eq!(profile.part, 8);
        let found = windows(profile.plan(2, 0, 0));
        let half = 2 * MAX_INTERVALS as u64;
        let shares: Vec<u64> = found.iter().map(|(_, instructions)| *instructions).collect();
        assert_eq!(shares, [half, half + 6]);
        assert!(found[0].0 < half && found[1].0 >= half, "{found:?}");
        assert_eq!(found[0].0 % 8, 3, "in the middle of its part");
    }
}
