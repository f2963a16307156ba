//! The uncore: the last level that a group of cores shares, and the links to memory behind it.

use crate::memory::cache::{Cache, Evicted, State};
use crate::memory::line::Line;
use crate::memory::link::Link;
use crate::memory::{Access, Memory, Origin};
use corun_model::{CoreModel, Holds, LINE};

/// Cores around one last-level cache, and their way to memory.
pub(super) struct Group {
    l3: Option<Cache>,
    /// Lines from memory, and those written back, which delay no read there.
    from_main: Link,
    to_main: Link,
}

impl Group {
    /// Of so many cores.
    pub(super) fn of(model: &CoreModel, cores: u32) -> Self {
        let (hierarchy, cycles_a_second) = (&model.hierarchy, model.gigahertz * 1e9);
        let seconds_a_line = f64::from(LINE) / (hierarchy.memory_bandwidth(cores) * 1e9);
        let link = || Link::new(seconds_a_line * model.gigahertz * 1e9);
        let l3 = hierarchy.l3.as_ref().zip(hierarchy.last_level(cores)).map(|(l3, size)| {
            let lines_a_second = l3.background_fills * 1e9 / f64::from(LINE);
            Cache::of(size).with_background_fills(lines_a_second / cycles_a_second)
        });
        Self { l3, from_main: link(), to_main: link() }
    }

    /// The last level.
    pub(super) fn l3(&mut self) -> Option<&mut Cache> {
        self.l3.as_mut()
    }

    /// Writes a line to memory, which no cache has any more. Returns the cycle in which it is on its way.
    pub(super) fn write_past(&mut self, line: Line, now: u64) -> u64 {
        if let Some(l3) = &mut self.l3 {
            l3.remove(line);
        }
        self.to_main.take(now)
    }
}

impl Memory {
    /// The group of a core.
    pub(super) fn group(&mut self, core: usize) -> &mut Group {
        &mut self.groups[core / self.group_size]
    }

    /// A line from another core, the last level or memory, into the second level.
    pub(super) fn access_uncore(&mut self, access: Access, now: u64) -> (u64, Origin, State) {
        let Access { core, requester, line, is_write } = access;
        let is_alone = match &mut self.directory {
            None => true,
            Some(directory) => {
                let others = directory.ask(line, core, is_write);
                if let Some(ready) = self.snoop(others, line, is_write, now) {
                    let state = if is_write { State::Modified } else { State::Shared };
                    self.cores[core].counts(requester).transfers += 1;
                    self.fill_l2(core, requester, line, ready, state);
                    return (ready, Origin::OtherCore, state);
                }
                others == 0
            }
        };
        let state = match (is_write, is_alone) {
            (true, _) => State::Modified,
            (false, true) => State::Exclusive,
            (false, false) => State::Shared,
        };
        let latencies = self.latencies;
        let start = self.cores[core].l3_link.take(now);
        self.insert_background_fills(core, line, start);
        let group = self.group(core);
        let found = group.l3().and_then(|l3| l3.find_or_recognise(line, 0)).map(|held| held.ready);
        let (ready, origin) = match found {
            Some(ready) => (ready.max(start) + latencies.l3, Origin::L3),
            None => {
                let ready = group.from_main.take(start) + latencies.l3 + latencies.main;
                self.cores[core].counts(requester).main += 1;
                if self.holds == Holds::Inclusive {
                    self.fill_l3(core, line, ready - latencies.l3, State::Exclusive);
                }
                (ready, Origin::Main)
            }
        };
        self.fill_l2(core, requester, line, ready, state);
        (ready, origin, state)
    }

    /// Fills a line into the last level; without one, a modified line goes to memory.
    pub(super) fn fill_l3(&mut self, core: usize, line: Line, ready: u64, state: State) {
        self.insert_background_fills(core, line, ready);
        let group = self.group(core);
        let Some(l3) = &mut group.l3 else {
            if state == State::Modified {
                group.to_main.take(ready);
            }
            return;
        };
        if let Some(evicted) = l3.insert(line, ready, state, 0) {
            self.evict_l3(core, evicted, ready);
        }
    }

    /// Inserts the background fills that are due in a line's set of the last level.
    pub(super) fn insert_background_fills(&mut self, core: usize, line: Line, now: u64) {
        let due = self.group(core).l3().map_or(0, |l3| l3.due_background_fills(line, now));
        for _ in 0..due {
            let evicted = self.group(core).l3().and_then(|l3| l3.insert_background(line, now));
            if let Some(evicted) = evicted {
                self.evict_l3(core, evicted, now);
            }
        }
    }

    /// A line has left the last level, and with an inclusive one all cores around it.
    fn evict_l3(&mut self, core: usize, evicted: Evicted, now: u64) {
        let mut is_modified = evicted.state == State::Modified;
        if self.holds == Holds::Inclusive {
            let first = core / self.group_size * self.group_size;
            for own in self.cores.iter_mut().skip(first).take(self.group_size) {
                let given = own.give_up(evicted.line, true, now, 0);
                is_modified |= given.is_some_and(|(held, _)| held.state == State::Modified);
            }
        }
        if is_modified {
            self.group(core).to_main.take(now);
        }
    }
}
