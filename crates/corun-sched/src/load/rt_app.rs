//! A JSON file of rt-app: threads with phases of events, in the order in which they stand there.
//!
//! The events that only compute, wait and wake are read; whatever else would change the schedule is refused.
//! Times are in microseconds, as there. A name that stands twice is two events, as `doc/workgen` makes it.
//!
//! A timer is relative, as by default there: who is late does not sleep, and its next period begins at once.
//! A condition variable keeps nothing: `resume` and `broad` wake all that wait, `signal` the first of them,
//! and none that comes later; where none waits under a name they do nothing, as there.

use std::collections::BTreeMap;
use std::sync::Arc;

use corun_machine::CpuSet;

use super::json::{self, Json};
use super::{LoadEntry, Make};
use crate::ScheduleError;
use crate::program::{Amount, Load, QueueSpec, Step, TaskSpec};

pub(super) const ENTRY: LoadEntry =
    LoadEntry { name: "rt-app", summary: "a JSON file of rt-app", make: Make::File(read) };

/// The field of threads and phases that is for readers.
const COMMENT: &str = "comment";
/// The only policy that is simulated: what shares by weight.
const POLICY: &str = "SCHED_OTHER";
/// The fields of a thread that are no events.
const OF_THREADS: [&str; 7] = ["instance", "loop", "cpus", "delay", "priority", "policy", "phases"];
/// Timers whose names begin with this are each thread's own.
const UNIQUE: &str = "unique";
const EVENTS: &str = "run, runtime, sleep, timer, lock, unlock, wait, signal, broad, sync, suspend, resume, \
                      barrier, sem_wait, sem_post, fork";

/// Features of rt-app that the model does not simulate, with what each would need.
const NOT_SIMULATED: [(&str, &str); 11] = [
    ("memrun", "an access to memory, which has no known time; `run` has one"),
    ("mem", "an access to memory, which has no known time; `run` has one"),
    ("iorun", "an access to a device, which has no known time; `sleep` has one"),
    ("yield", "giving the CPU away"),
    ("taskgroup", "control groups"),
    ("nodes_membind", "NUMA memory"),
    ("util_", "utilization clamps"),
    ("dl-", "deadlines and slices of a task's own"),
    ("cpus", "a set of CPUs that changes from phase to phase"),
    ("priority", "a nice value that changes from phase to phase"),
    ("policy", "a policy that changes from phase to phase"),
];

fn read(text: &str) -> Result<Load, ScheduleError> {
    let json = json::parse(text).map_err(|(line, why)| ScheduleError::File { line, why })?;
    load(&json).map_err(|why| ScheduleError::File { line: 1, why })
}

fn load(json: &Json) -> Result<Load, String> {
    let tasks = json.get("tasks").and_then(Json::object);
    let tasks = tasks.ok_or(
        "expected an object `tasks`, found none (rt-app's doc/merge.py joins files of parts)",
    )?;
    let global = |field: &str| json.get("global").and_then(|global| global.get(field));
    if let Some(policy) = global("default_policy") {
        check_policy(policy).map_err(|why| format!("`global.default_policy`: {why}"))?;
    }
    let mut builder = Builder::of(tasks, false)?;
    if builder.are_names_of_suspend_meant() {
        builder = Builder::of(tasks, true)?;
    }
    let Builder { mut load, locks, signals, .. } = builder;
    (load.locks, load.signals) = (locks.len(), signals.len());
    load.until = match global("duration") {
        None => None,
        Some(duration) => match duration.whole() {
            Some(-1) => None,
            Some(seconds @ 1..=1_000_000_000) => Some(seconds as u64 * 1_000_000_000),
            _ => {
                return Err(format!(
                    "`global.duration`: expected whole seconds from 1, or -1, found {duration}"
                ));
            }
        },
    };
    Ok(load)
}

