//! The steps of a program, one after another until one takes time.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use crate::program::{Amount, Step};

use super::{Engine, TaskId};

impl Engine<'_> {
    /// Does the steps of the running task of a CPU that take no time; whether it still runs then.
    pub(super) fn advance(&mut self, cpu: usize, task: TaskId) -> bool {
        let load = self.load;
        while self.state.task(task).inside.left == 0 {
            let inside = &mut self.state.task_mut(task).inside;
            let steps = &load.programs[inside.program].steps;
            let Some(&step) = steps.get(inside.step) else {
                self.end(cpu);
                return false;
            };
            inside.step += 1;
            if !self.step(cpu, task, step) {
                self.block(cpu);
                return false;
            }
        }
        true
    }

    /// Does a step; whether the task goes on.
    fn step(&mut self, cpu: usize, task: TaskId, step: Step) -> bool {
        let now = self.state.now;
        match step {
            Step::Run(amount) => {
                let units = u128::from(self.draw(task, amount)) * u128::from(self.speeds.unit);
                self.state.task_mut(task).inside.left += units;
            }
            Step::Sleep(amount) => {
                let end = now.saturating_add(self.draw(task, amount));
                self.events.set(self.task_place(task), end);
                return false;
            }
            Step::Period(period) => {
                let base = &mut self.state.task_mut(task).inside.period_base;
                let next = base.saturating_add(period);
                *base = next.max(now);
                if next <= now {
                    return true;
                }
                self.events.set(self.task_place(task), next);
                return false;
            }
            Step::Disk(disk, amount) => {
                let time = self.draw(task, amount);
                self.transfer(task, disk, time);
                return false;
            }
            Step::Lock(lock) => return self.lock(task, lock),
            Step::Unlock(lock) => self.unlock(cpu, task, lock),
            Step::Suspend(signal) => {
                self.shared.suspend(task, signal);
                return false;
            }
            Step::Resume(signal) => self.resume(cpu, signal),
            Step::Notify(signal) => self.notify(cpu, signal),
            Step::Meet(signal, count) => {
                if self.shared.suspended(signal) + 1 < count {
                    self.shared.suspend(task, signal);
                    return false;
                }
                self.resume(cpu, signal);
            }
            Step::Send(queue) => return self.send(cpu, task, queue),
            Step::Receive(queue) => return self.receive(cpu, task, queue),
            Step::Fork(program) => self.fork(task, program, cpu),
            Step::Join => {
                let inside = &mut self.state.task_mut(task).inside;
                inside.is_joining = inside.children > 0;
                return !inside.is_joining;
            }
            Step::Begin => self.state.task_mut(task).inside.begun = Some(now),
            Step::Done => {
                let inside = &mut self.state.task_mut(task).inside;
                let message = inside.message.take();
                let begin = inside.begun.take().or(message.map(|(sent, _)| sent));
                self.tally.operation(begin.map(|begin| now - begin));
                if message.is_some_and(|(_, is_from_outside)| is_from_outside) {
                    self.shared.done();
                    self.tally.makespan = now;
                }
            }
            Step::Repeat(times) => self.repeat(task, times),
            Step::End => self.repeat_end(task),
        }
        true
    }

    fn repeat(&mut self, task: TaskId, times: Option<u64>) {
        let load = self.load;
        let inside = &mut self.state.task_mut(task).inside;
        if times != Some(0) {
            inside.repeats.push((inside.step, times));
            return;
        }
        // Nothing of it is done: on after the matching end.
        let steps = &load.programs[inside.program].steps;
        let mut depth = 1;
        while depth > 0 && inside.step < steps.len() {
            depth += match steps[inside.step] {
                Step::Repeat(_) => 1,
                Step::End => -1,
                _ => 0,
            };
            inside.step += 1;
        }
    }

    fn repeat_end(&mut self, task: TaskId) {
        let inside = &mut self.state.task_mut(task).inside;
        let Some((body, times)) = inside.repeats.last_mut() else { return };
        match times {
            Some(1) => {
                inside.repeats.pop();
            }
            Some(times) => {
                *times -= 1;
                inside.step = *body;
            }
            None => inside.step = *body,
        }
    }

    /// An amount for a task. Each task draws from a stream of its own, so that the same work comes
    /// under every policy.
    fn draw(&mut self, task: TaskId, amount: Amount) -> u64 {
        if let Amount::Fixed(amount) = amount {
            return amount;
        }
        let seed = self.seed;
        let held = self.state.task_mut(task);
        let number = held.number;
        let random = held.inside.random.get_or_insert_with(|| stream(seed, number));
        draw(random, amount)
    }
}

/// Random stream of a task, or of a source.
pub(super) fn stream(seed: u64, number: u64) -> Box<ChaCha8Rng> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    Box::new(random)
}

pub(super) fn draw(random: &mut ChaCha8Rng, amount: Amount) -> u64 {
    match amount {
        Amount::Fixed(amount) => amount,
        Amount::Exponential(mean) => {
            let unit: f64 = Exp1.sample(random);
            ((unit * mean as f64).round() as u64).max(1)
        }
        Amount::Uniform(low, high) => random.random_range(low.min(high)..=high.max(low)),
    }
}
