//! `corun trace check`: reads a whole trace and reports its errors.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_trace::format::check;

use crate::options::ProgressArguments;
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let trace = super::open(&arguments.file)?;
    let line = StepProgress::new(arguments.progress.quiet);
    let checked = check(&trace, &line);
    line.finish();
    let mut text = format!(
        "{}: {} instructions in {} frames\n",
        corun_record::shown(&arguments.file),
        checked.instructions,
        checked.frames
    );
    for problem in &checked.problems {
        text += &format!("damaged: {problem}\n");
    }
    if let Some(first) = checked.first_break {
        text += &format!(
            "{} times a block does not follow from the one before; first in thread {} after {} \
             instructions: from {:#x} to {:#x}\n",
            checked.breaks, first.tid, first.instruction, first.from, first.to
        );
    }
    let is_sound = checked.problems.is_empty();
    text += match (is_sound, trace.is_complete()) {
        (true, true) => "sound and complete\n",
        (true, false) => "sound, but without an end: the tracer did not finish\n",
        (false, _) => "not sound\n",
    };
    terminal::show(&text)?;
    Ok(code(if is_sound { Exit::Done } else { Exit::Failed }))
}
