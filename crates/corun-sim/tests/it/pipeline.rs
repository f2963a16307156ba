//! The pipeline on code whose cycles follow from the model by hand, and properties that hold of any code.

mod first_level;
mod forms;
mod front_end;
mod skylake;
mod zen4;
mod zen5;

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::uops::Lowering;
use corun_sim::{Copies, Part, Unwatched, simulate, steady_state};
use proptest::prelude::*;

use crate::blocks::{self, cycles, cycles_on, model};
use crate::made;

/// Cycles of a copy in steady state, with a place for each memory operand of each copy; all pages are one.
fn cycles_at(model: &CoreModel, code: &[u8], places: impl Fn(u64) -> Vec<u64>) -> f64 {
    let timings = TimingTable::of(model).unwrap();
    let block = corun_trace::decode(0x10_0000, code).unwrap();
    let values: Vec<Vec<u64>> = (0..202).map(places).collect();
    let copies = Copies { block: &block, values: &values };
    steady_state(model, &mut Lowering::new(model, &timings), copies, 100).unwrap().0
}

/// Independent `lea`s of one address register: nothing but ports and renaming limits them.
fn independent(count: usize) -> Vec<u8> {
    // lea r8, [rbx]; lea r9, [rbx]; ...
    let one = |number: usize| [0x4c, 0x8d, 0x03 | (number as u8 % 8) << 3];
    (0..count).flat_map(one).collect()
}

#[test]
fn a_chain_takes_its_latency() {
    // imul rax, rax
    assert_near(cycles("zen4", &[0x48, 0x0f, 0xaf, 0xc0]), 3.0);
    // add rax, 1; add rax, 1
    assert_near(cycles("zen4", &[0x48, 0x83, 0xc0, 0x01, 0x48, 0x83, 0xc0, 0x01]), 2.0);
}

#[test]
fn independent_uops_take_their_share_of_the_ports() {
    let zen4 = model("zen4");
    let alus = zen4.back.schedulers.iter().flat_map(|one| &one.ports);
    let alus = alus.filter(|port| port.starts_with("ALU")).count();
    assert_near(cycles("zen4", &independent(8)), 8.0 / alus as f64);
}

#[test]
fn a_load_of_its_own_address_takes_the_cache_s_latency() {
    // mov rax, [rax]
    let latency = model("zen4").memory.loads.latency;
    assert_near(cycles("zen4", &[0x48, 0x8b, 0x00]), latency.into());
}

#[test]
fn eliminated_instructions_are_limited_by_renaming_alone() {
    // xor eax, eax; xor ecx, ecx; xor edx, edx; xor esi, esi; xor edi, edi; xor ebx, ebx
    let zeros = [0x31, 0xc0, 0x31, 0xc9, 0x31, 0xd2, 0x31, 0xf6, 0x31, 0xff, 0x31, 0xdb];
    let width = model("zen4").back.dispatch.entries;
    assert_near(cycles("zen4", &zeros), 6.0 / f64::from(width));
}

#[test]
fn loads_by_the_stack_pointer_take_the_stores_register_on_zen_3() {
    // mov [rsp + 8], rax; mov rax, [rsp + 8]
    let stack = [0x48, 0x89, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x44, 0x24, 0x08];
    // The same by rdi, whose loads wait for the store's bytes.
    let other = [0x48, 0x89, 0x47, 0x08, 0x48, 0x8b, 0x47, 0x08];
    assert!(cycles("zen3", &stack) < 1.5);
    let waits = model("zen3").memory.forwarding.latency;
    assert!(cycles("zen3", &other) > f64::from(waits) - 1.0);
    let mut without = model("zen3");
    without.memory.forwarding.renamed = None;
    assert!(cycles_on(&without, &stack) > f64::from(waits) - 1.0);
}

#[test]
fn fetch_ahead_fills_what_short_instructions_leave_idle() {
    // mov ecx, edi, and mov rcx, 0x0807060504030201: eight in a fetch of 16 bytes, and fewer than two.
    let long = [0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8];
    let code = [[0x89, 0xf9].repeat(32), long.repeat(8)].concat();
    let mut core = model("zen3");
    core.front.op_cache = None;
    core.front.fetch.bytes = 16;
    let ahead = cycles_on(&core, &code);
    core.front.fetch.ahead = 0;
    let without = cycles_on(&core, &code);
    assert!(ahead < 0.95 * without, "{ahead} {without}");
}

