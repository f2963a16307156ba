//! Programs of tasks: run, sleep, lock, pass messages, fork. A [`Load`] is programs and what they share.
//!
//! All times are nanoseconds; of work, as it takes alone on a core.

use std::sync::Arc;

use super::ScheduleError;

/// A length of work or of time in nanoseconds, drawn independently at each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Always the same.
    Fixed(u64),
    /// With an exponential distribution of this mean.
    Exponential(u64),
    /// Anything from the first to the second.
    Uniform(u64, u64),
}

/// One thing that a task does. Only running takes time on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Works.
    Run(Amount),
    /// Waits for a time.
    Sleep(Amount),
    /// Waits until so many nanoseconds after the end of its last period, or after its birth. If they
    /// have passed it goes on, and the next period begins now.
    Period(u64),
    /// Waits until it has this disk to itself, and then for as long as the transfer takes.
    Disk(usize, Amount),
    /// Takes a lock, or waits for it in the order of arrival.
    Lock(usize),
    /// Gives a lock that it holds to the first that waits for it.
    Unlock(usize),
    /// Waits for a signal.
    Suspend(usize),
    /// Gives a signal: all that wait for it go on.
    Resume(usize),
    /// Gives a signal to the one that has waited longest for it.
    Notify(usize),
    /// Waits for a signal until so many tasks do, itself included: a barrier. The last wakes the others.
    Meet(usize, usize),
    /// Puts a message into a queue; waits while the queue is full.
    Send(usize),
    /// Takes a message from a queue; waits while it is empty.
    Receive(usize),
    /// Starts a task with this program.
    Fork(usize),
    /// Waits until all tasks that it started have ended.
    Join,
    /// An operation begins: its latency counts from here.
    Begin,
    /// An operation is done. Its latency counts from [`Begin`](Self::Begin), or where there was none
    /// from when the last message that was taken had been sent.
    Done,
    /// Does the steps up to the matching [`End`](Self::End) so many times; `None` is without end.
    Repeat(Option<u64>),
    /// The end of what is repeated.
    End,
}

/// Program of tasks of one kind, from birth to exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name in answers.
    pub name: String,
    /// Kind of work, as a place in [`Load::kinds`].
    pub kind: usize,
    /// True if the run ends without waiting for it.
    pub is_daemon: bool,
    /// Steps of the program.
    pub steps: Vec<Step>,
}

/// A task that is there from its start time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpec {
    /// Program of its tasks.
    pub program: usize,
    /// When it begins.
    pub start: u64,
    /// The CPU that its parent runs on; `None`: it comes from outside.
    pub from: Option<usize>,
    /// The kernel's numbers of the CPUs that it may run on; `None`: all.
    pub affinity: Option<Arc<corun_machine::CpuSet>>,
    /// The core-scheduling cookie: only tasks with the same share a core. 0 is that of all without.
    pub cookie: u32,
    /// From -20, which gets most, to 19.
    pub nice: i8,
}

/// Messages on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueSpec {
    /// Messages that it holds at most; `None`: any number.
    pub capacity: Option<u32>,
    /// Messages that it holds at the start.
    pub initial: u32,
}

/// Messages that come from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The queue that they come to.
    pub queue: usize,
    /// The time between two.
    pub interval: Amount,
    /// Number of them.
    pub count: u64,
}

/// Load to be scheduled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// Name with its parameters.
    pub name: String,
    /// Meaning of an operation, for throughput.
    pub operation: String,
    /// The kinds of work, by which slowdowns differ.
    pub kinds: Vec<String>,
    /// The programs.
    pub programs: Vec<Program>,
    /// The tasks at the start.
    pub tasks: Vec<TaskSpec>,
    /// Queues of messages.
    pub queues: Vec<QueueSpec>,
    /// Number of locks.
    pub locks: usize,
    /// Number of disks.
    pub disks: usize,
    /// Number of signals.
    pub signals: usize,
    /// Sources of tasks from outside.
    pub sources: Vec<Source>,
    /// Nanoseconds after which all of it ends.
    pub until: Option<u64>,
}

/// Tasks, or messages of a queue, at the start; more are refused.
pub(super) const MAX_TASKS: usize = 2_000_000;
/// Repetitions of what takes no time; more are refused.
const MAX_INSTANT_REPETITIONS: u64 = 1_000;

impl Amount {
    /// True if it is never nothing.
    fn takes_time(self) -> bool {
        match self {
            Self::Fixed(time) | Self::Uniform(time, _) => time > 0,
            Self::Exponential(_) => true,
        }
    }

    /// True if it differs from use to use.
    fn is_random(self) -> bool {
        !matches!(self, Self::Fixed(_))
    }
}

