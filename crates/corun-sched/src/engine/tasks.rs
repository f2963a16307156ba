//! Tasks of the engine: how they are born, wait, are woken and end.

use crate::policy::{Arrival, Why};
use crate::program::{TaskSpec, weight};

use super::state::{Inside, Task};
use super::{Engine, TaskId};

impl Engine<'_> {
    /// Starts the tasks of the load whose time has come.
    pub(super) fn start_tasks(&mut self) {
        while let Some(place) = self.starts.pop() {
            let spec = &self.load.tasks[place];
            if spec.start > self.state.now {
                self.starts.push(place);
                self.events.set(self.start_place(), spec.start);
                return;
            }
            let from = spec.from.filter(|&cpu| cpu < self.cpus.len());
            self.bear(spec, weight(spec.nice), None, from);
        }
    }

    /// A task of the same affinity, cookie and weight as its parent.
    pub(super) fn fork(&mut self, parent: TaskId, program: usize, cpu: usize) {
        let held = self.state.task(parent);
        let spec = TaskSpec {
            affinity: held.affinity.clone(),
            cookie: held.cookie,
            ..TaskSpec::of(program)
        };
        let (weight, number) = (held.weight, held.number);
        self.state.task_mut(parent).inside.children += 1;
        self.foreground += usize::from(!self.load.programs[program].is_daemon);
        self.bear(&spec, weight, Some((parent, number)), Some(cpu));
    }

    fn bear(
        &mut self,
        spec: &TaskSpec,
        weight: u64,
        parent: Option<(TaskId, u64)>,
        from: Option<usize>,
    ) {
        let now = self.state.now;
        let task = Task {
            number: self.tally.born,
            affinity: spec.affinity.clone(),
            cookie: spec.cookie,
            weight,
            last_cpu: None,
            last_ran: now,
            blocked_since: now,
            inside: Inside {
                program: spec.program,
                kind: self.load.programs[spec.program].kind,
                step: 0,
                repeats: Vec::new(),
                left: 0,
                overhead: 0,
                parent,
                children: 0,
                is_joining: false,
                begun: None,
                message: None,
                period_base: now,
                random: None,
                is_waiting: false,
                was_woken: false,
                runnable_since: now,
                ran: 0,
                waited: 0,
                worked: 0,
            },
        };
        self.tally.born += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.state.tasks.push(None);
            TaskId(self.state.tasks.len() as u32 - 1)
        });
        self.state.tasks[id.0 as usize] = Some(task);
        if let (Some((parent, _)), Some(cpu)) = (parent, from)
            && self.policy.fork(&self.state, parent, id)
        {
            self.set_slice(cpu, parent);
        }
        self.arrive(id, Arrival::New(from));
    }

    /// Wakes a task that is blocked, from the CPU of another or by a timer or device.
    pub(super) fn wake(&mut self, task: TaskId, from: Option<usize>) {
        if let Some(waker) = from.and_then(|cpu| self.state.running(cpu)) {
            self.add_overhead(waker, self.costs.wake_up);
        }
        self.state.task_mut(task).inside.was_woken = true;
        self.arrive(task, Arrival::Woken(from));
    }

    fn arrive(&mut self, task: TaskId, arrival: Arrival) {
        self.wait(task);
        let (from, why) = match arrival {
            Arrival::New(from) => (from, Why::New),
            Arrival::Woken(from) => (from, Why::Woken),
        };
        let cpu = self.policy.place(&self.state, task, arrival);
        debug_assert!(self.state.may_run(task, cpu), "the policy places a task where it may run");
        // What the running task did so far counts when the two are compared.
        match self.policy.calls_siblings() {
            true => self.settle_core(cpu),
            false => self.settle(cpu),
        }
        self.policy.enqueue(&self.state, task, cpu, why);
        if self.state.is_idle(cpu) {
            self.interrupt(cpu, from);
            return self.end_slices(cpu);
        }
        if let Some(running) = self.state.running(cpu) {
            match self.policy.preempts(&self.state, task, running, cpu) {
                true => self.resched(cpu, Why::Preempted),
                false => self.end_slices(cpu),
            }
        }
        self.unpark();
    }

    /// From now on the task waits for a CPU.
    pub(super) fn wait(&mut self, task: TaskId) {
        let now = self.state.now;
        let inside = &mut self.state.task_mut(task).inside;
        inside.runnable_since = now;
        inside.is_waiting = true;
        self.state.waiting += 1;
    }

    pub(super) fn stop_waiting(&mut self, task: TaskId) {
        let now = self.state.now;
        let inside = &mut self.state.task_mut(task).inside;
        debug_assert!(inside.is_waiting, "a task that is picked has waited");
        let waited = now - inside.runnable_since;
        inside.waited += waited;
        inside.is_waiting = false;
        let was_woken = std::mem::take(&mut inside.was_woken);
        self.state.waiting -= 1;
        self.tally.waited(waited, was_woken);
    }

    /// The running task of a CPU waits for something.
    pub(super) fn block(&mut self, cpu: usize) {
        let Some(task) = self.take_off(cpu) else { return };
        let now = self.state.now;
        self.state.task_mut(task).blocked_since = now;
        self.policy.leave(&self.state, task, cpu);
    }

    /// The running task of a CPU ends.
    pub(super) fn end(&mut self, cpu: usize) {
        let Some(id) = self.take_off(cpu) else { return };
        self.policy.leave(&self.state, id, cpu);
        let parent = self.state.task(id).inside.parent.filter(|&(parent, number)| {
            self.state.tasks[parent.0 as usize].as_ref().is_some_and(|it| it.number == number)
        });
        if let Some((parent, _)) = parent {
            self.policy.exit(&self.state, id, parent);
        }
        let Some(task) = self.state.tasks[id.0 as usize].take() else { return };
        self.free.push(id);
        self.tally.task_leaves(&task, self.state.now, self.speeds.unit);
        self.tally.ended += 1;
        let is_daemon = self.load.programs[task.inside.program].is_daemon;
        self.foreground -= usize::from(!is_daemon);
        if !is_daemon || self.is_endless {
            self.tally.makespan = self.state.now;
        }
        let Some((parent, _)) = parent else { return };
        let inside = &mut self.state.task_mut(parent).inside;
        inside.children -= 1;
        if inside.children == 0 && std::mem::take(&mut inside.is_joining) {
            self.wake(parent, Some(cpu));
        }
    }

    /// Work of the kernel's that the task must do before its own.
    pub(super) fn add_overhead(&mut self, task: TaskId, nanoseconds: u64) {
        let units = u128::from(nanoseconds) * u128::from(self.speeds.unit);
        let inside = &mut self.state.task_mut(task).inside;
        inside.left += units;
        inside.overhead += units;
    }
}
