//! The order of a process's threads, as it was when they were recorded: at system calls and signals, and where one spins
//! until another has changed what it then changes itself (`spins`), or has stored what it polls (`waits`).

mod endless;
#[cfg(test)]
pub(crate) mod made;
mod spins;
mod waits;

use std::collections::{HashMap, HashSet, VecDeque};

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, ThreadId};

use endless::{RoundRobin, drop_endless};
pub(crate) use spins::Spin;
use spins::Watched;
use waits::Waits;

/// Whose turn it is.
#[derive(Debug, Clone)]
pub(crate) struct Synchronisation {
    /// The thread of each system call and signal, in their order.
    threads: Vec<ThreadId>,
    next: usize,
    with_markers: HashSet<ThreadId>,
    /// Of each thread, those to come.
    spins: HashMap<ThreadId, VecDeque<Spin>>,
    /// Up to where each thread has done what was recorded of it, if a thread waits for that.
    positions: HashMap<ThreadId, u64>,
}

impl Synchronisation {
    /// Of these threads of a trace.
    pub(crate) fn of(trace: &Trace, threads: &[ThreadId]) -> Result<Self, FormatError> {
        let mut all = Vec::new();
        for &thread in threads {
            let mut events = trace.events(thread)?;
            let mut position = 0;
            while let Some(event) = events.next_event()? {
                match event {
                    Event::Marker(it) if is_waited_for(it.marker) => {
                        all.push((it.order, RoundRobin { thread, position }));
                    }
                    Event::Marker(_) => {}
                    Event::Block { executed, .. } => position += u64::from(executed),
                }
            }
        }
        all.sort_unstable_by_key(|(order, turn)| (*order, turn.thread.0, turn.position));
        let turns: Vec<RoundRobin> = all.into_iter().map(|(_, turn)| turn).collect();
        let spins = Self::spins(trace, threads, &turns)?;
        let positions = spins.values().flatten().map(|spin| (spin.from, 0)).collect();
        let threads: Vec<ThreadId> = turns.into_iter().map(|turn| turn.thread).collect();
        let with_markers = threads.iter().copied().collect();
        Ok(Self { threads, next: 0, with_markers, spins, positions })
    }

    /// The spins of all threads that end, in their order: those that lead to an atomic instruction of the thread, and those that
    /// a plain store ends.
    fn spins(
        trace: &Trace,
        threads: &[ThreadId],
        turns: &[RoundRobin],
    ) -> Result<HashMap<ThreadId, VecDeque<Spin>>, FormatError> {
        let watched = Watched::new(trace, threads)?;
        let atomic = spins::spins(&watched, threads)?;
        let mut waits = Waits::of(trace, threads, &watched.shared)?;
        loop {
            let mut spins = atomic.clone();
            let plain = waits.spins();
            for (thread, own) in &plain {
                let all = spins.entry(*thread).or_default();
                all.extend(own.iter().map(|(spin, _)| *spin));
                all.make_contiguous().sort_by_key(|spin| spin.begin);
            }
            let endless = drop_endless(turns, &mut spins);
            let is_endless =
                |thread: &ThreadId, spin: &Spin| endless.contains(&(*thread, spin.begin));
            let sites = plain.iter().flat_map(|(thread, own)| {
                let endless = own.iter().filter(move |(spin, _)| is_endless(thread, spin));
                endless.map(move |(_, place)| (*thread, *place))
            });
            if !waits.relax(&sites.collect()) {
                return Ok(spins);
            }
        }
    }

    /// Keeps no thread back any more, since a thread could not be read to its end.
    pub(crate) fn give_up(&mut self) {
        self.next = self.threads.len();
        self.spins.clear();
        self.positions.clear();
    }

    /// True if a thread may begin: everything that was recorded before its first marker is done.
    pub(crate) fn begins(&self, thread: ThreadId) -> bool {
        self.threads.get(self.next).is_none_or(|next| *next == thread)
            || !self.with_markers.contains(&thread)
    }

    /// True if the next marker is this thread's; if so, it is passed.
    pub(crate) fn pass(&mut self, thread: ThreadId) -> bool {
        let is_its = self.threads.get(self.next).is_none_or(|next| *next == thread);
        self.next += usize::from(is_its);
        is_its
    }

    /// The spin that a thread begins after so many of its recorded instructions, if it does.
    pub(crate) fn spin(&mut self, thread: ThreadId, position: u64) -> Option<Spin> {
        let spins = self.spins.get_mut(&thread)?;
        // Those within another one are not gone through.
        while spins.front().is_some_and(|spin| spin.begin < position) {
            spins.pop_front();
        }
        spins.front().filter(|spin| spin.begin == position)?;
        spins.pop_front()
    }

    /// True if the change has been made that ends a spin.
    pub(crate) fn is_over(&self, spin: &Spin) -> bool {
        self.positions.get(&spin.from).is_none_or(|position| *position >= spin.until)
    }

    /// True if a thread waits for what this one does.
    pub(crate) fn is_awaited(&self, thread: ThreadId) -> bool {
        self.positions.contains_key(&thread)
    }

    /// A thread has done what was recorded of it, up to here.
    pub(crate) fn reach(&mut self, thread: ThreadId, position: u64) {
        if let Some(own) = self.positions.get_mut(&thread) {
            *own = position;
        }
    }
}

/// True if threads pass such a marker in the order in which they were recorded.
pub(crate) fn is_waited_for(marker: Marker) -> bool {
    !matches!(marker, Marker::Begin { .. } | Marker::Atomic | Marker::Switch)
}

#[cfg(test)]
mod tests {
    use corun_trace::format::{Options, Writer};
    use corun_trace::{OrderedMarker, Sink, decode};

    use crate::replay::synchronisation::*;

    #[test]
    fn markers_are_passed_as_they_were_recorded() {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let block = writer.define(decode(0x1000, &[0x90]).unwrap()).unwrap();
        let threads = [writer.thread(7).unwrap(), writer.thread(8).unwrap()];
        for (order, thread) in [(1, 0), (4, 1), (5, 1), (9, 0)] {
            let marker = Marker::SystemCall(202);
            writer.execute(threads[thread], block, 1, &[]).unwrap();
            writer.mark(threads[thread], OrderedMarker { order, marker }).unwrap();
            // These are of the tracer, not of the program.
            let order = order + 1;
            writer
                .mark(threads[1 - thread], OrderedMarker { order, marker: Marker::Switch })
                .unwrap();
        }
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let mut order = Synchronisation::of(&trace, &threads).unwrap();
        assert!(order.begins(threads[0]) && !order.begins(threads[1]));
        let passed = [1, 0, 0, 1, 0, 1, 0, 1].map(|thread| order.pass(threads[thread]));
        assert_eq!(passed, [false, true, false, true, false, true, true, true]);
    }
}