#[test]
fn the_refill_behind_a_misprediction_is_lost_to_it() {
    let trace = made::guesses(2000);
    let lost = |cycles: u32| {
        let mut core = model("zen4");
        core.front.prediction.mispredict = cycles;
        let timings = TimingTable::of(&core).unwrap();
        let part = Part { warm_up: 1000, ..Part::default() };
        let simulated = simulate(&core, &timings, &trace, part, &Unwatched).unwrap();
        let stack = &simulated.stack;
        let of = |name: &str| stack.cycles().find(|one| one.0 == name).unwrap().1;
        (of("mispredict"), of("front end"), simulated.mispredicts as f64)
    };
    let (short, long) = (lost(13), lost(43));
    assert!(short.2 > 500.0);
    assert_near((long.0 - short.0) / short.2, 30.0);
    assert!((long.1 - short.1).abs() < 0.1 * short.2, "{short:?} {long:?}");
}

#[test]
fn fewer_of_a_resource_is_never_faster() {
    // mov rax, [rax]; then 40 independent leas: the window hides one load behind the others.
    let code = [vec![0x48, 0x8b, 0x00], independent(40)].concat();
    let whole = model("zen4");
    type Take = fn(&mut CoreModel);
    let takes: [(&str, Take); 5] = [
        ("dispatch", |core| core.back.dispatch.entries = 2),
        ("reorder buffer", |core| core.back.rob.entries = 16),
        ("retirement", |core| core.back.retire.entries = 1),
        ("queue", |core| core.front.queue.entries = 4),
        ("schedulers", |core| core.back.schedulers.iter_mut().for_each(|one| one.entries = 2)),
    ];
    let before = cycles_on(&whole, &code);
    for (name, take) in takes {
        let mut less = whole.clone();
        take(&mut less);
        let after = cycles_on(&less, &code);
        assert!(after >= 0.99 * before, "{name}: {after} cycles with less, {before} with all");
    }
    let mut narrow = whole;
    narrow.back.dispatch.entries = 2;
    assert!(cycles_on(&narrow, &code) > 1.5 * before, "renaming limits this code");
}

/// Cycles of each round of a loop in steady state, where each round touches the same places.
fn cycles_of_a_round(core: &CoreModel, body: &[u8], touches: &[u64]) -> f64 {
    let touches = |_| touches.to_vec();
    let trace = made::Loop { body, touches: &touches, ..made::Loop::default() }.trace();
    let instructions = trace.threads()[0].instructions;
    let timings = TimingTable::of(core).unwrap();
    let part = Part { warm_up: instructions / 2, ..Part::default() };
    simulate(core, &timings, &trace, part, &Unwatched).unwrap().cycles as f64 / 2000.0
}

#[test]
fn so_many_loads_that_meet_the_same_store_again_take_no_time() {
    let core = model("zen3");
    let pairs = core.memory.forwarding.predictive_forwarding;
    assert!(pairs > 0);
    let waits = f64::from(core.memory.forwarding.latency);
    for (count, each) in [(pairs, 0.0..=1.0), (pairs + 4, waits - 0.5..=waits + 0.5)] {
        // mov [rdi + 8], rax; mov rax, [rdi + 8]
        let body = [0x48, 0x89, 0x47, 0x08, 0x48, 0x8b, 0x47, 0x08].repeat(count as usize);
        let touches = vec![0x10_0008; 2 * count as usize];
        let found = cycles_of_a_round(&core, &body, &touches) / f64::from(count);
        assert!(each.contains(&found), "{count} pairs: {found}, expected {each:?}");
    }
}

#[test]
fn a_repeated_instruction_takes_what_the_model_says() {
    // rep stosb; rep movsq
    for (code, size, places) in [(&[0xf3, 0xaa][..], 1, 1), (&[0xf3, 0x48, 0xa5], 8, 2)] {
        for name in ["zen3", "coffee-lake"] {
            let core = model(name);
            let mnemonic = if size == 1 { "stosb" } else { "movsq" };
            let is_it =
                |one: &&corun_model::Repetition| one.mnemonics.iter().any(|name| name == mnemonic);
            let repetition = core.back.repetitions.iter().find(is_it).unwrap();
            for elements in [0_u64, 10, 500] {
                // How many elements, upwards, and the first one, of each place.
                let touches = [elements << 1, 0x10_0000].repeat(places);
                let found = cycles_of_a_round(&core, code, &touches);
                let expected = repetition.cycles(elements, size) as f64;
                let near = expected - 1.0..expected + 4.0;
                assert!(near.contains(&found), "{name}, {elements} of {size}: {found}, {expected}");
            }
        }
    }
}

