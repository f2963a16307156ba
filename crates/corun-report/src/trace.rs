//! Content of a trace, in words.

use corun_record::{DisassembledInstruction, TraceFootprint, TraceInfo, TracePlan, on_one_line};

use crate::figures::grouped;
use crate::terminal::wrap;

/// A trace in words: where it is from, how it ended, and what it holds.
pub fn trace_to_terminal(trace: &TraceInfo, columns: u16) -> String {
    let mut text = origin(trace, columns);
    let mut line = |name: &str, value: String| text += &fact(name, &value, columns);
    line(
        "instructions",
        format!("{} in {} blocks", grouped(trace.instructions), grouped(trace.blocks)),
    );
    for thread in &trace.threads {
        line("  thread", format!("{}, {} instructions", thread.tid, grouped(thread.instructions)));
    }
    line("branches", branches(trace));
    line("memory", memory(trace));
    line("code", footprint(trace.code));
    if !trace.has_code {
        line("", "no bytes of instructions: `corun simulate` needs them".to_owned());
    }
    line("data", footprint(trace.data));
    for hot in &trace.hottest {
        let block = format!(
            "{:.1} % of all instructions: block at {:#x}, executed {} times",
            100.0 * hot.share,
            hot.address,
            grouped(hot.executions)
        );
        text += &format!("\n{}", wrap(&block, "  ", columns));
        for DisassembledInstruction { address, text: instruction } in &hot.instructions {
            text += &format!("    {address:#x}  {instruction}\n");
        }
    }
    text
}

/// Origin of the trace, and the ending of its program.
fn origin(trace: &TraceInfo, columns: u16) -> String {
    let opening = &trace.opening;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text += &fact(name, value, columns);
    line("command", &opening.command.join(" "));
    line("tracer", &format!("{} ({})", opening.tracer.name, opening.tracer.version));
    line("machine", &format!("{}, {}", opening.cpu, opening.kernel));
    line("started", &opening.started);
    if let Some(recorded) = recorded(&opening.plan) {
        line("recorded", &recorded);
    }
    match &trace.closing {
        None => line("end", "none: the tracer did not finish; what follows is what it wrote"),
        Some(closing) => {
            let ending = closing.sentence.as_deref();
            line("end", ending.unwrap_or("not seen: the tracer could not go on"));
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
    if let Some(damage) = &trace.damage {
        line("damage", damage);
    }
    text
}

/// A line that names what it says, its continuations below the value.
fn fact(name: &str, value: &str, columns: u16) -> String {
    wrap(&format!("{name:<14}{}", on_one_line(value)), &" ".repeat(14), columns)
}

/// Which part of the run; none if that is all of it.
fn recorded(plan: &TracePlan) -> Option<String> {
    let (plan, before) = part_of(plan);
    let part = match plan {
        TracePlan::Samples { length, warm_up, total, .. } => format!(
            "{} windows of {}, spread over {} instructions, up to {} before each",
            grouped(plan.windows().unwrap_or(0).into()),
            grouped(*length),
            grouped(*total),
            grouped(*warm_up)
        ),
        TracePlan::SimulationPoints { windows, length, warm_up, total, .. } => format!(
            "{} windows of {} that stand for {} instructions, up to {} before each",
            windows.len(),
            grouped(*length),
            grouped(*total),
            grouped(*warm_up)
        ),
        TracePlan::Window { skip, length } => {
            let length = length.map_or("what follows".to_owned(), grouped);
            format!("{length} after the first {} instructions", grouped(*skip))
        }
        _ => "what follows".to_owned(),
    };
    match (plan, before) {
        (TracePlan::Whole, 0) => None,
        (_, 0) => Some(part),
        (_, before) => Some(format!("{part}; counted after the first {}", grouped(before))),
    }
}

/// A plan without what it leaves out before, and how many instructions that are.
fn part_of(plan: &TracePlan) -> (&TracePlan, u64) {
    match plan {
        TracePlan::After { skip, rest, .. } => {
            let (part, before) = part_of(rest);
            (part, skip.saturating_add(before))
        }
        plan => (plan, 0),
    }
}

fn branches(trace: &TraceInfo) -> String {
    let branches = &trace.branches;
    let calls = branches.calls + branches.indirect_calls;
    let jumps = branches.jumps + branches.indirect_jumps;
    let per_thousand = |count: u64| per_thousand(count, trace.instructions);
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

fn memory(trace: &TraceInfo) -> String {
    let memory = &trace.memory;
    let per_thousand = |count: u64| per_thousand(count, trace.instructions);
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

fn footprint(touched: TraceFootprint) -> String {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trace() -> TraceInfo {
        serde_json::from_value(json!({
            "opening": {
                "command": ["gzip", "-kc", "a\u{1b}[2J"], "environment": "", "cpu": "a CPU",
                "tracer": { "name": "ptrace", "version": "1" }, "features": [],
                "kernel": "Linux 6.1", "started": "2026-01-01T00:00:00Z",
                "plan": { "after": { "skip": 5000, "warm_up": 10, "rest": {
                    "samples": { "count": 2, "length": 1000, "warm_up": 10, "total": 90000 }
                } } },
                "remarks": ["It was slow."]
            },
            "closing": {
                "ending": { "exited": 0 }, "sentence": "exit code 0", "instructions": 95000,
                "native": { "seconds": 0.25, "user_s": 0.2, "system_s": 0.0, "hertz": null },
                "threads": [], "remarks": []
            },
            "threads": [{ "tid": 7, "instructions": 2000 }], "has_code": false,
            "damage": "it is cut short", "instructions": 2000, "executions": 400, "blocks": 3,
            "branches": {
                "conditional": 200, "taken": 100, "jumps": 20, "indirect_jumps": 4, "calls": 8,
                "indirect_calls": 2, "returns": 10
            },
            "memory": {
                "loads": 500, "stores": 300, "prefetches": 0,
                "sizes": { "16": 100, "8": 600, "0": 100 }
            },
            "code": { "lines": 4, "pages": 1, "at_least": false },
            "data": { "lines": 1234, "pages": 20, "at_least": true },
            "hottest": [{
                "address": 4198400, "executions": 300, "share": 0.6,
                "instructions": [{ "address": 4198400, "text": "add rax,rcx" }]
            }]
        }))
        .expect("a trace")
    }

    #[test]
    fn everything_that_a_trace_holds_is_shown() {
        insta::assert_snapshot!(trace_to_terminal(&trace(), 100));
    }

    #[test]
    fn a_trace_of_the_whole_run_that_was_not_finished_says_so() {
        let mut trace = trace();
        trace.opening.plan = TracePlan::Whole;
        (trace.closing, trace.damage) = (None, None);
        let text = trace_to_terminal(&trace, 100);
        assert!(text.contains("end           none: the tracer did not finish"), "{text}");
        assert!(!text.contains("recorded") && !text.contains("damage"), "{text}");
    }
}