fn check_policy(policy: &Json) -> Result<(), String> {
    match policy {
        Json::Text(policy) if policy == POLICY => Ok(()),
        found => Err(format!("expected {POLICY}, the only one that is simulated, found {found}")),
    }
}

#[derive(Default)]
struct Builder {
    load: Load,
    /// The tasks of the file, whose programs have the same places.
    names: Vec<String>,
    locks: Vec<String>,
    signals: Vec<String>,
    semaphores: Vec<String>,
    /// Timers that several threads could use.
    timers: Vec<String>,
    /// True if `suspend` waits under the name that is its value, as in rt-app up to May 2025 (commit 32fcddf);
    /// since then it waits under the name of its thread, whatever stands there.
    is_suspended_by_value: bool,
    /// The values of `suspend`.
    values_of_suspend: Vec<String>,
    /// Threads that meet at each barrier, by the place of its signal.
    meetings: BTreeMap<usize, usize>,
}

impl Builder {
    fn of(tasks: &[(String, Json)], is_suspended_by_value: bool) -> Result<Self, String> {
        let names = tasks.iter().map(|(name, _)| name.clone()).collect();
        let mut builder = Self { names, is_suspended_by_value, ..Self::default() };
        for (name, task) in tasks {
            builder.thread(name, task).map_err(|why| format!("task \"{name}\": {why}"))?;
        }
        let steps = builder.load.programs.iter_mut().flat_map(|program| &mut program.steps);
        for step in steps {
            if let Step::Meet(place, count) = step {
                *count = builder.meetings[place];
            }
        }
        Ok(builder)
    }

    /// True if something is resumed under whose name only a value of `suspend` stands: the file is for an
    /// rt-app in which that counted.
    fn are_names_of_suspend_meant(&self) -> bool {
        let steps = || self.load.programs.iter().flat_map(|program| &program.steps);
        self.values_of_suspend.iter().any(|name| {
            let place = self.signals.iter().position(|known| known == name);
            place.is_some_and(|place| {
                steps().any(|step| *step == Step::Resume(place))
                    && !steps().any(|step| *step == Step::Suspend(place))
            })
        })
    }

    fn thread(&mut self, name: &str, task: &Json) -> Result<(), String> {
        let fields = task.object().ok_or("expected an object")?;
        if let Some(policy) = task.get("policy") {
            check_policy(policy).map_err(|why| format!("`policy`: {why}"))?;
        }
        let instances = whole(task, "instance", 1)?;
        if !(0..=1_000_000).contains(&instances) {
            return Err(format!("`instance`: expected 0 to a million, found {instances}"));
        }
        let mut steps = vec![Step::Repeat(times(task, -1)?)];
        let mut events: Vec<&(String, Json)> =
            fields.iter().filter(|(field, _)| !OF_THREADS.contains(&field.as_str())).collect();
        events.retain(|(field, _)| field != COMMENT);
        let mut timer = None;
        let thread = (name, instances as usize);
        match task.get("phases") {
            Some(phases) => {
                let phases = phases.object().ok_or(format!(
                    "`phases`: expected an object of phases by their names, found {phases}"
                ))?;
                if let Some((event, _)) = events.first() {
                    return Err(format!("expected events within the phases, found \"{event}\""));
                }
                for (phase, body) in phases {
                    let wrong = |why: String| format!("phase \"{phase}\": {why}");
                    let fields =
                        body.object().ok_or_else(|| wrong("expected an object".to_owned()))?;
                    let fields: Vec<&(String, Json)> = (fields.iter())
                        .filter(|(field, _)| field != "loop" && field != COMMENT)
                        .collect();
                    steps.push(Step::Repeat(times(body, 1).map_err(wrong)?));
                    self.events(thread, &fields, &mut timer, &mut steps).map_err(wrong)?;
                    steps.push(Step::End);
                }
            }
            None => self.events(thread, &events, &mut timer, &mut steps)?,
        }
        if let Some(timer) = timer.filter(|timer| !timer.starts_with(UNIQUE)) {
            if instances > 1 || self.timers.contains(&timer) {
                return Err(format!(
                    "expected a timer of each thread's own, with a `ref` that begins with \"{UNIQUE}\", \
                     found \"{timer}\" for several"
                ));
            }
            self.timers.push(timer);
        }
        steps.push(Step::End);
        let program = self.load.program(name, name, steps);
        let cpus = match task.get("cpus") {
            None => None,
            Some(list @ Json::List(cpus)) if !cpus.is_empty() => Some(
                cpus.iter()
                    .map(cpu)
                    .collect::<Option<CpuSet>>()
                    .ok_or(format!("`cpus`: expected whole numbers of CPUs, found {list}"))?,
            ),
            Some(found) => {
                return Err(format!("`cpus`: expected a list of numbers of CPUs, found {found}"));
            }
        };
        let nice = whole(task, "priority", 0)?;
        if !(-20..=19).contains(&nice) {
            return Err(format!("`priority`: expected a nice value from -20 to 19, found {nice}"));
        }
        let start = task.get("delay").map_or(Ok(0), |delay| time("delay", delay))?;
        let spec = TaskSpec {
            start,
            affinity: cpus.map(Arc::new),
            nice: nice as i8,
            ..TaskSpec::of(program)
        };
        self.load.tasks.extend(std::iter::repeat_n(spec, instances as usize));
        Ok(())
    }

