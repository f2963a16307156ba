//! `make -jN`: one process that starts up to N jobs at a time; each job is a shell that starts a compiler
//! and then an assembler and waits for each, as make, sh and gcc do.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, QueueSpec, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "make",
    summary: "make -jN: a compiler and an assembler for each of many files",
    make: Make::Parameters(
        &[
            Parameter { name: "jobs", default: "4", meaning: "N, jobs at a time" },
            Parameter { name: "files", default: "100", meaning: "files to compile" },
            Parameter { name: "compile", default: "500ms", meaning: "work of a file, on average" },
            Parameter {
                name: "spread",
                default: "0.5",
                meaning: "by what part of it files differ",
            },
            Parameter { name: "assemble", default: "0.1", meaning: "the assembler's part of it" },
            Parameter { name: "read", default: "1ms", meaning: "make's own work before each file" },
            Parameter { name: "serial", default: "0", meaning: "linking and the like, at the end" },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "files".to_owned(), ..Load::default() };
    let initial = u32::try_from(values.tasks("jobs")?).unwrap_or(u32::MAX);
    let tokens = load.queue(QueueSpec { initial, ..QueueSpec::default() });
    let work = values.time("compile")? as f64;
    let assemble = values.share("assemble")?;
    let spread = values.share("spread")?;
    let part = |share: f64| {
        let mean = work * share;
        let [low, high] = [1.0 - spread, 1.0 + spread].map(|it| (mean * it).round() as u64);
        if low == high { Amount::Fixed(low) } else { Amount::Uniform(low, high) }
    };
    let compiler = load.program("compiler", "compile", vec![Step::Run(part(1.0 - assemble))]);
    let assembler = load.program("assembler", "compile", vec![Step::Run(part(assemble))]);
    let mut shell = vec![Step::Begin, Step::Fork(compiler), Step::Join];
    if assemble > 0.0 {
        shell.extend([Step::Fork(assembler), Step::Join]);
    }
    shell.extend([Step::Done, Step::Send(tokens)]);
    let shell = load.program("shell", "compile", shell);
    let make = load.program(
        "make",
        "compile",
        vec![
            Step::Repeat(Some(values.count("files")?)),
            Step::Receive(tokens),
            Step::Run(Amount::Fixed(values.time("read")?)),
            Step::Fork(shell),
            Step::End,
            Step::Join,
            Step::Run(Amount::Fixed(values.time("serial")?)),
        ],
    );
    load.tasks(make, 1);
    Ok(load)
}
