//! Blocks that were timed on a Zen 5, cycles of a copy beside what its model gives, and what it gives without the rule.

use corun_model::CoreModel;

use super::{assert_near, cycles_of_a_round};
use crate::blocks::{cycles_on, model};

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
fn parts_of_a_register_are_renamed_too() {
    let with_parts_only = |code: &[u8]| {
        let without = without(code, |core| core.memory.forwarding.renamed_parts = false);
        assert!(without > 6.9, "{without}");
        zen5(code)
    };
    // or byte ptr [rdi], 4
    assert_near(with_parts_only(&[0x80, 0x0f, 0x04]), 1.0);
    // mov al, [rdi]; mov [rdi], al
    assert_near(with_parts_only(&[0x8a, 0x07, 0x88, 0x07]), 2.0);
    // mov [rdi], rax; mov ecx, [rdi]; mov rax, rcx
    assert_near(with_parts_only(&[0x48, 0x89, 0x07, 0x8b, 0x0f, 0x48, 0x89, 0xc8]), 0.5);
    // movsx eax, byte ptr [rdi]; mov [rdi], al
    assert_near(with_parts_only(&[0x0f, 0xbe, 0x07, 0x88, 0x07]), 2.0);
    // movzx eax, byte ptr [rdi]; mov [rdi], al
    assert_near(zen5(&[0x0f, 0xb6, 0x07, 0x88, 0x07]), 7.0);
}

#[test]
fn no_load_is_renamed_to_or_from_a_vector_or_a_mask() {
    let cases: [(&[u8], f64); 5] = [
        // movsd [rdi], xmm0; movsd xmm0, [rdi]
        (&[0xf2, 0x0f, 0x11, 0x07, 0xf2, 0x0f, 0x10, 0x07], 9.0),
        // movq [rdi], xmm0; mov rax, [rdi]; vmovq xmm0, rax
        (&[0x66, 0x0f, 0xd6, 0x07, 0x48, 0x8b, 0x07, 0xc4, 0xe1, 0xf9, 0x6e, 0xc0], 11.0),
        // mov [rdi], rax; movq xmm0, [rdi]; vmovq rax, xmm0
        (&[0x48, 0x89, 0x07, 0xf3, 0x0f, 0x7e, 0x07, 0xc4, 0xe1, 0xf9, 0x7e, 0xc0], 12.0),
        // kmovq [rdi], k1; kmovq k1, [rdi]
        (&[0xc4, 0xe1, 0xf8, 0x91, 0x0f, 0xc4, 0xe1, 0xf8, 0x90, 0x0f], 9.0),
        // fstp qword ptr [rdi]; fld qword ptr [rdi]: 14 on the core, since they convert
        (&[0xdd, 0x1f, 0xdd, 0x07], 10.0),
    ];
    for (code, cycles) in cases {
        assert_near(zen5(code), cycles);
    }
    for core in ["zen2", "zen3", "zen4", "coffee-lake"] {
        for (code, _) in [cases[0], cases[4]] {
            assert!(cycles_on(&model(core), code) > 4.9, "{core}");
        }
    }
}

#[test]
fn round_trips_between_register_files_take_what_was_timed() {
    const TO_VECTOR: [u8; 5] = [0xc4, 0xe1, 0xf9, 0x6e, 0xc0]; // vmovq xmm0, rax
    const FROM_VECTOR: [u8; 5] = [0xc4, 0xe1, 0xf9, 0x7e, 0xc0]; // vmovq rax, xmm0
    const CARRY: [u8; 4] = [0x48, 0x83, 0xd0, 0x00]; // adc rax, 0
    let cases: [(&[&[u8]], f64); 9] = [
        (&[&TO_VECTOR, &FROM_VECTOR], 7.0),
        // movq xmm0, rax
        (&[&[0x66, 0x48, 0x0f, 0x6e, 0xc0], &FROM_VECTOR], 9.0),
        // pinsrq xmm0, rax, 0
        (&[&[0x66, 0x48, 0x0f, 0x3a, 0x22, 0xc0, 0x00], &FROM_VECTOR], 9.0),
        // cvtsi2sd xmm0, rax
        (&[&[0xf2, 0x48, 0x0f, 0x2a, 0xc0], &FROM_VECTOR], 10.0),
        // pextrq rax, xmm0, 0
        (&[&TO_VECTOR, &[0x66, 0x48, 0x0f, 0x3a, 0x16, 0xc0, 0x00]], 9.0),
        // comisd xmm0, xmm1
        (&[&TO_VECTOR, &[0x66, 0x0f, 0x2f, 0xc1], &CARRY], 10.0),
        // vptest ymm0, ymm0
        (&[&TO_VECTOR, &[0xc4, 0xe2, 0x7d, 0x17, 0xc0], &CARRY], 12.0),
        // kmovq k1, rax; kmovq rax, k1
        (&[&[0xc4, 0xe1, 0xfb, 0x92, 0xc8], &[0xc4, 0xe1, 0xfb, 0x93, 0xc1]], 9.0),
        // vpcmpeqb k1, zmm0, zmm1; kmovq rax, k1
        (
            &[&[0x62, 0xf1, 0x7d, 0x48, 0x74, 0xc9], &[0xc4, 0xe1, 0xfb, 0x93, 0xc1], &TO_VECTOR],
            13.0,
        ),
    ];
    for (code, cycles) in cases {
        assert_near(zen5(&code.concat()), cycles);
    }
}

