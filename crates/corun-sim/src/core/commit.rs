//! The commit stage: retired stores reach the cache.

use crate::core::{Core, InstructionSource};
use crate::lsq::CommitCycle;
use crate::memory::Memory;
use crate::uops::Handle;

impl<F: InstructionSource> Core<F> {
    /// Lets the oldest retired stores reach the cache.
    pub(super) fn commit_stores(&mut self, memory: &mut Memory) {
        let (now, count) = (self.now, self.threads.len());
        for place in 0..count {
            let index = self.turns.commit.thread(place, count);
            if self.threads[index].stores.is_empty() {
                continue;
            }
            let request = self.request(index, 0, 0);
            let mut cycle = CommitCycle::default();
            loop {
                let Self { parameters, threads, .. } = self;
                let stores = &mut threads[index].stores;
                let committed = stores.commit(&mut cycle, request, parameters, memory, now);
                let Some(committed) = committed else { break };
                self.is_active = true;
                for (handle, longer) in committed.waiting {
                    self.release(handle, committed.at + u64::from(longer));
                }
            }
            if cycle.is_any() && !self.parameters.load_store.own_stores {
                self.turns.commit.take(index);
                break;
            }
        }
    }

    /// One thing less that a micro-op waits for.
    fn release(&mut self, handle: Handle, ready: u64) {
        if let Some(ready) = self.threads[handle.thread()].rob.release(handle, ready) {
            self.schedulers.call(self.now, ready, handle);
        }
    }
}
