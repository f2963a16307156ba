//! Content of a trace as the document of `corun trace info`.

use corun_record::{
    Caveat, DisassembledInstruction, HotBlock as RecordedBlock, Progress, TraceClosing, TraceInfo,
    TracedEnding, TracedThread, Unwatched,
};

use crate::Ending;
use crate::format::{Closing, Trace, check};
use crate::summary::{HotBlock, Summary, disassemble, summary};

/// A trace in figures, with so many of its hottest blocks; of a damaged one the figures of what is sound. `progress` hears of its
/// instructions.
pub fn info(trace: &Trace, hottest: usize, progress: &dyn Progress) -> TraceInfo {
    let (summary, unread) = summary(trace, hottest, progress);
    let Summary { instructions, executions, blocks, branches, memory, code, data, hottest } =
        summary;
    let damage = match trace.damage().or(unread.as_ref()) {
        Some(damage) => Some(damage.to_string()),
        None => check(trace, &Unwatched).problems.first().map(ToString::to_string),
    };
    let threads = trace.threads();
    TraceInfo {
        opening: trace.opening().clone(),
        closing: trace.closing().map(closing),
        threads: threads
            .iter()
            .map(|it| TracedThread { tid: it.tid, instructions: it.instructions })
            .collect(),
        has_code: trace.require_code().is_ok(),
        damage,
        instructions,
        executions,
        blocks,
        branches,
        memory,
        code,
        data,
        hottest: hottest.iter().map(|it| hot_block(trace, it)).collect(),
    }
}

/// Limits of the use of a trace.
pub fn caveats(info: &TraceInfo) -> Vec<Caveat> {
    let damage = info.damage.as_ref().map(|it| Caveat::new("damaged-trace", it));
    let no_code = (!info.has_code)
        .then(|| Caveat::new("no-code", "no bytes of instructions: `corun simulate` needs them"));
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

fn closing(closing: &Closing) -> TraceClosing {
    TraceClosing {
        ending: closing.ending.map(|it| match it {
            Ending::Exited(code) => TracedEnding::Exited(code),
            Ending::Killed(signal) => TracedEnding::Killed(signal),
            Ending::Interrupted => TracedEnding::Interrupted,
        }),
        sentence: closing.ending.map(|it| it.to_string()),
        instructions: closing.instructions,
        native: closing.native,
        threads: closing.threads.clone(),
        remarks: closing.remarks.clone(),
    }
}