impl TaskSpec {
    /// A task like any other, from the start on.
    pub fn of(program: usize) -> Self {
        Self { program, start: 0, from: None, affinity: None, cookie: 0, nice: 0 }
    }
}

impl Load {
    /// Adds a program of a kind of work and says its place.
    pub fn program(&mut self, name: &str, kind: &str, steps: Vec<Step>) -> usize {
        let kind = self.kind(kind);
        self.programs.push(Program { name: name.to_owned(), kind, is_daemon: false, steps });
        self.programs.len() - 1
    }

    /// Adds a program that the run does not wait for, and says its place.
    pub fn daemon(&mut self, name: &str, kind: &str, steps: Vec<Step>) -> usize {
        let place = self.program(name, kind, steps);
        self.programs[place].is_daemon = true;
        place
    }

    /// Adds a queue of any length and says its place.
    pub fn queue(&mut self, spec: QueueSpec) -> usize {
        self.queues.push(spec);
        self.queues.len() - 1
    }

    /// Adds so many tasks of a program.
    pub fn tasks(&mut self, program: usize, count: usize) {
        self.tasks.extend(std::iter::repeat_n(TaskSpec::of(program), count));
    }

    fn kind(&mut self, name: &str) -> usize {
        self.kinds.iter().position(|kind| kind == name).unwrap_or_else(|| {
            self.kinds.push(name.to_owned());
            self.kinds.len() - 1
        })
    }

    /// True if the tasks can do different work in runs with different seeds.
    pub fn is_random(&self) -> bool {
        let is_random = |step: &Step| match step {
            Step::Run(amount) | Step::Sleep(amount) | Step::Disk(_, amount) => amount.is_random(),
            _ => false,
        };
        self.programs.iter().flat_map(|program| &program.steps).any(is_random)
            || self.sources.iter().any(|source| source.interval.is_random())
    }

    /// True if its programs say when an operation is done.
    pub fn has_operations(&self) -> bool {
        self.programs.iter().any(|program| program.steps.contains(&Step::Done))
    }

