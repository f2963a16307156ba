//! Loads that meet in the first level: by the lowest bits of a store's address, and in one bank.

use corun_model::CoreModel;

use super::assert_near;
use super::front_end::{cycles_each, rounds, to};
use crate::blocks::model;

const AT: u64 = 0x1000;

/// Cycles of a round of such code, which touches these places and jumps back.
fn cycles(core: &CoreModel, code: &[u8], touches: &[u64], instructions: f64) -> f64 {
    let back = to(0xe9, AT + code.len() as u64, AT);
    let trace = rounds(&[(AT, [code, &back].concat(), touches)], 2000);
    cycles_each(core, &trace) * (instructions + 1.0)
}

#[test]
fn a_load_at_the_offset_of_a_store_to_another_page_is_late() {
    // mov [rdi], eax; mov rsi, [rsi]
    let code = [0x89, 0x07, 0x48, 0x8b, 0x36];
    for name in ["ivy-bridge", "coffee-lake"] {
        let core = model(name);
        let apart = cycles(&core, &code, &[0x10_0040, 0x20_0080], 2.0);
        let alike = cycles(&core, &code, &[0x10_0040, 0x20_0040], 2.0);
        assert_near(apart, core.memory.loads.latency.into());
        assert_near(alike, (core.memory.loads.latency + core.memory.forwarding.alias).into());
    }
}

#[test]
fn two_loads_of_a_cycle_want_different_banks_on_ivy_bridge() {
    // mov r8, [rdi] four times
    let code = [0x4c, 0x8b, 0x07].repeat(4);
    let apart = [0x10_0000, 0x10_0048, 0x10_0090, 0x10_00d8];
    let alike = [0x10_0000, 0x10_0040, 0x10_0080, 0x10_00c0];
    let mut core = model("ivy-bridge");
    let of = |core: &CoreModel, touches| cycles(core, &code, touches, 4.0);
    let [with_banks, beside] = [of(&core, &alike), of(&core, &apart)];
    core.memory.loads.banks = None;
    let without = of(&core, &alike);
    assert_near(with_banks, 4.0);
    assert_near(beside, without);
    assert!(without < 3.5, "{without}");
}