#[test]
fn an_instruction_that_needs_more_than_there_is_goes_alone() {
    let mut least = model("zen4");
    least.back.rob.entries = 1;
    (least.back.registers.integer, least.back.registers.vector) = (1, 1);
    (least.memory.loads.entries, least.memory.stores.entries) = (1, 1);
    least.front.queue.entries = 1;
    least.back.schedulers.iter_mut().for_each(|one| one.entries = 1);
    // fxrstor [rbx]; push [rax]; div rcx
    let found = cycles_on(&least, &[0x0f, 0xae, 0x0b, 0xff, 0x30, 0x48, 0xf7, 0xf1]);
    assert!(found > 10.0, "{found}");
}

#[test]
fn a_store_s_data_reaches_the_load_behind_it() {
    // mov [rbx], rax; mov rax, [rcx]: through memory, with another base register.
    let forwarded = cycles("zen4", &[0x48, 0x89, 0x03, 0x48, 0x8b, 0x01]);
    assert_near(forwarded, model("zen4").memory.forwarding.latency.into());
    // mov [rbx], rax; mov rax, [rbx]: renamed to the store's register.
    let renamed = cycles("zen4", &[0x48, 0x89, 0x03, 0x48, 0x8b, 0x03]);
    assert!(renamed < 2.0, "{renamed}");
}

#[test]
fn a_load_that_a_store_covers_in_part_waits_for_the_cache() {
    // mov [rbx], al; mov rax, [rcx]
    let part = cycles("zen4", &[0x88, 0x03, 0x48, 0x8b, 0x01]);
    let forwarding = &model("zen4").memory.forwarding;
    assert!(part > f64::from(forwarding.latency + forwarding.failure / 2), "{part}");
}

/// Coffee Lake and Ivy Bridge, with the decoders at work.
fn decoding(name: &str) -> CoreModel {
    let mut core = model(name);
    core.front.op_cache = None;
    core
}

#[test]
fn more_than_five_instructions_of_a_block_take_two_cycles() {
    // mov eax, [rcx + 24]; test eax, eax: 16 of them in five blocks of 16 bytes, each with 6 or 7.
    let code = [0x8b, 0x41, 0x18, 0x85, 0xc0].repeat(16);
    for name in ["ivy-bridge", "coffee-lake"] {
        assert_near(cycles_on(&decoding(name), &code), 10.0);
    }
}

#[test]
fn what_only_the_first_decoder_takes_begins_a_cycle() {
    // pop r12; nop; nop
    let code = [0x41, 0x5c, 0x90, 0x90].repeat(4);
    assert_near(cycles_on(&decoding("ivy-bridge"), &code), 8.0);
    assert_near(cycles_on(&decoding("coffee-lake"), &code), 4.0);
}

#[test]
fn the_last_decoder_leaves_what_may_fuse() {
    // test eax, eax; nop; nop: each fourth instruction may fuse.
    let code = [0x85, 0xc0, 0x90, 0x90].repeat(12);
    assert_near(cycles_on(&decoding("ivy-bridge"), &code), 12.0);
    assert_near(cycles_on(&decoding("coffee-lake"), &code), 9.0);
}

#[test]
fn a_load_is_quicker_if_a_load_gave_its_address() {
    for name in ["ivy-bridge", "coffee-lake"] {
        let loads = model(name).memory.loads;
        // mov rax, [rax]
        assert_near(cycles(name, &[0x48, 0x8b, 0x00]), loads.latency.into());
        // mov rax, [rax]; add rax, 1
        let through = cycles(name, &[0x48, 0x8b, 0x00, 0x48, 0x83, 0xc0, 0x01]);
        assert_near(through, (loads.latency + loads.complex_address + 1).into());
    }
}

