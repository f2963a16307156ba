//! A trace on a simulated core: how many cycles it takes there, and where they go.

use std::collections::{BTreeMap, HashMap};

use corun_trace::format::{Events, FormatError, Trace};
use corun_trace::{Event, ThreadId};

use crate::code::{CodeBlock, Lowering, Unknown};
use crate::core::{Core, CycleStack, Feed, Occupancy, State, Step};
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
    pub(crate) fn of(state: State, lowering: &Lowering<'_>) -> Self {
        Self {
            instructions: state.retired,
            cycles: state.cycles,
            stack: state.stack,
            occupancy: state.occupancy,
            mispredicts: state.mispredicts,
            unknown: lowering.unknown().clone(),
        }
    }

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
    let mut core = alone(model, timings, trace, part.thread)?;
    core.run_until(0, part.warm_up);
    let begin = core.state(0);
    let end = part.length.map_or(u64::MAX, |length| part.warm_up.saturating_add(length));
    core.run_until(0, end);
    let state = core.state(0).since(&begin);
    let feed = the_feed(core)?;
    Ok(Simulated::of(state, &feed.lowering))
}

/// A core at rest that will run a thread of a trace, and nothing else.
pub(crate) fn alone<'t>(
    model: &'t CoreModel,
    timings: &'t TimingTable,
    trace: &'t Trace,
    thread: ThreadId,
) -> Result<Core<Recorded<'t>>, FormatError> {
    let mut lowering = Lowering::new(model, timings);
    let stack_update = lowering.stack_update();
    let events = trace.events(thread)?;
    let feed = Recorded { trace, events, lowering, blocks: HashMap::new(), error: None };
    Ok(Core::new(model, stack_update, vec![feed]))
}

/// What the core ran, if all of it could be read.
pub(crate) fn the_feed(core: Core<Recorded<'_>>) -> Result<Recorded<'_>, FormatError> {
    let mut feed = core.into_feeds().swap_remove(0);
    match feed.error.take() {
        Some(error) => Err(error),
        None => Ok(feed),
    }
}

/// A thread of a trace, block by block.
pub(crate) struct Recorded<'t> {
    trace: &'t Trace,
    events: Events<'t>,
    pub(crate) lowering: Lowering<'t>,
    /// Where the code of each block of the trace stands.
    blocks: HashMap<u32, u32>,
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
            let lowering = &mut self.lowering;
            let known = self.blocks.entry(id.0).or_insert_with(|| {
                code.push(lowering.lower(block));
                (code.len() - 1) as u32
            });
            if executed > 0 && !code[*known as usize].instructions.is_empty() {
                return Some(Step { block: *known, address: block.address, executed });
            }
            values.clear();
        }
    }
}
