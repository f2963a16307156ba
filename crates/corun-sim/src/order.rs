//! The order of a process's threads at system calls and signals, as it was when they were recorded. What they hand to
//! each other in between is not in a trace.

use std::collections::HashSet;

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, ThreadId};

/// Whose marker is next.
#[derive(Debug)]
pub(crate) struct Order {
    /// The thread of each marker, in their order.
    threads: Vec<ThreadId>,
    next: usize,
    with_markers: HashSet<ThreadId>,
}

impl Order {
    /// Of these threads of a trace.
    pub(crate) fn of(trace: &Trace, threads: &[ThreadId]) -> Result<Self, FormatError> {
        let mut all = Vec::new();
        for &thread in threads {
            let mut events = trace.events(thread)?;
            while let Some(event) = events.next_event()? {
                match event {
                    Event::Marker(it) if !matches!(it.marker, Marker::Begin { .. }) => {
                        all.push((it.order, thread));
                    }
                    _ => {}
                }
            }
        }
        all.sort_unstable_by_key(|(order, thread)| (*order, thread.0));
        let threads: Vec<ThreadId> = all.into_iter().map(|(_, thread)| thread).collect();
        let with_markers = threads.iter().copied().collect();
        Ok(Self { threads, next: 0, with_markers })
    }

    /// Keeps nobody back any more, since a thread could not be read to its end.
    pub(crate) fn give_up(&mut self) {
        self.next = self.threads.len();
    }

    /// Whether a thread may begin: everything that was recorded before its first marker is done.
    pub(crate) fn begins(&self, thread: ThreadId) -> bool {
        self.threads.get(self.next).is_none_or(|next| *next == thread)
            || !self.with_markers.contains(&thread)
    }

    /// Whether the next marker is this thread's; if so, it is passed.
    pub(crate) fn pass(&mut self, thread: ThreadId) -> bool {
        let is_its = self.threads.get(self.next).is_none_or(|next| *next == thread);
        self.next += usize::from(is_its);
        is_its
    }
}

#[cfg(test)]
mod tests {
    use corun_trace::format::{Options, Writer};
    use corun_trace::{OrderedMarker, Sink, decode};

    use super::*;

    #[test]
    fn markers_are_passed_as_they_were_recorded() {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let block = writer.define(decode(0x1000, &[0x90]).unwrap()).unwrap();
        let threads = [writer.thread(7).unwrap(), writer.thread(8).unwrap()];
        for (order, thread) in [(1, 0), (4, 1), (5, 1), (9, 0)] {
            let marker = Marker::SystemCall(202);
            writer.execute(threads[thread], block, 1, &[]).unwrap();
            writer.mark(threads[thread], OrderedMarker { order, marker }).unwrap();
        }
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let mut order = Order::of(&trace, &threads).unwrap();
        assert!(order.begins(threads[0]) && !order.begins(threads[1]));
        let passed = [1, 0, 0, 1, 0, 1, 0, 1].map(|thread| order.pass(threads[thread]));
        assert_eq!(passed, [false, true, false, true, false, true, true, true]);
    }
}
