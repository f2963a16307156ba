//! `corun trace info`: what a trace holds, for people and as JSON.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, json_text, on_one_line};
use corun_report::{Destination, grouped};
use corun_trace::format::{Closing, Opening, Trace};
use corun_trace::{Footprint, Plan, Summary, disassemble, summary};
use serde::Serialize;

use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// List this many of the hottest blocks
    #[arg(long, value_name = "N", default_value_t = 5)]
    hottest: usize,
    /// Write it as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let trace = super::open(&arguments.file)?;
    let summary = summary(&trace, arguments.hottest)
        .map_err(|error| super::of_file(&arguments.file, error))?;
    match &arguments.json {
        Some(path) => {
            let info =
                Info { opening: trace.opening(), closing: trace.closing(), summary: &summary };
            Destination::open(path)?.write(&json_text(&info))?;
        }
        None => terminal::show(&describe(&trace, &summary))?,
    }
    Ok(code(Exit::Done))
}

/// The form of `--json`.
#[derive(Serialize)]
struct Info<'a> {
    opening: &'a Opening,
    closing: Option<&'a Closing>,
    #[serde(flatten)]
    summary: &'a Summary,
}

fn describe(trace: &Trace, summary: &Summary) -> String {
    let mut text = origin(trace);
    let mut line = |name: &str, value: String| text += &format!("{name:<14}{value}\n");
    line(
        "instructions",
        format!("{} in {} blocks", grouped(summary.instructions), grouped(summary.blocks)),
    );
    for thread in trace.threads() {
        line("  thread", format!("{}, {} instructions", thread.tid, grouped(thread.instructions)));
    }
    line("branches", branches(summary));
    line("memory", memory(summary));
    line("code", footprint(summary.code));
    if trace.require_code().is_err() {
        line(
            "",
            "no bytes of instructions: `corun simulate` and the export to sift need them"
                .to_owned(),
        );
    }
    line("data", footprint(summary.data));
    for hot in &summary.hottest {
        text += &format!(
            "\n{:.1} % of all instructions: block at {:#x}, executed {} times\n",
            100.0 * hot.share,
            hot.address,
            grouped(hot.executions)
        );
        for (address, instruction) in disassemble(trace.block(hot.block)) {
            text += &format!("    {address:#x}  {instruction}\n");
        }
    }
    text
}

/// Where the trace comes from, and how it ended.
fn origin(trace: &Trace) -> String {
    let opening = trace.opening();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text += &format!("{name:<14}{}\n", on_one_line(value));
    line("command", &opening.command.join(" "));
    line("tracer", &format!("{} ({})", opening.tracer.name, opening.tracer.version));
    line("machine", &format!("{}, {}", opening.cpu, opening.kernel));
    line("started", &opening.started);
    if let Some(recorded) = recorded(&opening.plan) {
        line("recorded", &recorded);
    }
    match trace.closing() {
        None => line("end", "none: the tracer did not finish; what follows is what it wrote"),
        Some(closing) => {
            let ending = closing
                .ending
                .map_or("not seen: the tracer could not go on".to_owned(), |it| it.to_string());
            line("end", &ending);
            if let Some(native) = closing.native {
                line("native run", &format!("{:.3} s without a tracer", native.seconds));
            }
            if let Some(all) = closing.instructions {
                line("whole run", &format!("{} instructions", grouped(all)));
            }
            closing.remarks.iter().for_each(|remark| line("remark", remark));
        }
    }
    opening.remarks.iter().for_each(|remark| line("remark", remark));
    if let Some(damage) = trace.damage() {
        line("damage", &damage.to_string());
    }
    text
}

/// Which part of the run; none if that is all of it.
fn recorded(plan: &Plan) -> Option<String> {
    let part = match plan.rest().0 {
        Plan::Samples { count, length, warm_up, total } => format!(
            "{} windows of {}, spread over {} instructions, up to {} before each",
            grouped((*count).into()),
            grouped(*length),
            grouped(*total),
            grouped(*warm_up)
        ),
        Plan::SimulationPoints { windows, length, warm_up, total } => format!(
            "{} windows of {} that stand for {} instructions, up to {} before each",
            windows.len(),
            grouped(*length),
            grouped(*total),
            grouped(*warm_up)
        ),
        Plan::Window { skip, length } => {
            let length = length.map_or("what follows".to_owned(), grouped);
            format!("{length} after the first {} instructions", grouped(*skip))
        }
        _ => "what follows".to_owned(),
    };
    match plan.rest() {
        (Plan::Whole, 0) => None,
        (_, 0) => Some(part),
        (_, before) => Some(format!("{part}; counted after the first {}", grouped(before))),
    }
}

fn branches(summary: &Summary) -> String {
    let branches = &summary.branches;
    let calls = branches.calls + branches.indirect_calls;
    let jumps = branches.jumps + branches.indirect_jumps;
    let per_thousand = |count: u64| per_thousand(count, summary.instructions);
    let taken = match branches.conditional {
        0 => String::new(),
        all => format!(", {:.1} % of them taken", 100.0 * branches.taken as f64 / all as f64),
    };
    format!(
        "{} conditional{taken}, {} jumps ({} indirect), {} calls ({} indirect), {} returns, in 1000 \
         instructions",
        per_thousand(branches.conditional),
        per_thousand(jumps),
        per_thousand(branches.indirect_jumps),
        per_thousand(calls),
        per_thousand(branches.indirect_calls),
        per_thousand(branches.returns)
    )
}

fn memory(summary: &Summary) -> String {
    let memory = &summary.memory;
    let per_thousand = |count: u64| per_thousand(count, summary.instructions);
    let total: u64 = memory.sizes.values().sum();
    let sizes = memory.sizes.iter().map(|(size, count)| {
        let share = 100.0 * *count as f64 / total.max(1) as f64;
        match size {
            0 => format!("{share:.0} % of another size"),
            size => format!("{share:.0} % of {size}"),
        }
    });
    format!(
        "{} loads, {} stores, {} prefetches, in 1000 instructions{}{}",
        per_thousand(memory.loads),
        per_thousand(memory.stores),
        per_thousand(memory.prefetches),
        if total == 0 { "" } else { "; bytes: " },
        sizes.collect::<Vec<_>>().join(", ")
    )
}

fn footprint(touched: Footprint) -> String {
    format!(
        "{}{} lines of 64 bytes in {} pages of 4 KiB",
        if touched.at_least { "at least " } else { "" },
        grouped(touched.lines),
        grouped(touched.pages)
    )
}

fn per_thousand(count: u64, instructions: u64) -> String {
    format!("{:.1}", 1000.0 * count as f64 / instructions.max(1) as f64)
}
