//! Load recorded by `perf sched record`, as `perf script` prints it: each task runs and sleeps as it did.
//!
//! A task that slept does so again for as long, whichever task woke it; its time on a CPU is taken for work,
//! whatever ran on the sibling. Both forms that perf has printed are read.
//!
//! Events can be lost. Each CPU runs one task at a time, so that a task has left a CPU as soon as any event
//! shows another one there, and work is never more than the CPUs' time.

use std::collections::BTreeMap;

use super::{LoadEntry, Make};
use crate::ScheduleError;
use crate::program::{Amount, Load, Step, TaskSpec};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "perf-sched",
    summary: "what `perf sched record` recorded, as the text of `perf script`",
    make: Make::File(read),
};

/// A task on its way through the recording; times in nanoseconds.
#[derive(Debug, Default)]
struct Recorded {
    name: String,
    start: Option<u64>,
    steps: Vec<Step>,
    /// CPU that it has.
    running: Option<u32>,
    /// Work since it last slept.
    worked: u64,
    slept: Option<u64>,
    woken: Option<u64>,
}

/// A CPU on its way through the recording.
#[derive(Debug, Default)]
struct Cpu {
    /// Task it is known to run, and since when.
    runs: Option<(u32, u64)>,
    /// Work of all tasks there.
    worked: u64,
}

impl Recorded {
    fn begins(&mut self, cpu: u32, now: u64) {
        self.start.get_or_insert(self.woken.unwrap_or(now));
        if let Some(slept) = self.slept.take() {
            let woken = self.woken.filter(|&woken| woken >= slept).unwrap_or(now);
            self.steps.push(Step::Run(Amount::Fixed(std::mem::take(&mut self.worked))));
            self.steps.push(Step::Sleep(Amount::Fixed(woken.saturating_sub(slept).max(1))));
        }
        self.woken = None;
        self.running = Some(cpu);
    }

    fn leaves(&mut self, now: u64, is_runnable: bool) {
        self.running = None;
        self.slept = (!is_runnable).then_some(now);
        self.woken = None;
    }

    fn wakes(&mut self, now: u64) {
        if self.running.is_none() {
            self.woken.get_or_insert(now);
        }
    }
}

/// All tasks and CPUs of a recording; a CPU runs one task at a time, and a task has one CPU.
#[derive(Debug, Default)]
struct Recording {
    tasks: BTreeMap<u32, Recorded>,
    cpus: BTreeMap<u32, Cpu>,
    /// When the first and the last event came.
    first: u64,
    last: u64,
}

impl Recording {
    /// An event shows that this task has this CPU now. Any other task that had it, and wherever else the task
    /// was, is over by now, though the events that said so are lost.
    fn shows(&mut self, cpu: u32, pid: u32, now: u64) {
        let held = self.cpus.get(&cpu);
        if held.is_some_and(|it| it.runs.is_some_and(|(running, _)| running == pid)) {
            return;
        }
        // The first that is seen of a CPU has run since the recording began. Otherwise its beginning was
        // lost, and all that is known is that it runs now.
        let is_first = held.is_none() && !self.tasks.contains_key(&pid);
        let begin = if is_first { self.first } else { now };
        self.closes(cpu, now);
        if pid == 0 {
            return;
        }
        let elsewhere = self.tasks.get(&pid).and_then(|task| task.running);
        if let Some(other) = elsewhere {
            self.closes(other, now);
        }
        self.tasks.entry(pid).or_default().begins(cpu, begin);
        self.cpus.entry(cpu).or_default().runs = Some((pid, begin));
    }

    /// The task that a CPU runs has done so until now.
    fn closes(&mut self, cpu: u32, now: u64) {
        let held = self.cpus.entry(cpu).or_default();
        let Some((pid, begin)) = held.runs.take() else { return };
        let time = now.saturating_sub(begin);
        held.worked += time;
        let task = self.tasks.entry(pid).or_default();
        task.worked += time;
        task.running = None;
    }

