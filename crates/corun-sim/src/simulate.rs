//! A trace on a simulated core: how many cycles it takes there, and where they go.

use std::collections::BTreeMap;

use corun_record::{PageSize, Progress, Stage};
use corun_trace::ThreadId;
use corun_trace::format::{FormatError, Trace};

use crate::core::{CycleStack, Occupancy, State};
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::memory::Pages;
use crate::plausible::{self, Implausible};
use crate::replay::recorded::{Recorded, Replay};
use crate::uops::{Lowering, Unknown};
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{IssueCycles, MemoryRequests};

/// Which part of which thread is simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The thread.
    pub thread: ThreadId,
    /// Instructions at its start that fill predictors and caches, and are not counted.
    pub warm_up: u64,
    /// Instructions after them that are counted; all there are, if none.
    pub length: Option<u64>,
    /// Page size of its data.
    pub pages: PageSize,
}

/// Simulated counts of a thread on a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Counted instructions.
    pub instructions: u64,
    /// Cycles from the first to the last of them.
    pub cycles: u64,
    /// Cycle stack.
    pub stack: CycleStack,
    /// Average occupancy of the core's buffers.
    pub occupancy: Occupancy,
    /// Cycles in which it started micro-ops, and in which a sibling did, too.
    pub issue: IssueCycles,
    /// Mispredicted branches among the counted instructions.
    pub mispredicts: u64,
    /// Memory requests of the counted instructions.
    pub requests: MemoryRequests,
    /// Forms that the timing table has no row for, by name, as they stand in the code.
    pub unknown: BTreeMap<String, Unknown>,
    /// For each width of a division in the code, the bits of its quotient that were assumed.
    pub quotients: BTreeMap<u32, u32>,
}

impl Simulated {
    pub(crate) fn of(state: State, lowering: &Lowering<'_>) -> Self {
        Self::in_code(state, lowering.unknown().clone(), lowering.assumed_quotients().clone())
    }

    /// The same code with other counts.
    pub(crate) fn counting(self, state: State) -> Self {
        Self::in_code(state, self.unknown, self.quotients)
    }

    fn in_code(
        state: State,
        unknown: BTreeMap<String, Unknown>,
        quotients: BTreeMap<u32, u32>,
    ) -> Self {
        Self {
            instructions: state.retired,
            cycles: state.cycles,
            stack: state.stack,
            occupancy: state.occupancy,
            issue: state.issue,
            mispredicts: state.mispredicts,
            requests: state.requests,
            unknown,
            quotients,
        }
    }

    /// Together with another part of the same run on the same core.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut unknown = self.unknown.clone();
        for (form, found) in &other.unknown {
            let known = unknown.entry(form.clone()).or_insert_with(|| found.clone());
            known.places.extend(&found.places);
        }
        let quotients = self.quotients.iter().chain(&other.quotients);
        Self {
            instructions: self.instructions + other.instructions,
            cycles: self.cycles + other.cycles,
            stack: self.stack.plus(&other.stack),
            occupancy: self.occupancy.plus(&other.occupancy),
            issue: self.issue.plus(other.issue),
            mispredicts: self.mispredicts + other.mispredicts,
            requests: self.requests.plus(&other.requests),
            unknown,
            quotients: quotients.map(|(width, bits)| (*width, *bits)).collect(),
        }
    }

    /// Checks that its figures can be.
    ///
    /// # Errors
    /// If it took no time, did more in a cycle than the core renames, or its stack of cycles is not all of them.
    pub fn check(&self, model: &CoreModel) -> Result<(), Implausible> {
        plausible::of_thread(self.instructions, self.cycles, &self.stack, model)
    }

    /// Instructions a cycle.
    pub fn ipc(&self) -> f64 {
        self.instructions as f64 / self.cycles.max(1) as f64
    }
}

/// Runs a thread of a trace alone on a core; `progress` hears of its instructions.
///
/// # Errors
/// If the trace is damaged where it is read, or has no such thread, or the core makes no progress.
pub fn simulate(
    model: &CoreModel,
    timings: &TimingTable,
    trace: &Trace,
    part: Part,
    progress: &dyn Progress,
) -> Result<Simulated, SimulationError> {
    trace.require_code()?;
    let there = trace.threads().iter().find(|it| it.id == part.thread).map(|it| it.instructions);
    let wanted = part.length.map(|length| length.saturating_add(part.warm_up));
    let total = there.map(|there| wanted.unwrap_or(there).min(there));
    progress.begin(Stage::new("simulating", "instructions", total));
    let mut machine = alone(model, timings, trace, part.thread, part.pages, progress)?;
    let end = part.length.map_or(u64::MAX, |length| part.warm_up.saturating_add(length));
    let ran = machine.warm_up(part.warm_up, part.warm_up).and_then(|()| {
        let begin = machine.state(0, 0);
        machine.run(&[vec![end]])?;
        Ok(machine.state(0, 0).since(&begin))
    });
    let source = the_source(machine)?;
    let simulated = Simulated::of(ran?, &source.lowering);
    simulated.check(model)?;
    Ok(simulated)
}

/// A core at rest that will run a thread of a trace, and nothing else.
pub(crate) fn alone<'t>(
    model: &'t CoreModel,
    timings: &'t TimingTable,
    trace: &'t Trace,
    thread: ThreadId,
    pages: PageSize,
    progress: &'t dyn Progress,
) -> Result<Machine<Recorded<'t>>, FormatError> {
    let mut lowering = Lowering::new(model, timings);
    let stack_update = lowering.stack_update();
    let pages = Pages::of(0, 0, pages).on(model);
    let source = Recorded::new(lowering, trace, thread, pages, Replay::From(0), progress)?;
    Ok(Machine::new(model, vec![(stack_update, vec![source])]))
}

/// Instruction source of the first core, if all of it could be read.
pub(crate) fn the_source(machine: Machine<Recorded<'_>>) -> Result<Recorded<'_>, FormatError> {
    let mut source = machine.into_sources().swap_remove(0).swap_remove(0);
    source.error()?;
    Ok(source)
}