    /// `timer` is the name of the thread's timer, once it has one.
    fn events(
        &mut self,
        (task, instances): (&str, usize),
        fields: &[&(String, Json)],
        timer: &mut Option<String>,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        for (name, value) in fields {
            // Events of one kind have numbers after their names.
            let event = name.trim_end_matches(|it: char| it.is_ascii_digit());
            let work = || time(name, value).map(Amount::Fixed);
            let text = || match value {
                Json::Text(text) => Ok(text.as_str()),
                _ => Err(format!("`{name}`: expected a name, found {value}")),
            };
            match event {
                "run" | "runtime" => steps.push(Step::Run(work()?)),
                "sleep" => steps.push(Step::Sleep(work()?)),
                "timer" => steps.push(period(name, value, timer)?),
                "lock" => steps.push(Step::Lock(place(&mut self.locks, text()?))),
                "unlock" => steps.push(Step::Unlock(place(&mut self.locks, text()?))),
                "suspend" => {
                    let value = if let Json::Text(value) = value { value.as_str() } else { "" };
                    self.values_of_suspend.push(value.to_owned());
                    let is_by_value = self.is_suspended_by_value && !value.is_empty();
                    let under = if is_by_value { value } else { task };
                    steps.push(Step::Suspend(place(&mut self.signals, under)));
                }
                "barrier" => {
                    // A name of its own, whatever else waits under the same.
                    let signal = place(&mut self.signals, &format!("barrier {}", text()?));
                    *self.meetings.entry(signal).or_default() += instances;
                    steps.push(Step::Meet(signal, 0));
                }
                "resume" | "broad" => {
                    steps.push(Step::Resume(place(&mut self.signals, text()?)));
                }
                "signal" => steps.push(Step::Notify(place(&mut self.signals, text()?))),
                "wait" | "sync" => {
                    let [signal, lock] = condition(name, value)?;
                    let signal = place(&mut self.signals, signal);
                    let lock = place(&mut self.locks, lock);
                    steps.extend((event == "sync").then_some(Step::Notify(signal)));
                    steps.extend([Step::Unlock(lock), Step::Suspend(signal), Step::Lock(lock)]);
                }
                "sem_wait" => steps.push(Step::Receive(self.semaphore(text()?))),
                "sem_post" => steps.push(Step::Send(self.semaphore(text()?))),
                "fork" => steps.push(Step::Fork(self.forked(name, text()?)?)),
                _ => return Err(unknown(name)),
            }
        }
        Ok(())
    }