    fn switches(&mut self, cpu: u32, from: Named, to: Named, now: u64) {
        self.shows(cpu, from.pid, now);
        self.closes(cpu, now);
        if from.pid != 0 {
            let task = self.tasks.entry(from.pid).or_default();
            task.name = from.name;
            task.leaves(now, from.is_runnable);
        }
        if to.pid != 0 {
            self.shows(cpu, to.pid, now);
            self.tasks.entry(to.pid).or_default().name = to.name;
        }
    }
}

fn record(text: &str) -> Result<Recording, ScheduleError> {
    let mut recording = Recording::default();
    let mut is_empty = true;
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: &str| ScheduleError::File {
            line: number + 1,
            why: format!("{why}, found \"{}\"", line.trim()),
        };
        let Some((head, event)) = line.split_once(" sched:") else { continue };
        let head = head.trim_end().trim_end_matches(':');
        let now = head.rsplit(' ').next().and_then(nanoseconds);
        let now = now.ok_or_else(|| wrong("expected seconds before the event"))?;
        if std::mem::take(&mut is_empty) {
            (recording.first, recording.last) = (now, now);
        }
        if now < recording.last {
            return Err(wrong("expected events in the order of their times"));
        }
        recording.last = now;
        let (pid, cpu) = place(head).ok_or_else(|| {
            wrong("expected a task, its number and its CPU before the time, as in `bash 12 [003]`")
        })?;
        if let Some(body) = event.strip_prefix("sched_switch: ") {
            let (from, to) = switch(body).ok_or_else(|| wrong("expected two tasks of a switch"))?;
            recording.switches(cpu, from, to, now);
            continue;
        }
        // Every event is recorded while its task has the CPU.
        recording.shows(cpu, pid, now);
        if let Some(body) =
            event.strip_prefix("sched_wak").and_then(|it| Some(it.split_once(": ")?.1))
        {
            let woken = named(body, "").or_else(|| plain(body));
            let woken = woken.ok_or_else(|| wrong("expected the task that is woken"))?;
            recording.tasks.entry(woken.pid).or_default().wakes(now);
        }
    }
    if is_empty {
        return Err(ScheduleError::File {
            line: 1,
            why: "expected events sched:sched_switch as `perf script` prints them, found none"
                .to_owned(),
        });
    }
    if recording.last == recording.first {
        return Err(ScheduleError::File {
            line: 1,
            why: "expected events over some time, found that all have the same".to_owned(),
        });
    }
    let cpus: Vec<u32> = recording.cpus.keys().copied().collect();
    for cpu in cpus {
        recording.closes(cpu, recording.last);
    }
    Ok(recording)
}

fn read(text: &str) -> Result<Load, ScheduleError> {
    let recording = record(text)?;
    let mut load = Load { operation: "tasks".to_owned(), ..Load::default() };
    for (pid, mut task) in recording.tasks {
        let Some(start) = task.start else { continue };
        task.steps.push(Step::Run(Amount::Fixed(task.worked)));
        let program = load.program(&format!("{} ({pid})", task.name), &task.name, task.steps);
        load.tasks.push(TaskSpec { start: start - recording.first, ..TaskSpec::of(program) });
    }
    Ok(load)
}

/// The task that an event is of and its CPU, from what stands before the time: `bash  12 [003]`, or
/// `bash  12/13  [003]` with the process before the thread.
fn place(head: &str) -> Option<(u32, u32)> {
    let (who, rest) = head.rsplit_once('[')?;
    let (cpu, _) = rest.split_once(']')?;
    let pid = who.trim_end().rsplit([' ', '/']).next()?;
    Some((pid.parse().ok()?, cpu.trim().parse().ok()?))
}

struct Named {
    name: String,
    pid: u32,
    is_runnable: bool,
}

/// Both tasks of a switch, in either form.
fn switch(body: &str) -> Option<(Named, Named)> {
    let (from, to) = body.split_once(" ==> ")?;
    match from.contains("prev_pid=") {
        true => Some((named(from, "prev_")?, named(to, "next_")?)),
        false => Some((plain(from)?, plain(to)?)),
    }
}

