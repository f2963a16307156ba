use std::collections::BTreeMap;

use super::*;
use crate::format::{Closing, Options, Writer};
use crate::{Sink, decode};
use corun_record::Unwatched;

/// A loop of two rounds that loads, then a call that never returns, then a copy of three words.
#[test]
fn a_small_program_is_counted() {
    let opening = crate::format::Opening::default();
    let mut writer = Writer::new(Vec::new(), &opening, Options::default()).unwrap();
    let thread = writer.thread(1).unwrap();
    // mov eax, [rbx]; jne to the start
    let body = writer.define(decode(0x1000, &[0x8b, 0x03, 0x75, 0xfc]).unwrap()).unwrap();
    // call to what follows
    let call = writer.define(decode(0x1004, &[0xe8, 0, 0, 0, 0]).unwrap()).unwrap();
    // rep movsd
    let copy = writer.define(decode(0x1009, &[0xf3, 0xa5]).unwrap()).unwrap();
    writer.execute(thread, body, 2, &[0x2000]).unwrap();
    writer.execute(thread, body, 2, &[0x2040]).unwrap();
    writer.execute(thread, call, 1, &[0x8ff8]).unwrap();
    writer.execute(thread, copy, 1, &[6, 0x303c, 7, 0x4008]).unwrap();
    let trace = Trace::from_bytes(writer.finish(Closing::default()).unwrap()).unwrap();
    let (summary, damage) = summary(&trace, 1, &Unwatched);
    assert!(damage.is_none(), "{damage:?}");
    let hottest = HotBlock { block: body, address: 0x1000, executions: 2, share: 4.0 / 6.0 };
    let expected = Summary {
        instructions: 6,
        executions: 4,
        blocks: 3,
        branches: Branches { conditional: 2, taken: 1, calls: 1, ..Branches::default() },
        memory: Memory {
            loads: 5,
            stores: 4,
            prefetches: 0,
            sizes: BTreeMap::from([(4, 8), (8, 1)]),
        },
        code: Footprint { lines: 1, pages: 1, at_least: false },
        data: Footprint { lines: 6, pages: 4, at_least: false },
        hottest: vec![hottest],
    };
    assert_eq!(summary, expected);
    let lines = disassemble(trace.block(body));
    assert_eq!(lines[0], (0x1000, "mov eax,[rbx]".to_owned()));
    assert_eq!(lines[1].0, 0x1002);
}
