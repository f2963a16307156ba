//! Blocks that were timed on a Zen 5, cycles of a copy beside what its model gives, and what it gives without the rule.

use corun_model::CoreModel;

use super::blocks::{cycles_on, model};
use super::{assert_near, cycles_of_a_round};

/// A block on the model with one of its rules left out.
fn without(code: &[u8], leave_out: fn(&mut CoreModel)) -> f64 {
    let mut core = model("zen5");
    leave_out(&mut core);
    cycles_on(&core, code)
}

fn zen5(code: &[u8]) -> f64 {
    cycles_on(&model("zen5"), code)
}

#[test]
fn a_copy_and_what_computes_with_it_take_one_slot() {
    // mov r8, rbx; xor r8, rcx; six times, for r8, r9, ...
    let pair = |number: u8| [0x49, 0x89, 0xd8 | number, 0x49, 0x31, 0xc8 | number];
    let code: Vec<u8> = (0..6).flat_map(pair).collect();
    assert_near(zen5(&code), 1.0);
    assert_near(without(&code, |core| core.front.fusion.with_copy.clear()), 1.5);
    // xor rax, r15 after mov r8, rbx, and so on: the copy is no part of it.
    let registers = [0, 1, 2, 5, 6, 7];
    let pair =
        |number: u8| [0x49, 0x89, 0xd8 | number, 0x4c, 0x31, 0xf8 | registers[usize::from(number)]];
    let apart: Vec<u8> = (0..6).flat_map(pair).collect();
    assert_near(zen5(&apart), 1.5);
}

#[test]
fn the_difference_of_a_register_and_itself_needs_the_carry_alone() {
    // cmp edi, 1; sbb esi, esi; imul esi, esi, 3
    let code = [0x83, 0xff, 0x01, 0x19, 0xf6, 0x6b, 0xf6, 0x03];
    assert!(zen5(&code) < 0.9);
    assert_near(without(&code, |core| core.back.elimination.carry_idioms.clear()), 4.0);
}

#[test]
fn an_operand_in_memory_is_renamed_too() {
    // add rax, [rdi]; mov [rdi], rax
    let code = [0x48, 0x03, 0x07, 0x48, 0x89, 0x07];
    assert_near(zen5(&code), 1.0);
    assert!(without(&code, |core| core.memory.forwarding.renamed_operands = false) > 7.0);
}

#[test]
fn two_stores_a_cycle_reach_the_lines_that_were_stored_to_last() {
    let cycles = |core: &CoreModel, lines: u64| {
        let places: Vec<u64> = (0..lines).map(|line| 0x10_0000 + 64 * line).collect();
        // mov [rdi], rax
        cycles_of_a_round(core, &[0x48, 0x89, 0x07].repeat(places.len()), &places)
    };
    let core = model("zen5");
    assert_near(cycles(&core, 12), 6.0);
    assert_near(cycles(&core, 13), 13.0);
    let mut without = core;
    without.memory.stores.commit_lines = 0;
    assert_near(cycles(&without, 12), 12.0);
}

#[test]
fn a_conversion_does_not_wait_for_what_it_keeps() {
    // cvtsi2sd xmm1, eax
    let code = [0xf2, 0x0f, 0x2a, 0xc8];
    assert_near(zen5(&code), 1.0);
    assert_near(without(&code, |core| core.back.elimination.unmerged.clear()), 3.0);
    // cvtss2sd xmm1, xmm1 waits for what it converts.
    assert_near(zen5(&[0xf3, 0x0f, 0x5a, 0xc9]), 3.0);
}