    /// Checks for what could not be simulated.
    ///
    /// # Errors
    /// Sentence of what is wrong, in which program.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        for program in &self.programs {
            self.check_program(program).map_err(|why| ScheduleError::Load {
                load: self.name.clone(),
                why: format!("program \"{}\": {why}", program.name),
            })?;
        }
        let wrong = |why: String| Err(ScheduleError::Load { load: self.name.clone(), why });
        if !(1..=MAX_TASKS).contains(&self.tasks.len()) {
            return wrong(format!("expected 1 to {MAX_TASKS} tasks, found {}", self.tasks.len()));
        }
        if self.tasks.iter().any(|task| task.program >= self.programs.len()) {
            return wrong("expected a program for every task, found one without".to_owned());
        }
        if self.sources.iter().any(|source| source.queue >= self.queues.len()) {
            return wrong("expected a queue for every source, found one without".to_owned());
        }
        if let Some(queue) = self.queues.iter().find(|queue| queue.initial as usize > MAX_TASKS) {
            return wrong(format!(
                "expected {MAX_TASKS} messages at the start at most, found {}",
                queue.initial
            ));
        }
        match self.endless_fork() {
            Some(program) => wrong(format!("program \"{program}\" starts itself, over and over")),
            None => Ok(()),
        }
    }

    /// Checks for what would keep a run without a time limit from ending.
    ///
    /// # Errors
    /// Sentence of what is without end, in which program.
    pub(super) fn check_end(&self) -> Result<(), ScheduleError> {
        if self.until.is_some() {
            return Ok(());
        }
        let started = self.started();
        let programs =
            || self.programs.iter().zip(&started).filter_map(|(it, &is)| is.then_some(it));
        let wrong = |program: &Program, why: &str| {
            let why = format!(
                "program \"{}\" {why}: expected a time after which the run ends (--max-time)",
                program.name
            );
            Err(ScheduleError::Load { load: self.name.clone(), why })
        };
        let Some(endless) = programs().find(|it| it.steps.contains(&Step::Repeat(None))) else {
            return Ok(());
        };
        let mut foreground = programs().filter(|program| !program.is_daemon);
        if self.has_daemons_only() {
            return wrong(endless, "repeats without end although only daemons are left");
        }
        if let Some(program) =
            foreground.clone().find(|program| program.steps.contains(&Step::Repeat(None)))
        {
            return wrong(program, "repeats without end, and is no daemon");
        }
        let is_sent = |queue: usize| {
            self.queues[queue].initial > 0
                || self.sources.iter().any(|source| source.queue == queue)
                || programs().any(|program| program.steps.contains(&Step::Send(queue)))
        };
        let waits = |step: &Step| matches!(*step, Step::Receive(queue) if !is_sent(queue));
        match foreground.find(|program| program.steps.iter().any(waits)) {
            Some(program) => {
                let why = format!(
                    "waits for a message that no task sends, while \"{}\" repeats without end",
                    endless.name
                );
                wrong(program, &why)
            }
            None => Ok(()),
        }
    }

    /// True if there is nothing that a run waits for.
    pub(super) fn has_daemons_only(&self) -> bool {
        let is_daemon = |program: usize| self.programs[program].is_daemon;
        self.sources.is_empty() && self.tasks.iter().all(|task| is_daemon(task.program))
    }

    /// Which programs tasks have, from the start or later.
    fn started(&self) -> Vec<bool> {
        let mut started = vec![false; self.programs.len()];
        let mut next: Vec<usize> = self.tasks.iter().map(|task| task.program).collect();
        while let Some(program) = next.pop() {
            if !std::mem::replace(&mut started[program], true) {
                next.extend(self.forks(program));
            }
        }
        started
    }

    /// The programs that a program starts.
    fn forks(&self, program: usize) -> impl Iterator<Item = usize> {
        let steps = self.programs[program].steps.iter();
        steps.filter_map(|step| if let Step::Fork(child) = step { Some(*child) } else { None })
    }

    /// A program that starts itself, perhaps by others (Kahn's algorithm leaves only such).
    fn endless_fork(&self) -> Option<&str> {
        let forks = |program: usize| self.forks(program);
        let mut parents = vec![0_usize; self.programs.len()];
        (0..parents.len()).flat_map(forks).for_each(|child| parents[child] += 1);
        let mut free: Vec<usize> = (0..parents.len()).filter(|&it| parents[it] == 0).collect();
        while let Some(program) = free.pop() {
            for child in forks(program) {
                parents[child] -= 1;
                if parents[child] == 0 {
                    free.push(child);
                }
            }
        }
        let endless = parents.iter().position(|&left| left > 0)?;
        Some(&self.programs[endless].name)
    }

    /// True if a program runs or sleeps for certain: outside of what it repeats.
    fn takes_time(&self, program: usize) -> bool {
        let steps = self.programs.get(program).map_or(&[][..], |program| &program.steps);
        let mut depth = 0;
        steps.iter().any(|step| {
            match step {
                Step::Repeat(_) => depth += 1,
                Step::End => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(step, Step::Run(time) | Step::Sleep(time) if time.takes_time())
        })
    }

    fn check_program(&self, program: &Program) -> Result<(), String> {
        let mut around: Vec<Repetition> = Vec::new();
        let mut locked = vec![false; self.locks];
        for step in &program.steps {
            let (place, count, what) = match *step {
                Step::Lock(place) | Step::Unlock(place) => (place, self.locks, "lock"),
                Step::Send(place) | Step::Receive(place) => (place, self.queues.len(), "queue"),
                Step::Fork(place) => (place, self.programs.len(), "program"),
                Step::Disk(place, _) => (place, self.disks, "disk"),
                Step::Suspend(place)
                | Step::Resume(place)
                | Step::Notify(place)
                | Step::Meet(place, _) => (place, self.signals, "signal"),
                _ => (0, 1, ""),
            };
            if place >= count {
                return Err(format!("expected {what} 0 to {}, found {place}", count as isize - 1));
            }
            match *step {
                Step::Lock(lock) => locked[lock] = true,
                Step::Unlock(lock) if !std::mem::take(&mut locked[lock]) => {
                    return Err("expected a lock to be taken before it is given back".to_owned());
                }
                _ => {}
            }
            let innermost = around.last_mut();
            match *step {
                Step::Repeat(times) => around.push(Repetition { times, ..Repetition::default() }),
                Step::End => {
                    let over = around.pop().ok_or("expected a repetition before its end")?;
                    // Rounds of what it repeats count once for each of its own.
                    let rounds = over.times.map(|times| times.saturating_mul(over.rounds.max(1)));
                    if !over.takes_time
                        && rounds.is_none_or(|rounds| rounds > MAX_INSTANT_REPETITIONS)
                    {
                        return Err(format!(
                            "what program \"{}\" repeats without end, or more than {MAX_INSTANT_REPETITIONS} \
                             times, must run or sleep",
                            program.name
                        ));
                    }
                    if let Some(outer) = around.last_mut() {
                        outer.takes_time |= over.takes_time && over.times != Some(0);
                        let within = if over.takes_time { 0 } else { rounds.unwrap_or(0) };
                        outer.rounds = outer.rounds.saturating_add(within);
                    }
                }
                Step::Fork(forked) if self.takes_time(forked) => {
                    innermost.into_iter().for_each(|it| it.has_forked = true);
                }
                Step::Join => innermost.into_iter().for_each(|it| it.takes_time |= it.has_forked),
                Step::Period(1..) => innermost.into_iter().for_each(|it| it.takes_time = true),
                Step::Run(amount) | Step::Sleep(amount) | Step::Disk(_, amount)
                    if amount.takes_time() =>
                {
                    innermost.into_iter().for_each(|it| it.takes_time = true);
                }
                _ => {}
            }
        }
        match around.is_empty() {
            true => Ok(()),
            false => Err("expected an end of every repetition".to_owned()),
        }
    }
}