/// `prev_comm=bash prev_pid=12 prev_prio=120 prev_state=S`
fn named(text: &str, prefix: &str) -> Option<Named> {
    let (name, rest) = text.split_once(&format!(" {prefix}pid="))?;
    let name = name.trim().strip_prefix(&format!("{prefix}comm="))?;
    let pid = rest.split(' ').next()?.parse().ok()?;
    let state = rest.split_once("_state=").map_or("", |(_, state)| state);
    Some(Named { name: name.to_owned(), pid, is_runnable: state.starts_with('R') })
}

/// `bash:12 [120] S`
fn plain(text: &str) -> Option<Named> {
    let (who, rest) = text.trim().rsplit_once(" [")?;
    let (name, pid) = who.rsplit_once(':')?;
    let state = rest.split_once("] ").map_or("", |(_, state)| state);
    Some(Named {
        name: name.trim().to_owned(),
        pid: pid.parse().ok()?,
        is_runnable: state.starts_with('R'),
    })
}

/// Nanoseconds from `12345.678901`.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, part) = text.split_once('.')?;
    let digits = part.len();
    let scale = 10_u64.checked_pow(9_u32.checked_sub(digits.try_into().ok()?)?)?;
    let part = part.parse::<u64>().ok()?.checked_mul(scale)?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMED: &str = "\
 swapper     0 [000]  100.000000: sched:sched_wakeup: comm=my job pid=7 prio=120 target_cpu=000
 swapper     0 [000]  100.001000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my job next_pid=7 next_prio=120
  my job     7 [000]  100.003000: sched:sched_switch: prev_comm=my job prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=other next_pid=8 next_prio=120
   other     8 [000]  100.004000: sched:sched_switch: prev_comm=other prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=my job next_pid=7 next_prio=120
  my job     7 [000]  100.005000: sched:sched_switch: prev_comm=my job prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
 swapper     0 [000]  100.009000: sched:sched_waking: comm=my job pid=7 prio=120 target_cpu=000
 swapper     0 [000]  100.009500: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my job next_pid=7 next_prio=120
  my job     7 [000]  100.010000: sched:sched_switch: prev_comm=my job prev_pid=7 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

    fn steps(text: &str) -> Vec<Vec<Step>> {
        read(text).unwrap().programs.into_iter().map(|program| program.steps).collect()
    }

    #[test]
    fn both_forms_become_runs_and_sleeps() {
        let [run, sleep] =
            [Step::Run, Step::Sleep].map(|step| move |us: u64| step(Amount::Fixed(us * 1_000)));
        let expected = vec![vec![run(3_000), sleep(4_000), run(500)], vec![run(1_000)]];
        assert_eq!(steps(NAMED), expected);
        let plain = "\
 swapper     0 [000]  100.000000000: sched:sched_wakeup: my job:7 [120] CPU:000
 swapper     0 [000]  100.001000000: sched:sched_switch: swapper/0:0 [120] R ==> my job:7 [120]
  my job     7 [000]  100.003000000: sched:sched_switch: my job:7 [120] R ==> other:8 [120]
   other     8 [000]  100.004000000: sched:sched_switch: other:8 [120] S ==> my job:7 [120]
  my job     7 [000]  100.005000000: sched:sched_switch: my job:7 [120] D ==> swapper/0:0 [120]
 swapper     0 [000]  100.009000000: sched:sched_waking: my job:7 [120] CPU:000
 swapper     0 [000]  100.009500000: sched:sched_switch: swapper/0:0 [120] R ==> my job:7 [120]
  my job     7 [000]  100.010000000: sched:sched_switch: my job:7 [120] X ==> swapper/0:0 [120]
";
        assert_eq!(steps(plain), expected);
        let load = read(NAMED).unwrap();
        assert_eq!(load.programs[0].name, "my job (7)");
        assert_eq!(load.tasks.iter().map(|it| it.start).collect::<Vec<_>>(), [0, 3_000_000]);
    }

    /// Work that was not recorded is not made up: neither back to the start, nor back to the last sleep.
    #[test]
    fn a_task_that_leaves_without_having_come_did_nothing_in_between() {
        let lost = "\
 swapper     0 [000]  100.000000: sched:sched_switch: swapper/0:0 [120] R ==> job:7 [120]
     job     7 [000]  100.010000: sched:sched_switch: job:7 [120] S ==> swapper/0:0 [120]
     job     7 [000]  110.000000: sched:sched_switch: job:7 [120] S ==> swapper/0:0 [120]
 swapper     0 [000]  111.000000: sched:sched_waking: job:7 [120] CPU:000
 swapper     0 [000]  111.000000: sched:sched_wakeup: new:8 [120] CPU:000
     job     7 [000]  112.000000: sched:sched_switch: job:7 [120] S ==> swapper/0:0 [120]
     new     8 [000]  113.000000: sched:sched_switch: new:8 [120] X ==> swapper/0:0 [120]
";
        let [run, sleep] =
            [Step::Run, Step::Sleep].map(|step| move |ms: u64| step(Amount::Fixed(ms * 1_000_000)));
        let first = vec![run(10), sleep(9_990), run(0), sleep(1_000), run(0)];
        assert_eq!(steps(lost), [first, vec![run(0)]]);
        assert_eq!(read(lost).unwrap().tasks[1].start, 11_000_000_000);
    }

    /// Who had a CPU and is not seen to leave it has left by the next event of another there.
    #[test]
    fn a_lost_switch_ends_with_what_else_the_cpu_shows() {
        let lost = "\
 swapper     0 [000]  100.000000: sched:sched_switch: swapper/0:0 [120] R ==> a:7 [120]
       b     8 [000]  100.010000: sched:sched_switch: b:8 [120] S ==> swapper/0:0 [120]
 swapper     0 [000]  109.990000: sched:sched_switch: swapper/0:0 [120] R ==> b:8 [120]
       b     8 [000]  110.000000: sched:sched_switch: b:8 [120] S ==> swapper/0:0 [120]
";
        let [run, sleep] =
            [Step::Run, Step::Sleep].map(|step| move |ms: u64| step(Amount::Fixed(ms * 1_000_000)));
        assert_eq!(steps(lost), [vec![run(10)], vec![run(0), sleep(9_980), run(10)]]);
        // A task that wakes another is on the CPU where it does so, and a task is on one CPU only.
        let moved = "\
 swapper     0 [000]  100.000000: sched:sched_switch: swapper/0:0 [120] R ==> a:7 [120]
       c     9 [000]  100.002000: sched:sched_waking: comm=d pid=10 prio=120 target_cpu=001
       a     7 [001]  100.005000: sched:sched_waking: comm=d pid=10 prio=120 target_cpu=001
       e    11 [001]  100.006000: sched:sched_switch: e:11 [120] S ==> c:9 [120]
       x    12 [002]  100.009000: sched:sched_switch: x:12 [120] S ==> swapper/2:0 [120]
";
        assert_eq!(steps(moved), [vec![run(2 + 1)], vec![run(4 + 3)], vec![run(0)], vec![run(9)]]);
    }

    /// Switches of some tasks on some CPUs, of which every subset may be lost.
    fn stream(events: &[(u32, u32, u64, bool, bool)]) -> (String, BTreeMap<u32, [u64; 2]>) {
        let mut now = 5_000_000_000_u64;
        let mut running = [0_u32; 3];
        let mut text = String::new();
        let mut first_and_last: Option<[u64; 2]> = None;
        for &(cpu, task, passed, sleeps, is_lost) in events {
            now += passed * 1_000;
            let from = running[cpu as usize];
            // A task that runs elsewhere cannot come here.
            let to = if running.contains(&task) { 0 } else { task };
            running[cpu as usize] = to;
            if is_lost {
                continue;
            }
            first_and_last.get_or_insert([now, now])[1] = now;
            let state = if sleeps { 'S' } else { 'R' };
            let time = format!("{}.{:09}", now / 1_000_000_000, now % 1_000_000_000);
            text += &format!(
                " t{from} {from} [{cpu:03}] {time}: sched:sched_switch: t{from}:{from} [120] {state} ==> t{to}:{to} [120]\n"
            );
        }
        let span = first_and_last.unwrap_or_default();
        (text, (0..3).map(|cpu| (cpu, span)).collect())
    }

    proptest! {
        #[test]
        fn work_is_never_more_than_the_time_of_its_cpu(
            events in proptest::collection::vec(
                (0_u32..3, 0_u32..6, 0_u64..5_000, any::<bool>(), any::<bool>()), 1..120),
        ) {
            let (text, spans) = stream(&events);
            prop_assume!(spans[&0][0] < spans[&0][1]);
            let recording = record(&text).unwrap();
            for (cpu, held) in &recording.cpus {
                let [first, last] = spans[cpu];
                prop_assert!(held.worked <= last - first, "CPU {cpu}: {held:?} of {}", last - first);
            }
            let load = read(&text).unwrap();
            let work = |steps: &[Step]| -> u64 {
                steps.iter().map(|step| if let Step::Run(Amount::Fixed(time)) = step { *time } else { 0 }).sum()
            };
            let all: u64 = load.programs.iter().map(|it| work(&it.steps)).sum();
            prop_assert_eq!(all, recording.cpus.values().map(|it| it.worked).sum::<u64>());
            // A task has one CPU at a time.
            for program in &load.programs {
                prop_assert!(work(&program.steps) <= recording.last - recording.first);
            }
        }

        /// Of what is whole nothing is lost: with every event the work is what the switches say.
        #[test]
        fn work_of_a_whole_recording_is_exact(
            events in proptest::collection::vec((0_u32..3, 0_u32..6, 0_u64..5_000, any::<bool>()), 1..120),
        ) {
            let whole: Vec<_> = events.into_iter().map(|(cpu, task, passed, sleeps)| (cpu, task, passed, sleeps, false)).collect();
            let (text, spans) = stream(&whole);
            prop_assume!(spans[&0][0] < spans[&0][1]);
            let mut expected = 0;
            let mut begun = [None; 3];
            let count = text.lines().count();
            for (number, line) in (1..).zip(text.lines()) {
                let (cpu, time) = (line.split(['[', ']']).nth(1).unwrap(), line.split(' ').nth(4).unwrap());
                let (cpu, now) = (cpu.parse::<usize>().unwrap(), nanoseconds(time.trim_end_matches(':')).unwrap());
                expected += begun[cpu].take().map_or(0, |begin| now - begin);
                begun[cpu] = (!line.contains("==> t0:0")).then_some(now);
                if number == count {
                    expected += begun.iter().flatten().map(|begin| now - begin).sum::<u64>();
                }
            }
            let recording = record(&text).unwrap();
            prop_assert_eq!(recording.cpus.values().map(|it| it.worked).sum::<u64>(), expected);
        }
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("nothing of it\n", 1),
            (" x 1 [0] 0.0: sched:sched_switch: a:1 [120] S ==> b:2 [120]\n", 1),
            ("\n x 1 [0] soon: sched:sched_switch: a:1 [120] S ==> b:2 [120]\n", 2),
            (" x 1 [0] 1.5: sched:sched_switch: a:1 [120] S\n", 1),
            (
                " x 1 [0] 1.5: sched:sched_switch: a:1 [120] S ==> b:2 [120]\n \
                 x 1 [1] 1.4: sched:sched_switch: a:1 [120] S ==> b:2 [120]\n",
                2,
            ),
        ] {
            let ScheduleError::File { line: found, .. } = read(text).unwrap_err() else { panic!() };
            assert_eq!(found, line, "{text}");
        }
    }
}