#[test]
fn an_indexed_operand_takes_a_slot_of_its_own_unless_the_core_keeps_it() {
    // cmp r8, [rbx + rcx], twice, and nops of four bytes, twice: no more than is fetched in a cycle
    let code = [
        [0x4c, 0x3b, 0x04, 0x0b],
        [0x4c, 0x3b, 0x04, 0x0b],
        [0x0f, 0x1f, 0x40, 0x00],
        [0x0f, 0x1f, 0x40, 0x00],
    ]
    .concat();
    assert_near(cycles("ivy-bridge", &code), 1.5);
    assert_near(cycles("coffee-lake", &code), 1.0);
}

#[test]
fn a_copy_without_a_place_is_executed() {
    // mov rax, rcx; mov rcx, rax: all places are always taken, so that the chain has a latency.
    let code = [0x48, 0x89, 0xc8, 0x48, 0x89, 0xc1].repeat(4);
    let mut unlimited = model("coffee-lake");
    let limited = cycles_on(&unlimited, &code);
    unlimited.back.elimination.move_slots = None;
    assert!(limited > 1.5 * cycles_on(&unlimited, &code), "{limited}");
}

#[test]
fn a_store_s_data_reaches_a_load_of_intel_s_cores_in_the_documented_latency() {
    for name in ["ivy-bridge", "coffee-lake"] {
        // mov [rbx], rax; mov rax, [rcx]
        let found = cycles(name, &[0x48, 0x89, 0x03, 0x48, 0x8b, 0x01]);
        assert_near(found, model(name).memory.forwarding.latency.into());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Register code of `add`, `imul`, `lea`, `mov` and `xor` in any order.
    #[test]
    fn any_code_keeps_the_bounds(choice in prop::collection::vec((0_u8..5, 0_u8..8, 0_u8..8), 1..24)) {
        let code: Vec<u8> = choice.iter().flat_map(|&(kind, to, from)| {
            let registers = 0xc0 | from << 3 | to;
            match kind {
                0 => vec![0x4d, 0x01, registers],
                1 => vec![0x4d, 0x0f, 0xaf, 0xc0 | to << 3 | from],
                2 => vec![0x4d, 0x8d, 0x44, 0xc0 | from, 0x10],
                3 => vec![0x4d, 0x89, registers],
                _ => vec![0x4d, 0x31, registers],
            }
        }).collect();
        for name in ["zen4", "coffee-lake", "ivy-bridge"] {
            let core = model(name);
            let (cycles, stack) = blocks::steady(&core, &code);
            let slots = choice.len() as f64;
            prop_assert!(cycles >= 0.98 * slots / f64::from(core.back.dispatch.entries), "{name}: {cycles}");
            let all: f64 = stack.cycles().map(|(_, part)| part).sum();
            prop_assert!((all - all.round()).abs() < 1e-6, "{name}: the stack is {all} cycles");
            prop_assert_eq!(blocks::steady(&core, &code), (cycles, stack), "{} twice", name);
        }
    }
}

fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 0.02 * expected + 0.011,
        "{found} cycles, expected {expected}"
    );
}

#[test]
fn a_long_microprogram_keeps_its_divider() {
    // xor edx, edx; mov rax, rcx; div r8: of 36 micro-ops the divider's is the last.
    let code = [0x31, 0xd2, 0x48, 0x89, 0xc8, 0x49, 0xf7, 0xf0];
    assert_near(cycles("ivy-bridge", &code), 22.0);
}

#[test]
fn bytes_that_were_stored_through_another_address_come_from_the_cache() {
    // mov [rdi], rax; mov rax, [rsi], which are the same bytes in one page or in two.
    let code = [0x48, 0x89, 0x07, 0x48, 0x8b, 0x06];
    for name in ["zen4", "coffee-lake"] {
        let core = model(name);
        let forwarded = f64::from(core.memory.forwarding.latency);
        let found = |other: u64| blocks::steady_at(&core, &code, vec![0x8000, 0x8000 + other]).0;
        assert_near(found(0), forwarded);
        let waits = f64::from(core.memory.forwarding.failure);
        assert!(found(1 << 12) > forwarded + waits - 0.5, "{name}: {}", found(1 << 12));
    }
}

#[test]
fn a_pause_lets_nothing_pass_for_as_long_as_it_takes() {
    // pause; add rax, 1
    for (name, latency) in [("zen4", 65.0), ("coffee-lake", 140.0)] {
        let found = cycles(name, &[0xf3, 0x90, 0x48, 0x83, 0xc0, 0x01]);
        assert!((found - latency).abs() < 0.03 * latency, "{name}: {found}");
    }
}
