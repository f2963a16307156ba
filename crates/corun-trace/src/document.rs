//! What a trace holds as the document of `corun trace info`.

use corun_record::{
    Caveat, DisassembledInstruction, HotBlock as RecordedBlock, NativeRun as RecordedRun, Progress,
    TraceClosing, TraceFootprint, TraceInfo, TraceOpening, TracePlan, TracedBranches, TracedEnding,
    TracedMemory, TracedPoint, TracedThread, UsedTracer,
};

use crate::format::{Closing, FormatError, Opening, Trace};
use crate::summary::{Footprint, HotBlock, Summary, disassemble, summary};
use crate::{Ending, Plan};

/// A trace in figures, with so many of its hottest blocks; `progress` hears of its instructions.
///
/// # Errors
/// If the trace is damaged in a place that [`Trace::damage`] does not name.
pub fn info(
    trace: &Trace,
    hottest: usize,
    progress: &dyn Progress,
) -> Result<TraceInfo, FormatError> {
    let Summary { instructions, executions, blocks, branches, memory, code, data, hottest } =
        summary(trace, hottest, progress)?;
    let threads = trace.threads();
    Ok(TraceInfo {
        opening: opening(trace.opening()),
        closing: trace.closing().map(closing),
        threads: threads
            .iter()
            .map(|it| TracedThread { tid: it.tid, instructions: it.instructions })
            .collect(),
        has_code: trace.require_code().is_ok(),
        damage: trace.damage().map(ToString::to_string),
        instructions,
        executions,
        blocks,
        branches: TracedBranches {
            conditional: branches.conditional,
            taken: branches.taken,
            jumps: branches.jumps,
            indirect_jumps: branches.indirect_jumps,
            calls: branches.calls,
            indirect_calls: branches.indirect_calls,
            returns: branches.returns,
        },
        memory: TracedMemory {
            loads: memory.loads,
            stores: memory.stores,
            prefetches: memory.prefetches,
            sizes: memory.sizes.iter().map(|(size, count)| (size.to_string(), *count)).collect(),
        },
        code: footprint(code),
        data: footprint(data),
        hottest: hottest.iter().map(|it| hot_block(trace, it)).collect(),
    })
}

/// What limits the use of a trace.
pub fn caveats(info: &TraceInfo) -> Vec<Caveat> {
    let damage = info.damage.as_ref().map(|it| Caveat::new("damaged-trace", it));
    let no_code = (!info.has_code).then(|| {
        Caveat::new(
            "no-code",
            "no bytes of instructions: `corun simulate` and the export to sift need them",
        )
    });
    damage.into_iter().chain(no_code).collect()
}

fn hot_block(trace: &Trace, hot: &HotBlock) -> RecordedBlock {
    let instructions = disassemble(trace.block(hot.block));
    let instruction = |(address, text): (u64, String)| DisassembledInstruction { address, text };
    RecordedBlock {
        address: hot.address,
        executions: hot.executions,
        share: hot.share,
        instructions: instructions.into_iter().map(instruction).collect(),
    }
}

fn opening(opening: &Opening) -> TraceOpening {
    TraceOpening {
        command: opening.command.clone(),
        environment: opening.environment.clone(),
        tracer: UsedTracer {
            name: opening.tracer.name.clone(),
            version: opening.tracer.version.clone(),
        },
        cpu: opening.cpu.clone(),
        features: opening.features.clone(),
        kernel: opening.kernel.clone(),
        started: opening.started.clone(),
        plan: plan(&opening.plan),
        remarks: opening.remarks.clone(),
    }
}

fn plan(recorded: &Plan) -> TracePlan {
    match *recorded {
        Plan::Whole => TracePlan::Whole,
        Plan::Window { skip, length } => TracePlan::Window { skip, length },
        Plan::Samples { length, warm_up, total, seed, .. } => {
            let count = recorded.windows().unwrap_or(0);
            TracePlan::Samples { count, length, warm_up, total, seed }
        }
        Plan::SimulationPoints { ref windows, length, warm_up, total, .. } => {
            let windows = windows.iter().map(|it| TracedPoint {
                begin: it.begin,
                instructions: it.instructions,
                left_out: it.left_out,
            });
            TracePlan::SimulationPoints { windows: windows.collect(), length, warm_up, total }
        }
        Plan::After { skip, warm_up, ref rest } => {
            TracePlan::After { skip, warm_up, rest: Box::new(plan(rest)) }
        }
        Plan::Count => TracePlan::Count,
        Plan::Learn => TracePlan::Learn,
    }
}

fn closing(closing: &Closing) -> TraceClosing {
    let threads = closing.threads.iter();
    TraceClosing {
        ending: closing.ending.map(|it| match it {
            Ending::Exited(code) => TracedEnding::Exited(code),
            Ending::Killed(signal) => TracedEnding::Killed(signal),
            Ending::Interrupted => TracedEnding::Interrupted,
        }),
        sentence: closing.ending.map(|it| it.to_string()),
        instructions: closing.instructions,
        native: closing.native.map(|it| RecordedRun {
            seconds: it.seconds,
            user_s: it.user_s,
            system_s: it.system_s,
            hertz: it.hertz,
        }),
        threads: threads
            .map(|it| TracedThread { tid: it.tid, instructions: it.instructions })
            .collect(),
        remarks: closing.remarks.clone(),
    }
}

fn footprint(touched: Footprint) -> TraceFootprint {
    let Footprint { lines, pages, at_least } = touched;
    TraceFootprint { lines, pages, at_least }
}
