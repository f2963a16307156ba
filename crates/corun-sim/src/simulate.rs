//! A trace on a simulated core: how many cycles it takes there, and where they go.

use std::collections::BTreeMap;

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, ThreadId};

use crate::code::{CodeBlock, Lowering, Unknown};
use crate::core::{Core, CycleStack, Feed, Occupancy, Step};
use crate::model::CoreModel;
use crate::timing::TimingTable;

/// Which part of which thread is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The thread.
    pub thread: ThreadId,
    /// Instructions at its start that fill predictors and caches, and are not counted.
    pub warm_up: u64,
    /// Instructions behind them that are counted; all there are, if none.
    pub length: Option<u64>,
}

/// What a thread takes on a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Counted instructions.
    pub instructions: u64,
    /// Cycles from the first to the last of them.
    pub cycles: u64,
    /// Where the cycles went.
    pub stack: CycleStack,
    /// How full the core's buffers were on average.
    pub occupancy: Occupancy,
    /// Mispredicted branches among the counted instructions.
    pub mispredicts: u64,
    /// Forms that the timing table has no row for, by name, as they stand in the code.
    pub unknown: BTreeMap<String, Unknown>,
}

impl Simulated {
    /// Instructions a cycle.
    pub fn ipc(&self) -> f64 {
        self.instructions as f64 / self.cycles.max(1) as f64
    }
}

/// Runs a thread of a trace alone on a core.
///
/// # Errors
/// If the trace is damaged where it is read, or has no such thread.
pub fn simulate(
    model: &CoreModel,
    timings: &TimingTable,
    trace: &Trace,
    part: Part,
) -> Result<Simulated, FormatError> {
    let mut lowering = Lowering::new(model, timings);
    let stack_update = lowering.stack_update();
    let feed = Recorded {
        trace,
        events: trace.events(part.thread)?,
        lowering,
        blocks: vec![NOWHERE; trace.blocks().len()],
        error: None,
    };
    let mut core = Core::new(model, stack_update, vec![feed]);
    core.run_until(0, part.warm_up);
    let begin = core.state(0);
    let end = part.length.map_or(u64::MAX, |length| part.warm_up.saturating_add(length));
    core.run_until(0, end);
    let state = core.state(0).since(&begin);
    let feed = core.into_feeds().swap_remove(0);
    if let Some(error) = feed.error {
        return Err(error);
    }
    Ok(Simulated {
        instructions: state.retired,
        cycles: state.cycles,
        stack: state.stack,
        occupancy: state.occupancy,
        mispredicts: state.mispredicts,
        unknown: feed.lowering.unknown().clone(),
    })
}

/// The place of code that was not lowered yet.
const NOWHERE: u32 = u32::MAX;

/// A thread of a trace, block by block.
struct Recorded<'t> {
    trace: &'t Trace,
    events: Events<'t>,
    lowering: Lowering<'t>,
    /// Where the code of each block of the trace stands, or `NOWHERE` before it is executed.
    blocks: Vec<u32>,
    error: Option<FormatError>,
}

impl Feed for Recorded<'_> {
    fn next(&mut self, code: &mut Vec<CodeBlock>, values: &mut Vec<u64>) -> Option<Step> {
        loop {
            let (id, executed) = match self.events.next_event() {
                Ok(Some(Event::Block { block, executed, values: own })) => {
                    values.extend_from_slice(own);
                    (block, executed)
                }
                Ok(Some(Event::Marker(_))) => continue,
                Ok(None) => return None,
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            };
            let block = self.trace.block(id);
            let known = &mut self.blocks[id.0 as usize];
            if *known == NOWHERE {
                *known = code.len() as u32;
                code.push(self.lowering.lower(block));
            }
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                return Some(Step { block: *known, address: block.address, executed });
            }
            values.clear();
        }
    }
}
