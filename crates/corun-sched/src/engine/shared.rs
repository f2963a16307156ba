//! Resources that tasks share: locks, queues of messages, disks, and messages that come from outside.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use crate::program::Load;

use super::steps::{draw, stream};
use super::{Engine, TaskId};

/// A message: when it was sent, and whether from outside.
type Message = (u64, bool);

#[derive(Debug, Default)]
struct Lock {
    /// The number of the task that holds it.
    holder: Option<u64>,
    waiting: VecDeque<TaskId>,
}

#[derive(Debug, Default)]
struct Queue {
    capacity: usize,
    messages: VecDeque<Message>,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
}

/// Everything that tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    locks: Vec<Lock>,
    queues: Vec<Queue>,
    /// When each disk is free.
    disks: Vec<u64>,
    /// Who waits for each signal.
    suspended: Vec<Vec<TaskId>>,
    /// Messages that are still to come from each source, and what draws their intervals.
    to_come: Vec<(u64, Box<ChaCha8Rng>)>,
    /// Operations from outside that are not done.
    open: u64,
}

impl Shared {
    pub(super) fn new(load: &Load, seed: u64) -> Self {
        let queue = |spec: &crate::program::QueueSpec| Queue {
            capacity: spec.capacity.map_or(usize::MAX, |it| it.max(1) as usize),
            messages: std::iter::repeat_n((0, false), spec.initial as usize).collect(),
            ..Queue::default()
        };
        Self {
            locks: (0..load.locks).map(|_| Lock::default()).collect(),
            queues: load.queues.iter().map(queue).collect(),
            disks: vec![0; load.disks],
            suspended: vec![Vec::new(); load.signals],
            to_come: (load.sources.iter().zip(0..))
                .map(|(source, number)| (source.count, stream(seed, u64::MAX - number)))
                .collect(),
            open: 0,
        }
    }

    /// True if everything from outside is done.
    pub(super) fn is_served(&self) -> bool {
        self.open == 0 && self.to_come.iter().all(|(count, _)| *count == 0)
    }

    /// The task waits until the signal is given.
    pub(super) fn suspend(&mut self, task: TaskId, signal: usize) {
        self.suspended[signal].push(task);
    }

    /// Number of tasks that wait for the signal.
    pub(super) fn suspended(&self, signal: usize) -> usize {
        self.suspended[signal].len()
    }

    /// An operation that came from outside is done.
    pub(super) fn done(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

/// All of these say whether the task goes on; if not, it is to be blocked.
impl Engine<'_> {
    pub(super) fn lock(&mut self, task: TaskId, lock: usize) -> bool {
        let number = self.state.task(task).number;
        let lock = &mut self.shared.locks[lock];
        let is_free = lock.holder.is_none();
        match is_free {
            true => lock.holder = Some(number),
            false => lock.waiting.push_back(task),
        }
        is_free
    }

    /// A lock that another holds stays as it is.
    pub(super) fn unlock(&mut self, cpu: usize, task: TaskId, lock: usize) {
        let lock = &mut self.shared.locks[lock];
        if lock.holder != Some(self.state.task(task).number) {
            return;
        }
        let next = lock.waiting.pop_front();
        lock.holder = next.map(|next| self.state.task(next).number);
        if let Some(next) = next {
            self.wake(next, Some(cpu));
        }
    }

    /// Wakes all that wait for a signal; if none does, nothing is kept of it.
    pub(super) fn resume(&mut self, cpu: usize, signal: usize) {
        for task in std::mem::take(&mut self.shared.suspended[signal]) {
            self.wake(task, Some(cpu));
        }
    }

    /// Wakes the one that has waited longest for a signal; if none does, nothing is kept of it.
    pub(super) fn notify(&mut self, cpu: usize, signal: usize) {
        let suspended = &mut self.shared.suspended[signal];
        if !suspended.is_empty() {
            let first = suspended.remove(0);
            self.wake(first, Some(cpu));
        }
    }

    pub(super) fn send(&mut self, cpu: usize, task: TaskId, queue: usize) -> bool {
        let now = self.state.now;
        let held = &mut self.shared.queues[queue];
        if held.readers.is_empty() && held.messages.len() >= held.capacity {
            held.writers.push_back(task);
            return false;
        }
        self.post(queue, (now, false), Some(cpu));
        true
    }

    pub(super) fn receive(&mut self, cpu: usize, task: TaskId, queue: usize) -> bool {
        let now = self.state.now;
        let held = &mut self.shared.queues[queue];
        let Some(message) = held.messages.pop_front() else {
            held.readers.push_back(task);
            return false;
        };
        let writer = held.writers.pop_front();
        if writer.is_some() {
            held.messages.push_back((now, false));
        }
        self.state.task_mut(task).inside.message = Some(message);
        if let Some(writer) = writer {
            self.wake(writer, Some(cpu));
        }
        true
    }

    /// Gives a message to the first that waits for one, or keeps it.
    fn post(&mut self, queue: usize, message: Message, from: Option<usize>) {
        let held = &mut self.shared.queues[queue];
        match held.readers.pop_front() {
            Some(reader) => {
                self.state.task_mut(reader).inside.message = Some(message);
                self.wake(reader, from);
            }
            None => held.messages.push_back(message),
        }
    }

    /// The task waits for the disk and its transfer.
    pub(super) fn transfer(&mut self, task: TaskId, disk: usize, time: u64) {
        let free = &mut self.shared.disks[disk];
        *free = (*free).max(self.state.now).saturating_add(time);
        let end = *free;
        self.events.set(self.task_place(task), end);
    }

    pub(super) fn message_comes(&mut self, source: usize) {
        let queue = self.load.sources[source].queue;
        self.shared.to_come[source].0 -= 1;
        self.shared.open += 1;
        self.post(queue, (self.state.now, true), None);
        self.expect_message(source);
    }

    /// Sets when the next message of a source comes.
    pub(super) fn expect_message(&mut self, source: usize) {
        let (count, random) = &mut self.shared.to_come[source];
        if *count > 0 {
            let interval = draw(random, self.load.sources[source].interval);
            let time = self.state.now.saturating_add(interval);
            self.events.set(self.source_place(source), time);
        }
    }
}