/// Repetition in a program, as far as it was read.
#[derive(Debug, Clone, Copy, Default)]
struct Repetition {
    times: Option<u64>,
    /// Rounds of what it repeats itself that take no time, in one of its own.
    rounds: u64,
    takes_time: bool,
    /// True if it started something that takes time, for which it may wait.
    has_forked: bool,
}

/// Load weight of a task of this nice value; 1024 at 0, and 1.25 times as much for each step down
/// (the kernel's `sched_prio_to_weight`).
pub(super) fn weight(nice: i8) -> u64 {
    const WEIGHTS: [u64; 40] = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100,
        4904, 3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172,
        137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
    ];
    WEIGHTS[(i16::from(nice) + 20).clamp(0, 39) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_by_who_took_it() {
        let check = |steps: Vec<Step>| {
            let mut load = Load { locks: 2, ..Load::default() };
            let program = load.program("it", "it", steps);
            load.tasks(program, 1);
            load.check()
        };
        let (lock, unlock) = (Step::Lock(0), Step::Unlock(0));
        assert!(check(vec![lock, unlock, lock, unlock]).is_ok());
        for wrong in [vec![unlock], vec![Step::Lock(1), unlock], vec![lock, unlock, unlock]] {
            assert!(check(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_run_that_could_not_end_needs_a_time_limit() {
        let endless = vec![Step::Repeat(None), Step::Run(Amount::Fixed(1)), Step::End];
        let mut load = Load::default();
        let worker = load.program("worker", "it", vec![Step::Run(Amount::Fixed(1))]);
        let daemon = load.daemon("daemon", "it", endless);
        let forking = load.program("forking", "it", vec![Step::Fork(daemon)]);
        load.tasks = [worker, daemon, forking].map(TaskSpec::of).to_vec();
        assert!(load.check_end().is_ok());
        let queue = load.queue(QueueSpec::default());
        load.programs[worker].steps = vec![Step::Receive(queue)];
        let error = load.check_end().unwrap_err().to_string();
        assert!(error.contains("\"worker\" waits") && error.contains("--max-time"), "{error}");
        load.programs[daemon].steps.insert(1, Step::Send(queue));
        assert!(load.check_end().is_ok());
        load.programs[daemon].is_daemon = false;
        let error = load.check_end().unwrap_err().to_string();
        assert!(error.contains("\"daemon\" repeats without end"), "{error}");
        // What no task does does not count, and a time limit ends all.
        assert!(Load { tasks: vec![TaskSpec::of(worker)], ..load.clone() }.check_end().is_ok());
        assert!(Load { until: Some(1), ..load }.check_end().is_ok());
    }

    #[test]
    fn what_would_never_end_or_never_begin_is_refused() {
        let check = |steps: Vec<Step>| {
            let mut load = Load::default();
            let program = load.program("it", "it", steps);
            load.tasks(program, 1);
            load.check()
        };
        let run = Step::Run(Amount::Fixed(1));
        assert!(check(vec![run]).is_ok());
        assert!(check(vec![Step::Repeat(None), run, Step::End]).is_ok());
        let forking = |steps: Vec<Step>| {
            let mut load = Load::default();
            load.program("forked", "it", vec![run]);
            let program = load.program("it", "it", steps);
            load.tasks(program, 1);
            load.check()
        };
        let (fork, end) = (Step::Fork(0), Step::End);
        assert!(forking(vec![Step::Repeat(None), fork, Step::Join, end]).is_ok());
        assert!(forking(vec![fork, Step::Repeat(None), Step::Join, end]).is_err());
        assert!(forking(vec![Step::Repeat(None), fork, end]).is_err());
        for wrong in [
            vec![Step::Repeat(None), Step::Begin, Step::End],
            vec![Step::Repeat(None), Step::Run(Amount::Fixed(0)), Step::End],
            vec![Step::Repeat(Some(1)), run],
            vec![Step::End],
            vec![Step::Repeat(None), Step::Repeat(Some(0)), run, Step::End, Step::End],
            vec![Step::Lock(0)],
            vec![Step::Fork(1)],
            vec![Step::Fork(0)],
            vec![Step::Repeat(Some(1_000_000)), Step::Begin, Step::End],
            [vec![Step::Repeat(Some(1000)); 4], vec![Step::Begin], vec![Step::End; 4]].concat(),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(Load::default().check().is_err());
    }
}
