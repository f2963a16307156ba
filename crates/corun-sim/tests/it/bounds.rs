//! No block is faster than its slots, whatever its core does for free.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::uops::Lowering;
use corun_sim::{Copies, steady_state};
use proptest::prelude::*;

use crate::blocks::{self, cycles, model};

/// Code that cores do without executing anything, or nearly so: NOPs of all lengths, hints, copies,
/// zero idioms, exchanges of the x87 stack, prefetches; and additions.
const PIECES: &[&[u8]] = &[
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0],
    &[0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0],
    &[0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0x48, 0x89, 0xd8],
    &[0x0f, 0x28, 0xc1],
    &[0x31, 0xc0],
    &[0x0f, 0x57, 0xc0],
    &[0xd9, 0xc9],
    &[0x0f, 0x18, 0x0b],
    &[0x49, 0x83, 0xc0, 0x01],
];

const NOPS: usize = 11;

/// Instructions a slot may hold: two where a NOP shares that of the one before it.
fn in_a_slot(name: &str) -> f64 {
    if model(name).front.fusion.nop { 2.0 } else { 1.0 }
}

fn code(pieces: &[usize]) -> Vec<u8> {
    pieces.iter().flat_map(|&piece| PIECES[piece]).copied().collect()
}

/// The fewest slots: every second NOP after something else is free at best.
fn slots(name: &str, pieces: &[usize]) -> f64 {
    let nops = pieces.iter().filter(|&&piece| piece < NOPS).count() as f64;
    let all = pieces.len() as f64;
    (all / in_a_slot(name)).max(all - nops)
}

#[test]
fn a_nop_takes_its_slot() {
    let additions: Vec<u8> =
        (0..8).flat_map(|register| [0x49, 0x83, 0xc0 | register, 1, 0x90, 0x90, 0x90]).collect();
    // Measured on a Zen 5: 4.05, 1.00 and 0.12.
    let near =
        |found: f64, ought: f64| assert!((found / ought - 1.0).abs() < 0.1, "{found} {ought}");
    let mut zen5 = model("zen5");
    // As a loop has it.
    if let Some(cache) = &mut zen5.front.op_cache {
        cache.ways *= 4;
    }
    near(blocks::cycles_on(&zen5, &additions), 4.0);
    near(blocks::cycles_on(&zen5, &[0x90; 8]), 1.0);
    near(blocks::cycles_on(&zen5, &[0x90]), 0.125);
    // Each addition with one of them, and the other two together: 16 slots, 6 a cycle.
    assert!(cycles("zen4", &additions) > 16.0 / 6.0 - 0.1);
}

#[test]
fn a_nop_at_the_begin_shares_the_slot_before() {
    // nop [rax]; mov rdx, [r13 + 0x48]; test rdx, rdx: measured on a Zen 4, 0.336 cycles.
    let found = cycles("zen4", &[0x0f, 0x1f, 0x00, 0x49, 0x8b, 0x55, 0x48, 0x48, 0x85, 0xd2]);
    assert!((found - 1.0 / 3.0).abs() < 0.05, "{found}");
}

/// Cycles of a NOP in code of the same length, whose blocks are so many NOPs.
fn cycles_of_a_nop(model: &CoreModel, nop: &[u8], of_a_block: u32) -> f64 {
    // A multiple of all lengths, above what queues hold and below what op caches hold.
    const ALL: u32 = 336;
    let timings = TimingTable::of(model).unwrap();
    let block = corun_trace::decode(0x10_0000, &nop.repeat(of_a_block as usize)).unwrap();
    let values = vec![0x232_4000; block.operands.len()];
    let copies = Copies { block: &block, values: &[values] };
    let mut lowering = Lowering::new(model, &timings);
    let (cycles, _) = steady_state(model, &mut lowering, copies, ALL / of_a_block).unwrap();
    cycles / f64::from(of_a_block)
}

#[test]
fn how_a_stream_of_nops_is_cut_into_blocks_decides_nothing() {
    for model in corun_model::designs().unwrap() {
        let (name, front) = (&model.name, &model.front);
        let delivered = front
            .op_cache
            .as_ref()
            .map_or(front.decoder.width, |cache| cache.width.max(front.decoder.width));
        for nop in &PIECES[..NOPS - 1] {
            let whole = cycles_of_a_nop(&model, nop, 16);
            assert!(1.0 / whole < 1.01 * f64::from(delivered), "{name} {nop:x?}: {whole} cycles");
            for of_a_block in [1, 2, 3, 7, 8, 12] {
                let found = cycles_of_a_nop(&model, nop, of_a_block);
                assert!(
                    (found / whole - 1.0).abs() < 0.04,
                    "{name} {nop:x?}: {found} in blocks of {of_a_block}, {whole} in blocks of 16"
                );
            }
        }
    }
}

#[test]
fn a_pause_is_no_nop() {
    for name in ["zen2", "zen3", "zen4", "zen5", "coffee-lake", "ivy-bridge"] {
        let found = cycles(name, &[0xf3, 0x90]);
        assert!(found > 5.0, "{name}: {found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nothing_is_free_without_limit(pieces in prop::collection::vec(0..PIECES.len(), 4..24)) {
        for name in ["zen2", "zen3", "zen4", "zen5", "coffee-lake", "ivy-bridge"] {
            let found = cycles(name, &code(&pieces));
            let least = slots(name, &pieces) / f64::from(model(name).back.dispatch.entries);
            prop_assert!(found > 0.97 * least - 0.02, "{name}: {found} below {least}: {pieces:?}");
        }
    }
}
