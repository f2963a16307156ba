//! Recordings of threads that change places, made up for tests.

use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{Marker, OrderedMarker, Sink, ThreadId, decode};

/// A `lock cmpxchg [rax], rcx`, a `cmp qword ptr [rax], 0`, a `mov [rax], rbx` and a `lock inc qword ptr [rax]`, ...
pub(crate) const EXCHANGE: &[u8] = &[0xf0, 0x48, 0x0f, 0xb1, 0x08];
pub(crate) const POLL: &[u8] = &[0x48, 0x83, 0x38, 0x00];
pub(crate) const STORE: &[u8] = &[0x48, 0x89, 0x18];
pub(crate) const INCREMENT: &[u8] = &[0xf0, 0x48, 0xff, 0x00];
/// ... the last one and after it the first, ...
pub(crate) const GIVE_AND_TRY: &[u8] = &[0xf0, 0x48, 0xff, 0x00, 0xf0, 0x48, 0x0f, 0xb1, 0x08];
/// ... a system call, ...
pub(crate) const CALL: &[u8] = &[0x0f, 0x05];
/// ... and an `inc rcx`, so that a loop is another one each time.
pub(crate) const WORK: &[u8] = &[0x48, 0xff, 0xc1];

/// A step of a thread: which one, by which code, where, and its place among the markers of all, or 0.
pub(crate) type MadeStep = (usize, &'static [u8], u64, u64);

/// So many threads that do this.
pub(crate) fn recorded(threads: u32, steps: &[MadeStep]) -> (Trace, Vec<ThreadId>) {
    let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
    // The exchange is also the second instruction of what begins before it.
    let blocks = [
        (0x1004, EXCHANGE),
        (0x2000, POLL),
        (0x3000, STORE),
        (0x4000, INCREMENT),
        (0x1000, GIVE_AND_TRY),
        (0x5000, CALL),
        (0x6000, WORK),
    ];
    let blocks = blocks.map(|(at, code)| (code, writer.define(decode(at, code).unwrap()).unwrap()));
    let threads: Vec<_> = (0..threads).map(|number| writer.thread(7 + number).unwrap()).collect();
    for &(thread, code, place, order) in steps {
        let marker = if code == CALL { Marker::SystemCall(202) } else { Marker::Atomic };
        if order > 0 && code != CALL {
            writer.mark(threads[thread], OrderedMarker { order, marker }).unwrap();
        }
        let (_, block) = blocks.iter().find(|(own, _)| *own == code).unwrap();
        let executed = if code == GIVE_AND_TRY { 2 } else { 1 };
        let accesses = if code == CALL || code == WORK { 0 } else { executed as usize };
        writer.execute(threads[thread], *block, executed, &vec![place; accesses]).unwrap();
        if code == CALL {
            writer.mark(threads[thread], OrderedMarker { order, marker }).unwrap();
        }
    }
    (Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap(), threads)
}

/// Steps with places in this order, for what has a marker.
pub(crate) fn in_this_order(steps: &[(usize, &'static [u8], u64)]) -> Vec<MadeStep> {
    let with_marker = |code: &[u8]| code[0] == 0xf0 || code == CALL;
    let steps = steps.iter().zip(1..).map(|(&(thread, code, place), order)| {
        (thread, code, place, if with_marker(code) { order } else { 0 })
    });
    steps.collect()
}
