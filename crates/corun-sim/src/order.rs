//! The order of a process's threads at system calls and hand-overs, as it was when they were recorded.

use corun_trace::format::{FormatError, Trace};
use corun_trace::{Event, Marker, ThreadId};

/// Whose marker is next.
#[derive(Debug)]
pub(crate) struct Order {
    /// The thread of each marker, in their order.
    threads: Vec<ThreadId>,
    next: usize,
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
        Ok(Self { threads: all.into_iter().map(|(_, thread)| thread).collect(), next: 0 })
    }

    /// Whether the next marker is this thread's; if so, it is passed.
    pub(crate) fn pass(&mut self, thread: ThreadId) -> bool {
        let is_its = self.threads.get(self.next).is_none_or(|next| *next == thread);
        self.next += usize::from(is_its);
        is_its
    }
}
