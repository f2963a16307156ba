//! What `perf sched record` recorded, as `perf script` prints it: each task runs and sleeps as it did.
//!
//! A task that slept does so again for as long, whoever woke it; its time on a CPU is taken for work,
//! whatever ran on the sibling. Both forms that perf has printed are read.

use std::collections::BTreeMap;

use super::{LoadEntry, Make};
use crate::schedule::ScheduleError;
use crate::schedule::program::{Amount, Load, Step, TaskSpec};

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
    /// Since when it has had a CPU.
    running: Option<u64>,
    /// Its work since it last slept.
    worked: u64,
    slept: Option<u64>,
    woken: Option<u64>,
}

impl Recorded {
    fn begins(&mut self, now: u64) {
        self.start.get_or_insert(self.woken.unwrap_or(now));
        if let Some(slept) = self.slept.take() {
            let woken = self.woken.filter(|&woken| woken >= slept).unwrap_or(now);
            self.steps.push(Step::Run(Amount::Fixed(std::mem::take(&mut self.worked))));
            self.steps.push(Step::Sleep(Amount::Fixed(woken.saturating_sub(slept).max(1))));
        }
        self.woken = None;
        self.running = Some(now);
    }

    fn leaves(&mut self, now: u64, is_runnable: bool, first: u64) {
        let is_known = self.start.is_some() || self.woken.is_some();
        if self.running.is_none() && is_known {
            // When it got the CPU was not recorded: it is given no work for that.
            self.begins(now);
        }
        // A task that is seen for the first time as it leaves has run since the recording began.
        self.start.get_or_insert(first);
        let begin = self.running.take().unwrap_or(first);
        self.worked += now.saturating_sub(begin);
        self.slept = (!is_runnable).then_some(now);
        self.woken = None;
    }

    fn wakes(&mut self, now: u64) {
        if self.running.is_none() {
            self.woken.get_or_insert(now);
        }
    }
}

fn read(text: &str) -> Result<Load, ScheduleError> {
    let mut tasks: BTreeMap<u32, Recorded> = BTreeMap::new();
    let (mut first, mut last) = (None, 0);
    for (number, line) in text.lines().enumerate() {
        let wrong = |why: &str| ScheduleError::File {
            line: number + 1,
            why: format!("{why}, found \"{}\"", line.trim()),
        };
        let Some((head, event)) = line.split_once(" sched:") else { continue };
        let time = head.trim_end().trim_end_matches(':').rsplit(' ').next().and_then(nanoseconds);
        let now = time.ok_or_else(|| wrong("expected seconds before the event"))?;
        if now < last {
            return Err(wrong("expected events in the order of their times"));
        }
        let first = *first.get_or_insert(now);
        last = now;
        if let Some(body) = event.strip_prefix("sched_switch: ") {
            let (from, to) = switch(body).ok_or_else(|| wrong("expected two tasks of a switch"))?;
            if from.pid != 0 {
                let task = tasks.entry(from.pid).or_default();
                task.name = from.name;
                task.leaves(now, from.is_runnable, first);
            }
            if to.pid != 0 {
                let task = tasks.entry(to.pid).or_default();
                task.name = to.name;
                task.begins(now);
            }
        } else if let Some(body) =
            event.strip_prefix("sched_wak").and_then(|it| Some(it.split_once(": ")?.1))
        {
            let woken = named(body, "").or_else(|| plain(body));
            let woken = woken.ok_or_else(|| wrong("expected the task that is woken"))?;
            tasks.entry(woken.pid).or_default().wakes(now);
        }
    }
    let first = first.ok_or_else(|| ScheduleError::File {
        line: 1,
        why: "expected events sched:sched_switch as `perf script` prints them, found none"
            .to_owned(),
    })?;
    let mut load = Load { operation: "tasks".to_owned(), ..Load::default() };
    for (pid, mut task) in tasks {
        let Some(start) = task.start else { continue };
        if let Some(begin) = task.running {
            task.worked += last.saturating_sub(begin);
        }
        task.steps.push(Step::Run(Amount::Fixed(task.worked)));
        let program = load.program(&format!("{} ({pid})", task.name), &task.name, task.steps);
        load.tasks.push(TaskSpec { start: start - first, ..TaskSpec::of(program) });
    }
    Ok(load)
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

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("nothing of it\n", 1),
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
