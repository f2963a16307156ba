//! Cycles of blocks whose registers stay what they are at the start, so that no execution is needed to
//! know what they touch.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::uops::Lowering;
use corun_sim::{Copies, CycleStack, steady_state};

/// Value of every register and every word of memory.
const PATTERN: u64 = 0x232_4000;

pub(crate) fn model(name: &str) -> CoreModel {
    corun_model::find(name).unwrap()
}

/// Cycles of a copy in steady state on a model that comes with corun.
pub(crate) fn cycles(name: &str, code: &[u8]) -> f64 {
    cycles_on(&model(name), code)
}

/// Cycles of a copy in steady state.
pub(crate) fn cycles_on(model: &CoreModel, code: &[u8]) -> f64 {
    steady(model, code).0
}

/// Cycles of a copy in steady state, and where they go; all memory operands are one place.
pub(crate) fn steady(model: &CoreModel, code: &[u8]) -> (f64, CycleStack) {
    let places = corun_trace::decode(0x10_0000, code).unwrap().operands.len();
    steady_at(model, code, vec![PATTERN; places])
}

/// Steady cycles with a place for each memory operand; all pages are one.
pub(crate) fn steady_at(model: &CoreModel, code: &[u8], values: Vec<u64>) -> (f64, CycleStack) {
    let timings = TimingTable::of(model).unwrap();
    let block = corun_trace::decode(0x10_0000, code).unwrap();
    let copies = Copies { block: &block, values: &[values] };
    steady_state(model, &mut Lowering::new(model, &timings), copies, 100).unwrap()
}
