//! The front end on jumps and NOPs whose cycles follow from the model by hand.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_sim::{Part, Simulated, Unwatched, simulate};
use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{Sink, decode};

use super::assert_near;
use crate::blocks::model;
use crate::made;

/// The second half of a program's instructions.
fn second_half(core: &CoreModel, trace: &Trace) -> Simulated {
    let timings = TimingTable::of(core).unwrap();
    let warm_up = trace.threads()[0].instructions / 2;
    simulate(core, &timings, trace, Part { warm_up, ..Part::default() }, &Unwatched).unwrap()
}

pub(super) fn cycles_each(core: &CoreModel, trace: &Trace) -> f64 {
    let simulated = second_half(core, trace);
    simulated.cycles as f64 / simulated.instructions as f64
}

/// Blocks of code one after the other, round after round; each goes to the next. With each the places in
/// memory that it touches.
pub(super) fn rounds(blocks: &[(u64, Vec<u8>, &[u64])], rounds: u64) -> Trace {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    let mut define = |(at, code, _): &(u64, Vec<u8>, &[u64])| {
        let block = decode(*at, code).unwrap();
        let count = block.instructions.len() as u32;
        (writer.define(block).unwrap(), count)
    };
    let defined: Vec<_> = blocks.iter().map(&mut define).collect();
    let thread = writer.thread(1).unwrap();
    for _ in 0..rounds {
        for (&(block, count), (_, _, touches)) in defined.iter().zip(blocks) {
            writer.execute(thread, block, count, touches).unwrap();
        }
    }
    Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
}

/// A jump or a call from one place to another.
pub(super) fn to(opcode: u8, from: u64, to: u64) -> Vec<u8> {
    let distance = to.wrapping_sub(from + 5) as i32;
    [&[opcode][..], &distance.to_le_bytes()].concat()
}

#[test]
fn prediction_that_is_ahead_hides_what_the_first_level_lacks() {
    // 1024 jumps in lines of their own, in an order without a pattern: 64 KiB.
    let lies = |place: u64| place * 389 % 1024 * 64;
    let trace = made::jumps(1024, 20, lies);
    let mut core = model("zen3");
    core.front.op_cache = None;
    let ahead = cycles_each(&core, &trace);
    core.front.prediction.ahead = 0;
    let without = cycles_each(&core, &trace);
    assert!(without > 2.0 * ahead, "{ahead} cycles a jump, {without} without");
    assert!(without > f64::from(core.front.l1i.miss), "{without}");
}

#[test]
fn calls_and_returns_take_what_the_model_says() {
    // Calls from one place after the other, and `ret`; the stack is touched at one place.
    const STACK: &[u64] = &[0x7000_0000];
    let blocks: Vec<_> = (0..16_u64)
        .flat_map(|place| {
            let (from, called) = (0x1000 + 64 * place, 0x9000 + 64 * place);
            let next = if place == 15 { 0x1000 } else { from + 64 };
            let jump = to(0xe9, from + 5, next);
            let call = to(0xe8, from, called);
            [(from, call, STACK), (called, vec![0xc3], STACK), (from + 5, jump, &[][..])]
        })
        .collect();
    let trace = rounds(&blocks, 400);
    let mut core = model("zen3");
    for linking in [0, 1, 4] {
        core.front.prediction.linking = linking;
        // Three taken branches, each of which ends a cycle of fetch.
        let expected = 3.0 + 2.0 * f64::from(linking);
        assert_near(3.0 * cycles_each(&core, &trace), expected);
    }
}

#[test]
fn a_loop_that_fits_into_its_buffer_has_no_bubble() {
    let mut core = model("ivy-bridge");
    core.front.prediction.ahead = 0;
    let mut cycles = |uops: usize, buffer: Option<u32>| {
        let nops = [0x90].repeat(uops - 1);
        let jump = to(0xe9, 0x1000 + nops.len() as u64, 0x1000);
        let trace = rounds(&[(0x1000, [nops, jump].concat(), &[][..])], 600);
        if let Some(it) = &mut core.front.loop_buffer {
            it.uops = buffer.unwrap_or(1);
        }
        uops as f64 * cycles_each(&core, &trace)
    };
    // Four micro-ops a cycle, and a cycle after the jump where the buffer does not hold the loop.
    for (uops, with, without) in [(4, 1.0, 2.0), (28, 7.0, 8.0), (32, 9.0, 9.0)] {
        assert_near(cycles(uops, Some(28)), with);
        assert_near(cycles(uops, None), without);
    }
}

#[test]
fn a_line_of_a_trace_cache_goes_on_behind_a_taken_branch() {
    // Three NOPs and a jump, in three places: three such blocks are two lines of six micro-ops, of
    // which three come in a cycle. Where a line ends with the jump, a block takes two cycles.
    let at = |place: u64| 0x1000 + 64 * (place % 3);
    let block = |place: u64| {
        let code = [&[0x90; 3][..], &to(0xe9, at(place) + 3, at(place + 1))].concat();
        (at(place), code, &[][..])
    };
    let trace = rounds(&(0..3).map(block).collect::<Vec<_>>(), 1000);
    let mut core = model("netburst-xeon-mp");
    for (traces, cycles) in [(true, 4.0 / 3.0), (false, 2.0)] {
        core.front.op_cache.as_mut().unwrap().trace_cache = traces;
        assert_near(4.0 * cycles_each(&core, &trace), cycles);
    }
}

#[test]
fn zen_3_takes_one_line_of_decoded_code_a_cycle() {
    // Five NOPs and a jump across the end of a window: two lines of the op cache.
    let at = |place: u64| 0x103c + 128 * (place % 16);
    let nops = |place: u64| {
        let code = [&[0x90; 5][..], &to(0xe9, at(place) + 5, at(place + 1))].concat();
        (at(place), code, &[][..])
    };
    let trace = rounds(&(0..16).map(nops).collect::<Vec<_>>(), 200);
    let mut core = model("zen3");
    for (lines, cycles) in [(1, 2.0), (2, 1.0)] {
        core.front.op_cache.as_mut().unwrap().lines = lines;
        assert_near(6.0 * cycles_each(&core, &trace), cycles);
    }
}

#[test]
fn constants_that_a_line_has_no_room_for_take_another_cycle() {
    // Instructions of the same lengths, with an immediate of 64 bits or with nothing that an op cache keeps.
    let movabs = [&[0x48, 0xb8][..], &[0x11; 8]].concat();
    let nop = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let at = |place: u64| 0x1000 + 64 * (place % 16);
    for (with_constants, cycles) in [(3, 1.0), (4, 2.0)] {
        let line = |place: u64| {
            let own = (0..5).map(|number| if number < with_constants { &movabs } else { &nop[..] });
            let mut code: Vec<u8> = own.flatten().copied().collect();
            code.extend(to(0xe9, at(place) + code.len() as u64, at(place + 1)));
            (at(place), code, &[][..])
        };
        let trace = rounds(&(0..16).map(line).collect::<Vec<_>>(), 200);
        assert_near(6.0 * cycles_each(&model("zen3"), &trace), cycles);
    }
}
