//! Spins that could never end, since what is read off a recording is a guess where markers are not exact: threads would wait
//! for each other forever. Going through all waits once, without time, finds them.

use std::collections::{HashMap, HashSet, VecDeque};

use corun_trace::ThreadId;

use crate::replay::synchronisation::spins::Spin;

/// A thread's place among the system calls and signals of all, after so many of its instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundRobin {
    pub(super) thread: ThreadId,
    pub(super) position: u64,
}

/// Kind of wait of a thread.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// For its turn, of this number among all.
    RoundRobin(usize),
    Spin(Spin),
}

/// A thread's waits, and how far it is.
#[derive(Debug, Default)]
struct WaitProgress {
    /// Coming waits, each with its position.
    waits: VecDeque<(u64, Wait)>,
    /// The number of its first turn, before which it does not begin.
    first_turn: Option<usize>,
}

/// Leaves out the spins that could never end, of threads that take turns in this order, and names them: by the thread and where
/// they begin.
pub(super) fn drop_endless(
    turns: &[RoundRobin],
    spins: &mut HashMap<ThreadId, VecDeque<Spin>>,
) -> HashSet<(ThreadId, u64)> {
    let mut courses: HashMap<ThreadId, WaitProgress> = HashMap::new();
    for (number, turn) in turns.iter().enumerate() {
        let course = courses.entry(turn.thread).or_default();
        course.first_turn.get_or_insert(number);
        course.waits.push_back((turn.position, Wait::RoundRobin(number)));
    }
    for (&thread, own) in &*spins {
        let course = courses.entry(thread).or_default();
        course.waits.extend(own.iter().map(|spin| (spin.begin, Wait::Spin(*spin))));
        // A turn comes before the block that begins at its place.
        course
            .waits
            .make_contiguous()
            .sort_by_key(|(position, wait)| (*position, matches!(wait, Wait::Spin(_))));
    }
    let mut endless = HashSet::new();
    let mut next_turn = 0;
    let mut threads: Vec<ThreadId> = courses.keys().copied().collect();
    threads.sort_unstable_by_key(|thread| thread.0);
    loop {
        let mut goes_on = false;
        for thread in &threads {
            while let Some(&(_, wait)) = courses[thread].waits.front() {
                let is_over = courses[thread].has_begun(next_turn)
                    && match wait {
                        Wait::RoundRobin(number) => number == next_turn,
                        Wait::Spin(spin) => reached(&courses, spin.from, next_turn) >= spin.until,
                    };
                if !is_over {
                    break;
                }
                next_turn += usize::from(matches!(wait, Wait::RoundRobin(_)));
                pass(&mut courses, *thread);
                goes_on = true;
            }
        }
        if goes_on {
            continue;
        }
        let stuck = threads.iter().find_map(|thread| match courses[thread].waits.front() {
            Some((_, Wait::Spin(spin))) => Some((*thread, *spin)),
            _ => None,
        });
        let Some((thread, spin)) = stuck else { break };
        endless.insert((thread, spin.begin));
        pass(&mut courses, thread);
    }
    for (thread, own) in spins.iter_mut() {
        own.retain(|spin| !endless.contains(&(*thread, spin.begin)));
    }
    endless
}

impl WaitProgress {
    fn has_begun(&self, next_turn: usize) -> bool {
        self.first_turn.is_none_or(|first| first <= next_turn)
    }
}

/// Up to where a thread can go.
fn reached(courses: &HashMap<ThreadId, WaitProgress>, thread: ThreadId, next_turn: usize) -> u64 {
    let Some(course) = courses.get(&thread) else { return u64::MAX };
    match course.waits.front() {
        _ if !course.has_begun(next_turn) => 0,
        Some((position, _)) => *position,
        None => u64::MAX,
    }
}

fn pass(courses: &mut HashMap<ThreadId, WaitProgress>, thread: ThreadId) {
    if let Some(course) = courses.get_mut(&thread) {
        course.waits.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use crate::replay::synchronisation::endless::*;

    fn spin(begin: u64, from: u32, until: u64) -> Spin {
        Spin { begin, again: begin + 1, end: begin + 2, from: ThreadId(from), until }
    }

    fn left(turns: &[(u32, u64)], spins: [&[Spin]; 2]) -> [Vec<Spin>; 2] {
        let turn = |&(thread, position)| RoundRobin { thread: ThreadId(thread), position };
        let turns: Vec<RoundRobin> = turns.iter().map(turn).collect();
        let threads = [ThreadId(0), ThreadId(1)];
        let own = spins.map(|own| own.iter().copied().collect());
        let mut spins: HashMap<_, VecDeque<Spin>> = threads.into_iter().zip(own).collect();
        drop_endless(&turns, &mut spins);
        threads.map(|thread| spins[&thread].iter().copied().collect())
    }

    #[test]
    fn threads_that_let_each_other_go_on_are_left_as_they_are() {
        let spins = [[spin(10, 1, 10), spin(30, 1, 30)], [spin(10, 0, 30), spin(30, 0, 40)]];
        let found = left(&[(0, 5), (1, 5), (0, 35)], [&spins[0], &spins[1]]);
        assert_eq!(found, spins.map(|own| own.to_vec()));
    }

    #[test]
    fn of_threads_that_wait_for_each_other_one_goes_on() {
        let [first, second] = left(&[], [&[spin(10, 1, 20)], &[spin(10, 0, 20)]]);
        assert_eq!(first.len() + second.len(), 1);
        // A turn that comes too late counts, too.
        let found = left(&[(1, 20), (0, 20)], [&[], &[spin(10, 0, 30)]]);
        assert_eq!(found, [[], []]);
        let waits = [spin(10, 0, 20)];
        assert_eq!(left(&[(0, 20), (1, 20)], [&[], &waits])[1], waits, "in time");
    }
}
