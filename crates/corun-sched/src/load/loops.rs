//! Loops that start a program again and again and wait for it each time, as a shell's loop does.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "loops",
    summary: "loops that start a program, wait for it, and start it again",
    make: Make::Parameters(
        &[
            Parameter { name: "loops", default: "2", meaning: "how many" },
            Parameter { name: "times", default: "5", meaning: "that each starts it" },
            Parameter { name: "work", default: "2s", meaning: "of the program" },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "programs".to_owned(), ..Load::default() };
    let work = Step::Run(Amount::Fixed(values.time("work")?));
    let program = load.program("program", "compile", vec![work, Step::Done]);
    let again = vec![
        Step::Repeat(Some(values.count("times")?)),
        Step::Fork(program),
        Step::Join,
        Step::End,
    ];
    let shell = load.program("loop", "compile", again);
    load.tasks(shell, values.tasks("loops")?);
    Ok(load)
}
