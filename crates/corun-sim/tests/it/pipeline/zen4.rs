//! Loops that were timed on a Zen 4, cycles of a round beside what its model gives.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::{Part, Unwatched, simulate};

use super::{assert_near, cycles_at, cycles_of_a_round};
use crate::blocks::{cycles_on, model};
use crate::made::Loop;

/// Address of all accesses unless a test names another.
const PLACE: u64 = 0x10_0000;

/// Cycles of a round of code that touches the same place so many times, `dec` and `jnz` after it.
fn cycles(core: &CoreModel, code: &[u8], accesses: usize) -> f64 {
    cycles_of_a_round(core, code, &vec![PLACE; accesses])
}

fn zen4() -> CoreModel {
    model("zen4")
}

/// The instruction for r8, r9, ... in the last three bits of its last byte.
fn of_registers(count: usize, instruction: &[u8]) -> Vec<u8> {
    let one = |number: usize| {
        let mut bytes = instruction.to_vec();
        *bytes.last_mut().unwrap() |= (number % 8) as u8;
        bytes
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn a_fused_branch_takes_one_of_two_alus() {
    // inc r8, inc r9, ...
    let additions = of_registers(4, &[0x49, 0xff, 0xc0]);
    // shl r8, 1, ...
    let shifts = of_registers(6, &[0x49, 0xd1, 0xe0]);
    assert_near(cycles(&zen4(), &additions, 0), 1.25);
    assert_near(cycles(&zen4(), &shifts, 0), 3.0);
    // A branch that goes anywhere leaves the two to the shifts more often.
    let mut anywhere = zen4();
    anywhere.front.fusion.ports = Vec::new();
    let found = cycles(&anywhere, &of_registers(3, &[0x49, 0xff, 0xc0]), 0);
    assert!(found <= 1.05, "{found}");
}

#[test]
fn accesses_of_64_bytes_are_two() {
    // vmovdqu64 zmm0, [rdi] four times
    let wide = [0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x07].repeat(4);
    assert_near(cycles(&zen4(), &wide, 4), 4.0);
    // vmovdqu [rdi], ymm0 and vmovdqu64 [rdi], zmm0, four times each
    let narrow = [0xc5, 0xfe, 0x7f, 0x07].repeat(4);
    let wide = [0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07].repeat(4);
    assert_near(cycles(&zen4(), &narrow, 4), 4.0);
    assert_near(cycles(&zen4(), &wide, 4), 8.0);
}

#[test]
fn wide_accesses_are_more_than_two() {
    // vmovdqu64 zmm0, [rdi] and vmovdqu64 [rsi], zmm1
    let (load, store) =
        ([0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x07], [0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x0e]);
    let found = |core: &CoreModel, loads: usize, stores: usize| {
        let group = [load.repeat(loads), store.repeat(stores)].concat();
        let places = [vec![PLACE; loads], vec![2 * PLACE; stores]].concat();
        cycles_of_a_round(core, &group.repeat(4), &places.repeat(4)) / 4.0
    };
    // As it was measured.
    for (loads, stores, cycles) in [(2, 1, 2.5), (3, 1, 3.3), (4, 2, 5.0), (2, 0, 2.0), (0, 1, 2.0)]
    {
        let found = found(&zen4(), loads, stores);
        assert!((found - cycles).abs() < 0.07 * cycles, "{loads} {stores}: {found}");
    }
    let mut without = zen4();
    without.memory.loads.wide_issue_slots = None;
    assert_near(found(&without, 2, 1), 2.0);
}

#[test]
fn stores_past_the_caches_go_to_memory_each_time() {
    // vmovntdq [rdi], zmm0, or vmovdqu64, to each of 16 lines
    let (past, through) =
        ([0x62, 0xf1, 0x7d, 0x48, 0xe7, 0x07], [0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07]);
    let places: Vec<u64> = (0..16).map(|line| PLACE + 64 * line).collect();
    let found = |code: [u8; 6]| cycles_of_a_round(&zen4(), &code.repeat(16), &places);
    let main = &zen4().hierarchy.main;
    let line = 64.0 / main.gigabytes_a_second * zen4().gigahertz;
    assert!((found(past) / (16.0 * line) - 1.0).abs() < 0.05, "{} {line}", found(past));
    assert_near(found(through), 32.0);
}

#[test]
fn a_cycle_reads_one_window_of_the_op_cache() {
    // Windows of 64 bytes, each four NOPs of 15 bytes and one of four, the last three of them with
    // dec and jnz: so few that neither their slots nor the width of the op cache hold them up.
    let long = [0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let window = [long.repeat(4), vec![0x0f, 0x1f, 0x40, 0]].concat();
    for windows in [2, 3] {
        let code = [window.repeat(windows - 1), long.repeat(3)].concat();
        let found = cycles_of_a_round(&zen4(), &code, &[]);
        assert_near(found, windows as f64);
        let mut both = zen4();
        both.front.op_cache.as_mut().unwrap().one_window = false;
        let without = cycles_of_a_round(&both, &code, &[]);
        assert!(without < found - 0.2, "{without} {found}");
    }
}

#[test]
fn the_oldest_of_more_loads_than_memory_takes_go_first() {
    // vmovdqu ymm0, [rdi] four times: two a cycle, by whichever ports.
    assert_near(cycles(&zen4(), &[0xc5, 0xfe, 0x6f, 0x07].repeat(4), 4), 2.0);
}

#[test]
fn no_other_core_is_blamed_where_there_is_one() {
    // mov [rdi], rax twelve times, in lines of their own: stores wait for each other.
    let body = [0x48, 0x89, 0x07].repeat(12);
    let touches = |round: u64| (0..12).map(|at| PLACE + (round * 12 + at) * 64).collect();
    let trace = Loop { body: &body, touches: &touches, ..Loop::default() }.trace();
    let core = zen4();
    let timings = TimingTable::of(&core).unwrap();
    let part = Part { warm_up: 10_000, ..Part::default() };
    let simulated = simulate(&core, &timings, &trace, part, &Unwatched).unwrap();
    let of = |name: &str| simulated.stack.cycles().find(|one| one.0 == name).map_or(0.0, |it| it.1);
    assert!(of("store queue") > 0.5 * simulated.cycles as f64, "{:?}", simulated.stack);
    assert_eq!(of("other core"), 0.0);
}

/// Loads that find no buffer wait, and meanwhile prefetchers find one beyond the first level.
#[test]
fn a_stream_from_memory_is_nearly_as_fast_as_memory() {
    let core = zen4();
    // vmovdqu64 zmm0, [rdi] four times, a line each
    let body = [0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x07].repeat(4);
    let touches = |round: u64| (0..4).map(|line| 0x1000_0000 + (4 * round + line) * 64).collect();
    let rounds = 8000;
    let stream = Loop { body: &body, touches: &touches, rounds, ..Loop::default() }.trace();
    let warm_up = stream.threads()[0].instructions / 2;
    let part = Part { warm_up, ..Part::default() };
    let found =
        simulate(&core, &TimingTable::of(&core).unwrap(), &stream, part, &Unwatched).unwrap();
    let bytes_a_ns = (rounds / 2 * 4 * 64) as f64 / (found.cycles as f64 / core.gigahertz);
    let most = core.hierarchy.main.gigabytes_a_second;
    assert!(bytes_a_ns > 0.8 * most && bytes_a_ns < 1.02 * most, "{bytes_a_ns} of {most} GB/s");
}

#[test]
fn a_line_is_looked_for_when_another_address_reaches_it() {
    let walk = |code: &[u8], step: u64, offsets: &[u64], core: &CoreModel| {
        cycles_at(core, code, |copy| offsets.iter().map(|at| PLACE + step * copy + at).collect())
    };
    // add rbx, 64; mov rax, [rbx]; mov rcx, [rbx+8], whose places are given apart from the code.
    let one = [0x48, 0x83, 0xc3, 0x40, 0x48, 0x8b, 0x03];
    let two = [&one[..], &[0x48, 0x8b, 0x4b, 0x08]].concat();
    // Both are measured as 2.0; here loads that are repeated take the place of others.
    for (code, offsets) in [(&one[..], &[0][..]), (&two, &[0, 8])] {
        let found = walk(code, 64, offsets, &zen4());
        assert!((2.0..2.7).contains(&found), "{found}");
    }
    assert_near(walk(&one, 4096, &[0], &zen4()), 13.0);
    let mut without = zen4();
    without.memory.microtags = None;
    assert_near(walk(&one, 64, &[0], &without), 1.0);
}

#[test]
fn what_was_pushed_is_popped_from_its_register() {
    // push rax; pop rax; add rax, 1
    let code = [0x50, 0x58, 0x48, 0x83, 0xc0, 0x01];
    assert_near(cycles_on(&zen4(), &code), 1.0);
    let mut without = zen4();
    without.memory.forwarding.renamed = None;
    assert!(cycles_on(&without, &code) > 7.0);
}

#[test]
fn a_load_into_a_part_of_a_register_is_merged() {
    // mov ax, [rbx]
    assert_near(cycles_on(&zen4(), &[0x66, 0x8b, 0x03]), 1.0);
}

#[test]
fn a_conversion_merges_late() {
    // cvtsi2sd xmm1, eax
    assert_near(cycles_on(&zen4(), &[0xf2, 0x0f, 0x2a, 0xc8]), 3.0);
}

#[test]
fn sbb_of_one_register_needs_the_carry_alone() {
    // cmp eax, 1; sbb ecx, ecx
    let code = [0x83, 0xf8, 0x01, 0x19, 0xc9];
    assert_near(cycles_on(&zen4(), &code), 0.5);
    let mut without = zen4();
    without.back.elimination.carry_idioms.clear();
    assert_near(cycles_on(&without, &code), 1.0);
}
