//! Loads that miss the first level while every MSHR is taken: they are replayed when one is free, the oldest first. What
//! prefetchers bring until then they find.

use std::collections::VecDeque;

use crate::uops::Handle;

/// Blocked loads of all threads.
#[derive(Debug)]
pub(crate) struct LoadQueue {
    /// Of each thread, with their ages.
    blocked: Vec<VecDeque<(u64, Handle)>>,
    /// Threads, a bit each, whose oldest load was refused in this cycle.
    refused: u32,
    /// The earliest cycle in which one can be replayed.
    next_replay: Option<u64>,
}

impl LoadQueue {
    /// Of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self { blocked: vec![VecDeque::new(); threads], refused: 0, next_replay: None }
    }

    /// Loads of a thread that wait for an MSHR.
    pub(crate) fn blocked_of(&self, thread: usize) -> usize {
        self.blocked[thread].len()
    }

    /// A load finds no MSHR.
    pub(crate) fn block(&mut self, load: Handle, age: u64) {
        self.blocked[load.thread()].push_back((age, load));
    }

    /// A cycle begins: all that are blocked can be tried.
    #[inline]
    pub(crate) fn begin(&mut self) {
        (self.refused, self.next_replay) = (0, None);
    }

    /// The load to try next. Of all threads the oldest is first: none takes every MSHR from another.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<Handle> {
        let fronts = self.blocked.iter().filter_map(|loads| loads.front());
        let fronts = fronts.filter(|(_, load)| self.refused >> load.thread() & 1 == 0);
        fronts.min_by_key(|(age, _)| *age).map(|(_, load)| *load)
    }

    /// No MSHR is free for a load before cycle `free`: nor is one for younger loads of its thread.
    pub(crate) fn refuse(&mut self, load: Handle, free: u64) {
        self.refused |= 1 << load.thread();
        self.next_replay = self.next_replay.into_iter().chain([free]).min();
    }

    /// The oldest load of a thread is replayed.
    pub(crate) fn replay(&mut self, load: Handle) {
        self.blocked[load.thread()].pop_front();
    }

    /// Drops a thread's loads, but for these.
    pub(crate) fn keep(&mut self, thread: usize, is_kept: impl Fn(Handle) -> bool) {
        self.blocked[thread].retain(|(_, load)| is_kept(*load));
    }

    /// The earliest cycle in which one can be replayed.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<u64> {
        self.next_replay
    }
}
