//! Hardware counters and migrations of the workers, through perf_event where there are counters.
//!
//! Without hardware counters no event is opened at all: the first one makes the kernel patch its
//! own code, which disturbs every CPU and some emulators do not survive, for migrations alone.

use std::collections::{BTreeMap, BTreeSet};

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};

/// The name under which moves between CPUs are counted.
const MIGRATIONS: &str = "migrations";
/// The event that every machine with hardware counters has.
const CYCLES: &str = "cycles";

/// Which events this machine has; asked once, by trying.
#[derive(Default)]
pub(crate) struct EventCatalogue {
    missing: BTreeSet<&'static str>,
}

/// The open counters of one sample: the event, the place of its thread among all, the counter.
#[derive(Default)]
pub(crate) struct Counters(Vec<(&'static str, usize, Counter)>);

/// Event counts of one sample.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Moves of workers between CPUs.
    pub migrations: Option<u64>,
    /// User-mode hardware events by name.
    pub hardware: BTreeMap<String, u64>,
    /// The places of threads that moved, or that started something that moved.
    pub moved: BTreeSet<usize>,
}

impl EventCatalogue {
    /// True if there may be events, as far as is known.
    pub(crate) fn has_any(&self) -> bool {
        !self.missing.contains(CYCLES)
    }

    /// Counters, still stopped, on these threads and whatever they start.
    pub(crate) fn attach(&mut self, threads: &[libc::pid_t]) -> Counters {
        let mut counters = Counters::default();
        self.add(&mut counters, threads, CYCLES, Hardware::CPU_CYCLES);
        if !self.has_any() {
            return Counters::default();
        }
        self.add(&mut counters, threads, "instructions", Hardware::INSTRUCTIONS);
        self.add(&mut counters, threads, "branch-misses", Hardware::BRANCH_MISSES);
        self.add(&mut counters, threads, "cache-misses", Hardware::CACHE_MISSES);
        self.add(&mut counters, threads, MIGRATIONS, Software::CPU_MIGRATIONS);
        counters
    }

    /// Adds one event for all threads, or strikes it off for good if the kernel refuses.
    fn add(
        &mut self,
        counters: &mut Counters,
        threads: &[libc::pid_t],
        name: &'static str,
        event: impl Event + Clone,
    ) {
        if self.missing.contains(name) {
            return;
        }
        for (place, &thread) in threads.iter().enumerate() {
            let mut builder = Builder::new(event.clone());
            builder.observe_pid(thread).any_cpu().inherit(true);
            if name == MIGRATIONS {
                builder.include_kernel();
            }
            match builder.build() {
                Ok(counter) => counters.0.push((name, place, counter)),
                // The thread may have ended already, or there are no descriptors for so many; any
                // other refusal is about the event.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                    counters.0.retain(|(other, ..)| *other != name);
                    return;
                }
                Err(_) => {
                    self.missing.insert(name);
                    return;
                }
            }
        }
    }
}

impl Counters {
    /// Lets them count.
    pub(crate) fn start(&mut self) {
        for (.., counter) in &mut self.0 {
            let _ = counter.enable();
        }
    }

    /// Reads them. An event that had to share its hardware counter is left out: it did not see all.
    pub(crate) fn read(mut self) -> Counts {
        let readings = self.0.iter_mut().map(|(name, place, counter)| {
            let whole = counter.read_count_and_time().ok().and_then(|read| {
                let shared = read.time_running < read.time_enabled;
                (!shared || *name == MIGRATIONS).then_some(read.count)
            });
            (*name, *place, whole)
        });
        Counts::of(readings)
    }
}

impl Counts {
    fn of(readings: impl Iterator<Item = (&'static str, usize, Option<u64>)>) -> Self {
        let mut sums: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        let mut moved = BTreeSet::new();
        for (name, place, whole) in readings {
            if name == MIGRATIONS && whole.is_some_and(|moves| moves > 0) {
                moved.insert(place);
            }
            let sum = sums.entry(name).or_insert(Some(0));
            *sum = sum.zip(whole).map(|(sum, count)| sum + count);
        }
        let migrations = sums.remove(MIGRATIONS).flatten();
        let hardware =
            sums.into_iter().filter_map(|(name, sum)| Some((name.to_owned(), sum?))).collect();
        Self { migrations, hardware, moved }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_moved_are_reported() {
        let readings = [
            (CYCLES, 0, Some(5)),
            (MIGRATIONS, 0, Some(0)),
            (CYCLES, 1, None),
            (MIGRATIONS, 1, Some(2)),
            (MIGRATIONS, 2, Some(1)),
        ];
        let counts = Counts::of(readings.into_iter());
        assert_eq!(counts.moved, BTreeSet::from([1, 2]));
        assert_eq!((counts.migrations, counts.hardware.len()), (Some(3), 0));
    }
}
