//! A JSON file of rt-app: threads with phases of events, in the order in which they stand there.
//!
//! Of its events `run`, `runtime`, `sleep`, `timer`, `lock`, `unlock`, `suspend` and `resume` are read;
//! whatever else would change the schedule is refused. Times are in microseconds, as there.

use std::fmt;
use std::sync::Arc;

use corun_machine::CpuSet;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LoadEntry, Make};
use crate::schedule::ScheduleError;
use crate::schedule::program::{Amount, Load, QueueSpec, Step, TaskSpec};

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
const EVENTS: &str = "run, runtime, sleep, timer, lock, unlock, suspend, resume";

fn read(text: &str) -> Result<Load, ScheduleError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| ScheduleError::File { line: error.line(), why: error.to_string() })?;
    load(&json).map_err(|why| ScheduleError::File { line: 1, why })
}

fn load(json: &Json) -> Result<Load, String> {
    let tasks = json.get("tasks").and_then(Json::object);
    let tasks = tasks.ok_or("expected an object `tasks`, found none")?;
    let mut builder = Builder { load: Load::default(), locks: Vec::new(), suspended: Vec::new() };
    builder.suspended = tasks.iter().map(|(name, _)| name.clone()).collect();
    builder.load.queues = vec![QueueSpec::default(); tasks.len()];
    for (name, task) in tasks {
        builder.thread(name, task).map_err(|why| format!("task \"{name}\": {why}"))?;
    }
    builder.load.locks = builder.locks.len();
    let duration = json.get("global").and_then(|global| global.get("duration"));
    builder.load.until = match duration {
        Some(&Json::Number(seconds)) if seconds > 0.0 => Some((seconds * 1e9) as u64),
        _ => None,
    };
    let is_endless = |step: &Step| *step == Step::Repeat(None);
    let has_endless = builder.load.programs.iter().any(|it| it.steps.iter().any(is_endless));
    if has_endless && builder.load.until.is_none() {
        return Err(
            "expected `global.duration` in seconds, since a thread's loop has no end".to_owned()
        );
    }
    Ok(builder.load)
}

struct Builder {
    load: Load,
    locks: Vec<String>,
    /// The threads' names; the queue of each has what resumes it.
    suspended: Vec<String>,
}

impl Builder {
    fn thread(&mut self, name: &str, task: &Json) -> Result<(), String> {
        let fields = task.object().ok_or("expected an object")?;
        let number = |field: &str, default: f64| match task.get(field) {
            None => Ok(default),
            Some(&Json::Number(number)) => Ok(number),
            Some(_) => Err(format!("`{field}`: expected a number")),
        };
        let times = number("loop", -1.0)?;
        let mut steps = vec![Step::Repeat((times >= 0.0).then_some(times as u64))];
        match task.get("phases").and_then(Json::object) {
            Some(phases) => {
                for (phase, body) in phases {
                    let fields =
                        body.object().ok_or(format!("phase \"{phase}\": expected an object"))?;
                    let times = match body.get("loop") {
                        Some(&Json::Number(times)) if times < 0.0 => None,
                        Some(&Json::Number(times)) => Some(times as u64),
                        _ => Some(1),
                    };
                    steps.push(Step::Repeat(times));
                    self.events(name, fields, &mut steps)?;
                    steps.push(Step::End);
                }
            }
            None => self.events(name, fields, &mut steps)?,
        }
        steps.push(Step::End);
        let program = self.load.program(name, name, steps);
        let cpus = match task.get("cpus") {
            None => None,
            Some(Json::List(cpus)) => Some(
                cpus.iter()
                    .map(Json::cpu)
                    .collect::<Option<CpuSet>>()
                    .ok_or("`cpus`: expected numbers of CPUs")?,
            ),
            Some(_) => return Err("`cpus`: expected a list of numbers".to_owned()),
        };
        let nice = number("priority", 0.0)?;
        if !(-20.0..=19.0).contains(&nice) || nice.fract() != 0.0 {
            return Err(format!("`priority`: expected a nice value from -20 to 19, found {nice}"));
        }
        let spec = TaskSpec {
            start: microseconds(number("delay", 0.0)?)?,
            affinity: cpus.map(Arc::new),
            nice: nice as i8,
            ..TaskSpec::of(program)
        };
        let instances = number("instance", 1.0)?;
        if !(1.0..=1e6).contains(&instances) {
            return Err(format!("`instance`: expected 1 to a million, found {instances}"));
        }
        self.load.tasks.extend(std::iter::repeat_n(spec, instances as usize));
        Ok(())
    }

    fn events(
        &mut self,
        thread: &str,
        fields: &[(String, Json)],
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        for (name, value) in fields {
            // Events of one kind have numbers behind their names.
            let event = name.trim_end_matches(|it: char| it.is_ascii_digit());
            let time = || match value {
                &Json::Number(time) => microseconds(time).map(Amount::Fixed),
                _ => Err(format!("`{name}`: expected microseconds")),
            };
            let text = || match value {
                Json::Text(text) => Ok(text.clone()),
                _ => Err(format!("`{name}`: expected a name")),
            };
            match event {
                "run" | "runtime" => steps.push(Step::Run(time()?)),
                "sleep" => steps.push(Step::Sleep(time()?)),
                "timer" => match value.get("period") {
                    Some(&Json::Number(period)) => {
                        steps.push(Step::Period(microseconds(period)?.max(1)))
                    }
                    _ => return Err(format!("`{name}`: expected a `period` in microseconds")),
                },
                "lock" => steps.push(Step::Lock(self.lock(text()?))),
                "unlock" => steps.push(Step::Unlock(self.lock(text()?))),
                "suspend" => steps.push(Step::Receive(self.queue(thread)?)),
                "resume" => steps.push(Step::Send(self.queue(&text()?)?)),
                "instance" | "loop" | "cpus" | "delay" | "priority" | "phases" => {}
                "policy" if text()? == POLICY => {}
                "policy" => {
                    return Err(format!(
                        "`policy`: expected {POLICY}, the only one that is simulated, found {}",
                        text()?
                    ));
                }
                COMMENT => {}
                _ => return Err(format!("expected one of {EVENTS}, found \"{name}\"")),
            }
        }
        Ok(())
    }

    fn lock(&mut self, name: String) -> usize {
        self.locks.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.locks.push(name);
            self.locks.len() - 1
        })
    }

    fn queue(&self, thread: &str) -> Result<usize, String> {
        let place = self.suspended.iter().position(|known| known == thread);
        place.ok_or_else(|| {
            format!("expected a task to resume ({}), found \"{thread}\"", self.suspended.join(", "))
        })
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
        match *self {
            Self::Number(number) if (0.0..65_536.0).contains(&number) => Some(number as u32),
            _ => None,
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
            r#"{"global":{"duration":2,"calibration":"CPU0"},"tasks":{
                "b":{"policy":"SCHED_OTHER","comment":"x","instance":2,"loop":-1,"cpus":[0,1],"run1":1000,"sleep":500,"run0":20,"timer":{"ref":"t","period":16000}},
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
            (r#"{"tasks":{"a":{"loop":1,"resume":"x"}}}"#, "expected a task to resume"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"policy":"SCHED_FIFO"}}}"#, "found SCHED_FIFO"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"priority":90}}}"#, "expected a nice value"),
            (r#"{"tasks":{"a":{"loop":1,"run":1,"dl-runtime":9}}}"#, "found \"dl-runtime\""),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
