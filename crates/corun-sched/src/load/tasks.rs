//! A file of tasks, in TOML: programs of steps, and who runs them.

use std::sync::Arc;

use corun_machine::CpuSet;
use serde::Deserialize;
use toml::Spanned;

use super::values::time;
use super::{LoadEntry, Make};
use crate::ScheduleError;
use crate::program::{Amount, Load, QueueSpec, Step, TaskSpec};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "tasks",
    summary: "tasks of a TOML file (format corun-tasks)",
    make: Make::File(read),
};

const FORMAT: &str = "corun-tasks";
/// Copies of a task beyond this are refused.
const MAX_COPIES: usize = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<String>,
    version: u32,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    queue: Vec<FileQueue>,
    program: Vec<Spanned<FileProgram>>,
    task: Vec<Spanned<FileTask>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQueue {
    name: String,
    capacity: Option<u32>,
    #[serde(default)]
    initial: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileProgram {
    name: String,
    kind: Option<String>,
    #[serde(default)]
    daemon: bool,
    steps: Vec<FileStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask {
    program: String,
    #[serde(default = "one")]
    copies: usize,
    start: Option<String>,
    cpus: Option<String>,
    #[serde(default)]
    cookie: u32,
    #[serde(default)]
    nice: i8,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FileStep {
    Run(FileAmount),
    Sleep(FileAmount),
    Disk { name: String, time: FileAmount },
    Lock(String),
    Unlock(String),
    Send(String),
    Receive(String),
    Fork(String),
    Join,
    Begin,
    Done,
    Repeat { times: Option<u64>, steps: Vec<FileStep> },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FileAmount {
    Fixed(String),
    Uniform([String; 2]),
    Exponential { exponential: String },
}

fn one() -> usize {
    1
}

/// Names that stand for places.
#[derive(Default)]
struct Names {
    programs: Vec<String>,
    queues: Vec<String>,
    locks: Vec<String>,
    disks: Vec<String>,
}

fn read(text: &str) -> Result<Load, ScheduleError> {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let wrong = |at: usize, why: String| ScheduleError::File { line: line(at), why };
    let file: File = toml::from_str(text).map_err(|error| {
        wrong(error.span().map_or(0, |span| span.start), error.message().to_owned())
    })?;
    if (file.format.as_ref().as_str(), file.version) != (FORMAT, 1) {
        let found = format!("\"{}\" of version {}", file.format.as_ref(), file.version);
        let why = format!("expected format \"{FORMAT}\" of version 1, found {found}");
        return Err(wrong(file.format.span().start, why));
    }
    let mut names = Names {
        programs: file.program.iter().map(|it| it.as_ref().name.clone()).collect(),
        queues: file.queue.iter().map(|it| it.name.clone()).collect(),
        ..Names::default()
    };
    let mut load = Load { operation: file.operation, ..Load::default() };
    for FileQueue { capacity, initial, .. } in file.queue {
        load.queue(QueueSpec { capacity, initial });
    }
    for program in file.program {
        let at = program.span().start;
        let FileProgram { name, kind, daemon, steps } = program.into_inner();
        let mut body = Vec::new();
        names
            .steps(steps, &mut body)
            .map_err(|why| wrong(at, format!("program \"{name}\": {why}")))?;
        let kind = kind.unwrap_or_else(|| name.clone());
        let place = load.program(&name, &kind, body);
        load.programs[place].is_daemon = daemon;
    }
    (load.locks, load.disks) = (names.locks.len(), names.disks.len());
    for task in file.task {
        let at = task.span().start;
        let (spec, copies) = names.task(task.into_inner()).map_err(|why| wrong(at, why))?;
        load.tasks.extend(std::iter::repeat_n(spec, copies));
    }
    Ok(load)
}

impl Names {
    fn task(&self, task: FileTask) -> Result<(TaskSpec, usize), String> {
        if !(1..=MAX_COPIES).contains(&task.copies) {
            return Err(format!("`copies`: expected 1 to {MAX_COPIES}, found {}", task.copies));
        }
        if !(-20..=19).contains(&task.nice) {
            return Err(format!("`nice`: expected -20 to 19, found {}", task.nice));
        }
        let cpus = task.cpus.map(|list| CpuSet::from_list(&list)).transpose();
        let spec = TaskSpec {
            start: task
                .start
                .map_or(Ok(0), |start| time(&start))
                .map_err(|it| format!("`start`: {it}"))?,
            affinity: cpus.map_err(|error| format!("`cpus`: {error}"))?.map(Arc::new),
            cookie: task.cookie,
            nice: task.nice,
            ..TaskSpec::of(known("program", &task.program, &self.programs)?)
        };
        Ok((spec, task.copies))
    }

    fn steps(&mut self, steps: Vec<FileStep>, body: &mut Vec<Step>) -> Result<(), String> {
        for step in steps {
            let step = match step {
                FileStep::Run(amount) => Step::Run(amount.read()?),
                FileStep::Sleep(amount) => Step::Sleep(amount.read()?),
                FileStep::Disk { name, time } => {
                    Step::Disk(place(&mut self.disks, name), time.read()?)
                }
                FileStep::Lock(name) => Step::Lock(place(&mut self.locks, name)),
                FileStep::Unlock(name) => Step::Unlock(place(&mut self.locks, name)),
                FileStep::Send(name) => Step::Send(known("queue", &name, &self.queues)?),
                FileStep::Receive(name) => Step::Receive(known("queue", &name, &self.queues)?),
                FileStep::Fork(name) => Step::Fork(known("program", &name, &self.programs)?),
                FileStep::Join => Step::Join,
                FileStep::Begin => Step::Begin,
                FileStep::Done => Step::Done,
                FileStep::Repeat { times, steps } => {
                    body.push(Step::Repeat(times));
                    self.steps(steps, body)?;
                    Step::End
                }
            };
            body.push(step);
        }
        Ok(())
    }
}

impl FileAmount {
    fn read(self) -> Result<Amount, String> {
        Ok(match self {
            Self::Fixed(text) => Amount::Fixed(time(&text)?),
            Self::Uniform([low, high]) => Amount::Uniform(time(&low)?, time(&high)?),
            Self::Exponential { exponential } => Amount::Exponential(time(&exponential)?),
        })
    }
}

/// The place of a name, a new one for a new name.
fn place(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

fn known(what: &str, name: &str, names: &[String]) -> Result<usize, String> {
    let place = names.iter().position(|known| known == name);
    place.ok_or_else(|| format!("expected a {what} ({}), found \"{name}\"", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
format = "corun-tasks"
version = 1
operation = "jobs"
queue = [{ name = "work", initial = 3 }]

[[program]]
name = "worker"
kind = "compile"
steps = [
    { repeat = { times = 3, steps = [{ receive = "work" }, { run = ["1ms", "3ms"] }, "done"] } },
    { lock = "log" },
    { run = "250us" },
    { unlock = "log" },
    { disk = { name = "sda", time = { exponential = "5ms" } } },
]

[[task]]
program = "worker"
copies = 2
cpus = "0-1"
nice = -5
"#;

    #[test]
    fn a_file_becomes_programs_and_tasks() {
        let load = read(FILE).unwrap();
        assert_eq!((load.tasks.len(), load.locks, load.disks), (2, 1, 1));
        assert_eq!(load.programs[0].steps[0], Step::Repeat(Some(3)));
        assert_eq!(load.programs[0].steps[2], Step::Run(Amount::Uniform(1_000_000, 3_000_000)));
        assert_eq!(load.tasks[1].affinity.as_ref().unwrap().to_string(), "0-1");
        assert!(load.check().is_ok());
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (from, to, line, expected) in [
            ("corun-tasks", "corun-task", 2, "expected format"),
            ("250us", "250", 7, "expected a time"),
            ("receive = \"work\"", "receive = \"play\"", 7, "expected a queue (work)"),
            ("copies = 2", "copies = 0", 18, "expected 1 to"),
            ("nice = -5", "mice = 5", 22, "unknown field"),
            ("program = \"worker\"", "program = \"walker\"", 18, "expected a program (worker)"),
        ] {
            let error = read(&FILE.replace(from, to)).unwrap_err();
            let ScheduleError::File { line: found, why } = &error else { panic!("{error}") };
            assert!(why.contains(expected), "{error}");
            assert_eq!(*found, line, "{error}");
        }
    }
}