    /// A semaphore is a queue that holds any number of messages.
    fn semaphore(&mut self, name: &str) -> usize {
        let place = place(&mut self.semaphores, name);
        while self.load.queues.len() <= place {
            self.load.queue(QueueSpec::default());
        }
        place
    }

    /// The program of a task that another starts.
    fn forked(&self, event: &str, name: &str) -> Result<usize, String> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            format!(
                "`{event}`: expected one of the tasks ({}), found \"{name}\"",
                self.names.join(", ")
            )
        })
    }
}

/// Condition that `wait` waits for, and the lock that it gives back meanwhile.
fn condition<'a>(event: &str, value: &'a Json) -> Result<[&'a str; 2], String> {
    let text = |field: &str| match value.get(field) {
        Some(Json::Text(text)) => Ok(text.as_str()),
        _ => Err(format!(
            "`{event}`: expected an object with the names `ref` and `mutex`, found {value}"
        )),
    };
    Ok([text("ref")?, text("mutex")?])
}

/// Why a field is refused.
fn unknown(name: &str) -> String {
    match NOT_SIMULATED.iter().find(|(known, _)| name.starts_with(known)) {
        Some((_, what)) => {
            format!("expected one of {EVENTS}, found \"{name}\", which is not simulated ({what})")
        }
        None => format!(
            "expected one of {EVENTS}, found \"{name}\", which rt-app leaves out: take it out, or name it \"{COMMENT}\""
        ),
    }
}

/// A timer of a thread that has no other.
fn period(name: &str, value: &Json, timer: &mut Option<String>) -> Result<Step, String> {
    let fields = value.object().ok_or(format!("`{name}`: expected an object, found {value}"))?;
    let mut period = None;
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("period", value) => period = Some(time(name, value)?.max(1)),
            ("ref", Json::Text(reference)) => {
                let known = timer.get_or_insert_with(|| reference.clone());
                if known != reference {
                    return Err(format!(
                        "`{name}`: expected one timer a thread (\"{known}\"), found \"{reference}\""
                    ));
                }
            }
            ("mode", Json::Text(mode)) if mode == "relative" => {}
            (field, value) => {
                return Err(format!(
                    "`{name}`: expected `ref`, `period` and the mode \"relative\", found \"{field}\": {value}"
                ));
            }
        }
    }
    period.map(Step::Period).ok_or_else(|| format!("`{name}`: expected a `period` in microseconds"))
}

