//! A JSON file of rt-app: threads with phases of events, in the order in which they stand there.
//!
//! Of its events `run`, `runtime`, `sleep`, `timer`, `lock`, `unlock`, `suspend` and `resume` are read;
//! whatever else would change the schedule is refused. Times are in microseconds, as there.
//!
//! A timer is relative, as by default there: who is late does not sleep, and its next period begins at once.
//! `resume` is a broadcast on a condition variable: all that are suspended go on, and none that comes later.

use std::fmt;
use std::sync::Arc;

use corun_machine::CpuSet;
use json_comments::StripComments;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LoadEntry, Make};
use crate::schedule::ScheduleError;
use crate::schedule::program::{Amount, Load, Step, TaskSpec};

pub(super) const ENTRY: LoadEntry =
    LoadEntry { name: "rt-app", summary: "a JSON file of rt-app", make: Make::File(read) };

/// JSON whose objects keep their order.
#[derive(Debug, Clone)]
enum Json {
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    Other,
}

/// The field of threads and phases that is for readers.
const COMMENT: &str = "comment";
/// The only policy that is simulated: what shares by weight.
const POLICY: &str = "SCHED_OTHER";
/// The fields of a thread that are no events.
const OF_THREADS: [&str; 7] = ["instance", "loop", "cpus", "delay", "priority", "policy", "phases"];
/// Timers whose names begin with this are each thread's own.
const UNIQUE: &str = "unique";
const EVENTS: &str = "run, runtime, sleep, timer, lock, unlock, suspend, resume";

fn read(text: &str) -> Result<Load, ScheduleError> {
    // rt-app's own examples have comments, which it skips.
    let json: Json = serde_json::from_reader(StripComments::new(text.as_bytes()))
        .map_err(|error| ScheduleError::File { line: error.line(), why: error.to_string() })?;
    load(&json).map_err(|why| ScheduleError::File { line: 1, why })
}

fn load(json: &Json) -> Result<Load, String> {
    let tasks = json.get("tasks").and_then(Json::object);
    let tasks = tasks.ok_or("expected an object `tasks`, found none")?;
    let global = |field: &str| json.get("global").and_then(|global| global.get(field));
    if let Some(policy) = global("default_policy") {
        check_policy(policy).map_err(|why| format!("`global.default_policy`: {why}"))?;
    }
    let mut builder = Builder::default();
    for (name, task) in tasks {
        builder.thread(name, task).map_err(|why| format!("task \"{name}\": {why}"))?;
    }
    let Builder { mut load, locks, signals, .. } = builder;
    let is_suspended = |signal: usize| {
        load.programs.iter().any(|program| program.steps.contains(&Step::Suspend(signal)))
    };
    if let Some(signal) = (0..signals.len()).find(|&signal| !is_suspended(signal)) {
        return Err(format!(
            "`resume`: expected a name for which a task is suspended, found \"{}\"",
            signals[signal]
        ));
    }
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
    let is_endless = |step: &Step| *step == Step::Repeat(None);
    let has_endless = load.programs.iter().any(|it| it.steps.iter().any(is_endless));
    if has_endless && load.until.is_none() {
        return Err(
            "expected `global.duration` in seconds, since a thread's loop has no end".to_owned()
        );
    }
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
    locks: Vec<String>,
    signals: Vec<String>,
    /// Timers that several threads could use.
    timers: Vec<String>,
}

impl Builder {
    fn thread(&mut self, name: &str, task: &Json) -> Result<(), String> {
        let fields = task.object().ok_or("expected an object")?;
        if let Some(policy) = task.get("policy") {
            check_policy(policy).map_err(|why| format!("`policy`: {why}"))?;
        }
        let instances = whole(task, "instance", 1)?;
        if !(1..=1_000_000).contains(&instances) {
            return Err(format!("`instance`: expected 1 to a million, found {instances}"));
        }
        let mut steps = vec![Step::Repeat(times(task, -1)?)];
        let mut events: Vec<&(String, Json)> =
            fields.iter().filter(|(field, _)| !OF_THREADS.contains(&field.as_str())).collect();
        events.retain(|(field, _)| field != COMMENT);
        let mut timer = None;
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
                    self.events(&fields, &mut timer, &mut steps).map_err(wrong)?;
                    steps.push(Step::End);
                }
            }
            None => self.events(&events, &mut timer, &mut steps)?,
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
                    .map(Json::cpu)
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
        fields: &[&(String, Json)],
        timer: &mut Option<String>,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        for (name, value) in fields {
            // Events of one kind have numbers behind their names.
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
                "suspend" => steps.push(Step::Suspend(place(&mut self.signals, text()?))),
                "resume" => steps.push(Step::Resume(place(&mut self.signals, text()?))),
                _ => return Err(format!("expected one of {EVENTS}, found \"{name}\"")),
            }
        }
        Ok(())
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

/// How often a thread or a phase is done.
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

impl Json {
    fn object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(fields) = self { Some(fields) } else { None }
    }

    fn get(&self, name: &str) -> Option<&Self> {
        self.object()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn cpu(&self) -> Option<u32> {
        self.whole().filter(|number| (0..65_536).contains(number)).map(|number| number as u32)
    }

    fn whole(&self) -> Option<i64> {
        match *self {
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some(number as i64)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "\"{text}\""),
            Self::List(list) => {
                let list: Vec<String> = list.iter().map(Self::to_string).collect();
                write!(formatter, "[{}]", list.join(", "))
            }
            Self::Object(_) => formatter.write_str("an object"),
            Self::Other => formatter.write_str("no number, text, list or object"),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Json::Object(object))
    }
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

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        for (text, expected) in [
            ("{", "EOF"),
            ("[]", "expected an object `tasks`"),
            (r#"{"tasks":{"a":{"run":1}}}"#, "global.duration"),
            (r#"{"tasks":{"a":{"loop":1,"barrier":"x"}}}"#, "found \"barrier\""),
            (r#"{"tasks":{"a":{"loop":1,"run":-1}}}"#, "expected microseconds"),
            (
                r#"{"tasks":{"a":{"loop":1,"resume":"x"}}}"#,
                "expected a name for which a task is suspended",
            ),
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