#[test]
fn latencies_are_those_that_were_timed() {
    let cases: [(&[u8], f64); 11] = [
        // mov rax, [rdi+rax]; and eax, 0
        (&[0x48, 0x8b, 0x04, 0x07, 0x83, 0xe0, 0x00], 5.0),
        // mov rax, [rdi+rax*2]; and eax, 0
        (&[0x48, 0x8b, 0x04, 0x47, 0x83, 0xe0, 0x00], 6.0),
        // mov rax, [rdi+rax+8]; and eax, 0
        (&[0x48, 0x8b, 0x44, 0x07, 0x08, 0x83, 0xe0, 0x00], 6.0),
        // movsx rax, byte ptr [rdi+rax]; and eax, 0
        (&[0x48, 0x0f, 0xbe, 0x04, 0x07, 0x83, 0xe0, 0x00], 6.0),
        // vmovq xmm0, [rdi+rax]; vmovq rax, xmm0; and eax, 0
        (&[0xc5, 0xfa, 0x7e, 0x04, 0x07, 0xc4, 0xe1, 0xf9, 0x7e, 0xc0, 0x83, 0xe0, 0x00], 10.0),
        // vpmovzxbw xmm0, [rdi+rax]; vmovq rax, xmm0; and eax, 0
        (
            &[0xc4, 0xe2, 0x79, 0x30, 0x04, 0x07, 0xc4, 0xe1, 0xf9, 0x7e, 0xc0, 0x83, 0xe0, 0x00],
            12.0,
        ),
        // cmp eax, ecx; cmovl eax, edx
        (&[0x39, 0xc8, 0x0f, 0x4c, 0xc2], 3.0),
        // lock add dword ptr [rdi], 1
        (&[0xf0, 0x83, 0x07, 0x01], 20.0),
        // lock bts dword ptr [rdi], 3
        (&[0xf0, 0x0f, 0xba, 0x2f, 0x03], 20.0),
        // xchg [rdi], eax
        (&[0x87, 0x07], 20.0),
        // mul rcx; mov rax, rdx
        (&[0x48, 0xf7, 0xe1, 0x48, 0x89, 0xd0], 4.0),
    ];
    for (code, cycles) in cases {
        assert_near(zen5(code), cycles);
    }
    // The first: an index alone costs nothing.
    let index = without(cases[0].0, |core| core.memory.loads.simple_index = false);
    assert_near(index, 6.0);
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

#[test]
fn what_has_its_operands_is_given_a_port() {
    // add r15d, 1; lea r14, [r13 + 8*r15]
    let code = [0x41, 0x83, 0xc7, 0x01, 0x4f, 0x8d, 0x74, 0xfd, 0x00];
    assert_near(zen5(&code), 1.0);
    assert!(without(&code, |core| core.back.schedulers[0].binds_late = false) > 1.3);
}

#[test]
fn what_depends_on_an_operation_of_one_cycle_collides_where_ports_are_short() {
    // lea rax, [rbx+8]; cmp rax, rdx
    let pair = [0x48, 0x8d, 0x43, 0x08, 0x48, 0x39, 0xd0];
    let plain = without(&pair, |core| core.back.schedulers[0].collisions = false);
    assert!(zen5(&pair) > 1.25 * plain, "0.57 on the core; {} and {plain}", zen5(&pair));
    // lea rax, [rbx+8]; cmp rcx, rdx
    assert_near(zen5(&[0x48, 0x8d, 0x43, 0x08, 0x48, 0x39, 0xd1]), 0.333);
    // Two NOPs more: renaming is the bound, and no port is short.
    assert_near(zen5(&[&pair[..], &[0x90, 0x90]].concat()), 0.5);
    // xor eax, ecx and so on, for twelve registers: each waits for what was renamed a round before.
    let one = |number: u8| [0x41, 0x31, 0xc8 | number];
    let first = [0xc8, 0xca, 0xce, 0xcf].map(|operands| [0x40, 0x31, operands]);
    let twelve: Vec<u8> = first.into_iter().chain((0..8).map(one)).flatten().collect();
    assert_near(zen5(&twelve), 2.0);
}

#[test]
fn reading_the_stack_pointer_needs_no_synchronisation() {
    // push rcx; mov rax, [rsp+0x40]
    let code = [0x51, 0x48, 0x8b, 0x44, 0x24, 0x40];
    assert_near(zen5(&code), 0.5);
    assert_near(without(&code, |core| core.back.elimination.stack_reads = false), 1.0);
    // push rcx; add rsp, 8
    assert_near(zen5(&[0x51, 0x48, 0x83, 0xc4, 0x08]), 2.0);
}

#[test]
fn an_index_of_lea_is_needed_a_cycle_later_than_its_base() {
    // lea rax, [rbx+rax+0x900]; lea rax, [rax+rbx+8]
    assert_near(zen5(&[0x48, 0x8d, 0x84, 0x03, 0x00, 0x09, 0, 0]), 1.0);
    assert_near(zen5(&[0x48, 0x8d, 0x44, 0x18, 0x08]), 2.0);
}

/// So many NOPs that fill a window of code.
fn window(nops: usize) -> Vec<u8> {
    let nop: [&[u8]; 6] = [
        &[0x90],
        &[0x66, 0x90],
        &[0x0f, 0x1f, 0x00],
        &[0x0f, 0x1f, 0x40, 0],
        &[0x0f, 0x1f, 0x44, 0, 0],
        &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
    ];
    (0..nops).flat_map(|at| nop[64 / nops - 1 + usize::from(at < 64 % nops)]).copied().collect()
}

#[test]
fn a_window_of_more_than_two_lines_is_read_again() {
    let short = |nops: usize| [0x66, 0x90].repeat(nops);
    // cmp byte [rdi + 8], 1: two constants each, so that a line has three of them.
    let compare = |count: usize| [0x80, 0x7f, 0x08, 0x01].repeat(count);
    // Each loop ends with dec and jnz, which are one micro-op. Cycles of a round as timed, and without the rule.
    let loops = [
        (short(11), 1.5, 1.5),
        (short(12), 3.0, 2.0),
        (short(18), 3.0, 2.4),
        (short(23), 3.0, 3.0),
        (compare(8), 3.0, 2.0),
        (compare(12), 5.0, 3.0),
        // The first further read begins early where another window was read before.
        ([window(12), short(12)].concat(), 3.15, 3.15),
        ([window(13), short(5)].concat(), 4.0, 2.4),
        ([window(14), short(14)].concat(), 4.1, 3.6),
        ([window(18), short(14)].concat(), 6.0, 4.1),
        ([window(18), short(5)].concat(), 4.0, 3.0),
    ];
    let mut without = model("zen5");
    without.front.op_cache.as_mut().unwrap().further_read = None;
    for (number, (body, timed, cycles)) in loops.into_iter().enumerate() {
        let touches = [0x10_0008; 12];
        let touches = if body[0] == 0x80 { &touches[..body.len() / 4] } else { &[] };
        let found = cycles_of_a_round(&model("zen5"), &body, touches);
        assert!((found - timed).abs() < 0.15, "{number}: {found}, timed {timed}");
        let found = cycles_of_a_round(&without, &body, touches);
        assert!((found - cycles).abs() < 0.15, "{number}: {found} without, expected {cycles}");
    }
}

#[test]
fn further_reads_cost_nothing_while_much_waits_for_renaming() {
    // lfence lets the queue fill. A window of 18 micro-ops takes 3 cycles if none wait, and 2.25 to rename.
    let body = |windows| [vec![0x0f, 0xae, 0xe8], window(18).repeat(windows)].concat();
    let cycles = |core: &CoreModel| {
        let [few, many] = [8, 16].map(|windows| cycles_of_a_round(core, &body(windows), &[]));
        (many - few) / 8.0
    };
    let found = cycles(&model("zen5"));
    assert!((2.2..2.4).contains(&found), "{found}");
}