fn place(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Repeats of a thread or a phase.
fn times(of: &Json, default: i64) -> Result<Option<u64>, String> {
    whole(of, "loop", default).map(|times| u64::try_from(times).ok())
}

fn whole(of: &Json, field: &str, default: i64) -> Result<i64, String> {
    of.get(field).map_or(Ok(default), |value| {
        value.whole().ok_or_else(|| format!("`{field}`: expected a whole number, found {value}"))
    })
}

fn time(field: &str, value: &Json) -> Result<u64, String> {
    match *value {
        Json::Number(number) => microseconds(number).map_err(|why| format!("`{field}`: {why}")),
        _ => Err(format!("`{field}`: expected microseconds, found {value}")),
    }
}

fn microseconds(number: f64) -> Result<u64, String> {
    match number {
        0.0..=1e12 => Ok((number * 1e3) as u64),
        _ => Err(format!("expected microseconds from 0 to 10^12, found {number}")),
    }
}

fn cpu(number: &Json) -> Option<u32> {
    number.whole().filter(|number| (0..65_536).contains(number)).map(|number| number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_order() {
        let load = read(
            r#"{ /* as in
                rt-app's examples */ "global":{"duration":2,"calibration":"CPU0"},"tasks":{ // threads
                "b":{"policy":"SCHED_OTHER","comment":"x","instance":2,"loop":-1,"cpus":[0,1],"run1":1000,"sleep":500,"run0":20,"suspend":"b","timer":{"ref":"unique","period":16000}},
                "a":{"loop":3,"phases":{"p":{"loop":2,"lock":"m","run":5,"unlock":"m"},"q":{"resume":"b"}}}}}"#,
        )
        .unwrap();
        let run = |us: u64| Step::Run(Amount::Fixed(us * 1_000));
        assert_eq!(
            load.programs[0].steps,
            [
                Step::Repeat(None),
                run(1_000),
                Step::Sleep(Amount::Fixed(500_000)),
                run(20),
                Step::Suspend(0),
                Step::Period(16_000_000),
                Step::End
            ]
        );
        let phase = [Step::Repeat(Some(2)), Step::Lock(0), run(5), Step::Unlock(0), Step::End];
        assert_eq!(load.programs[1].steps[1..6], phase);
        assert_eq!((load.tasks.len(), load.until), (3, Some(2_000_000_000)));
        assert!(load.check().is_ok());
    }

    /// The dialect of rt-app's own examples.
    #[test]
    fn the_dialect_of_its_examples_is_read() {
        let load = read(
            r#"{ "tasks" : { "t" : { "loop" : 2, 'run' : 1000, "suspend", "sleep" : 2000 }, },
                 "global" : { "duration" : 2, "gnuplot" : true, } } trailing"#,
        )
        .unwrap();
        assert_eq!((load.tasks.len(), load.until), (1, Some(2_000_000_000)));
        assert_eq!(load.programs[0].steps[2], Step::Suspend(0));
    }

    /// A producer and a consumer by a condition variable, one by a semaphore, and one that is started.
    #[test]
    fn threads_wait_for_each_other() {
        let load = read(
            r#"{"tasks":{
                "eats":{"loop":1,"lock":"m","wait":{"ref":"full","mutex":"m"},"unlock":"m","sem_wait":"s","run":10},
                "cooks":{"loop":1,"sleep":1000,"lock":"m","signal":"full","unlock":"m","sem_post":"s","fork":"cleans"},
                "cleans":{"instance":0,"loop":1,"run":20}}}"#,
        )
        .unwrap();
        let eats =
            [Step::Lock(0), Step::Unlock(0), Step::Suspend(0), Step::Lock(0), Step::Unlock(0)];
        assert_eq!(load.programs[0].steps[1..6], eats);
        assert_eq!(load.programs[0].steps[6], Step::Receive(0));
        let cooks = [Step::Lock(0), Step::Notify(0), Step::Unlock(0), Step::Send(0), Step::Fork(2)];
        assert_eq!(load.programs[1].steps[2..7], cooks);
        assert_eq!((load.tasks.len(), load.programs.len()), (2, 3));
        assert!(load.check().is_ok());
    }

    /// Up to May 2025 the value of `suspend` was the name, as in rt-app's own browser-short.json and
    /// video-short.json; where no thread waits under a name, `resume` does nothing.
    #[test]
    fn threads_are_suspended_under_the_name_that_is_resumed() {
        let of = |resumed: &str| {
            let text = format!(
                r#"{{"tasks":{{
                    "main":{{"loop":1,"run":1,"resume":"{resumed}"}},
                    "sub":{{"loop":1,"suspend":"group","run":1}},
                    "other":{{"loop":1,"suspend","run":1}}}}}}"#
            );
            let load = read(&text).unwrap();
            assert!(load.check().is_ok());
            let woken = |program: usize| match load.programs[0].steps[2] {
                Step::Resume(signal) => load.programs[program].steps[1] == Step::Suspend(signal),
                _ => panic!("{:?}", load.programs[0].steps),
            };
            [woken(1), woken(2)]
        };
        assert_eq!(of("sub"), [true, false]);
        assert_eq!(of("group"), [true, false]);
        assert_eq!(of("other"), [false, true]);
        assert_eq!(of("nobody"), [false, false]);
    }

    /// All instances of all tasks that name a barrier wait for each other.
    #[test]
    fn threads_meet_at_a_barrier() {
        let load = read(
            r#"{"tasks":{
                "a":{"loop":1,"instance":2,"run":1,"barrier1":"FIRST"},
                "b":{"loop":1,"barrier":"FIRST","run":1,"barrier2":"SECOND"}}}"#,
        )
        .unwrap();
        assert_eq!(load.programs[0].steps[2], Step::Meet(0, 3));
        assert_eq!(load.programs[1].steps[1], Step::Meet(0, 3));
        assert_eq!(load.programs[1].steps[3], Step::Meet(1, 1));
        assert!(load.check().is_ok());
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        for (text, expected) in [
            ("{", "found the end of the file"),
            ("[]", "expected an object `tasks`"),
            (r#"{"tasks":{"a":{"loop":1,"yield":""}}}"#, "found \"yield\", which is not simulated"),
            (r#"{"tasks":{"a":{"loop":1,"mem":9}}}"#, "which has no known time"),
            (r#"{"tasks":{"a":{"loop":1,"exec":9}}}"#, "found \"exec\", which rt-app leaves out"),
            (
                r#"{"tasks":{"a":{"loop":1,"fork":"b"}}}"#,
                "expected one of the tasks (a), found \"b\"",
            ),
            (r#"{"tasks":{"a":{"loop":1,"wait":"b"}}}"#, "with the names `ref` and `mutex`"),
            (r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"taskgroup":"/a"}}}}}"#, "(control groups)"),
            (r#"{"tasks":{"a":{"loop":1,"run":-1}}}"#, "expected microseconds"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"policy":"SCHED_FIFO"}}}"#, "found \"SCHED_FIFO\""),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"priority":90}}}"#, "expected a nice value"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"dl-runtime":9}}}"#, "found \"dl-runtime\""),
            (r#"{"tasks":{"a":{"loop":"9","run":1}}}"#, "`loop`: expected a whole number"),
            (r#"{"tasks":{"a":{"loop":1.5,"run":1}}}"#, "found 1.5"),
            (r#"{"tasks":{"a":{"loop":1,"instance":1.5,"run":1}}}"#, "`instance`"),
            (r#"{"tasks":{"a":{"loop":1,"cpus":[],"run":1}}}"#, "`cpus`"),
            (r#"{"tasks":{"a":{"loop":1,"cpus":[0.5],"run":1}}}"#, "found [0.5]"),
            (r#"{"tasks":{"a":{"loop":1,"phases":[{"run":1}]}}}"#, "`phases`: expected an object"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"phases":{"p":{"run":1}}}}}"#, "within the phases"),
            (r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"run":1,"cpus":[0]}}}}}"#, "found \"cpus\""),
            (
                r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"run":1,"priority":9}}}}}"#,
                "found \"priority\"",
            ),
            (r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"run":1,"delay":9}}}}}"#, "found \"delay\""),
            (
                r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"run":1,"instance":9}}}}}"#,
                "found \"instance\"",
            ),
            (
                r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"run":1,"loop":"9"}}}}}"#,
                "phase \"p\": `loop`",
            ),
            (
                r#"{"global":{"default_policy":"SCHED_FIFO"},"tasks":{"a":{"loop":1,"run":1}}}"#,
                "default_policy",
            ),
            (r#"{"global":{"duration":"3"},"tasks":{"a":{"run":1}}}"#, "found \"3\""),
            (r#"{"global":{"duration":0.5},"tasks":{"a":{"run":1}}}"#, "found 0.5"),
            (
                r#"{"tasks":{"a":{"loop":1,"run":1,"timer":{"ref":"t","period":9,"mode":"absolute"}}}}"#,
                "found \"mode\"",
            ),
            (
                r#"{"tasks":{"a":{"loop":1,"instance":2,"timer":{"ref":"t","period":9}}}}"#,
                "of each thread's own",
            ),
            (
                r#"{"tasks":{"a":{"loop":1,"timer0":{"ref":"t","period":9},"timer1":{"ref":"u","period":9}}}}"#,
                "one timer a thread",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
