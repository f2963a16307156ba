//! Sniper's files, as its reader goes through them.

use std::collections::HashMap;

use corun_trace::convert::champsim::import;
use corun_trace::convert::{ExportError, Foreign};
use corun_trace::{Event, Marker, Recording, ThreadId};

use crate::convert::program::{COPY, FUNCTION, Run, STACK, TABLE, path, run};

/// An instruction as the reader gives it to the simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    address: u64,
    code: Vec<u8>,
    accesses: Vec<u64>,
    is_branch: bool,
    taken: bool,
    is_predicate: bool,
    executed: bool,
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn size(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }
}

fn read(file: &[u8]) -> Vec<Read> {
    let mut reader = Reader { rest: file };
    assert_eq!(reader.take(4), b"SIFT");
    assert_eq!((reader.size(), reader.word()), (0, 4));
    let (mut bytes, mut decoded) = (HashMap::new(), HashMap::<u64, Vec<u8>>::new());
    let (mut next, mut found) = (0, Vec::new());
    loop {
        let first = reader.take(1)[0];
        let (length, flags) = match first {
            0 => {
                let (kind, size) = (reader.take(1)[0], reader.size());
                match kind {
                    11 => {
                        let address = reader.word();
                        let code = reader.take(size as usize - 8);
                        bytes.extend((address..).zip(code.iter().copied()));
                        continue;
                    }
                    0xff => {
                        assert_eq!((size, reader.rest), (0, &[][..]), "the end is the end");
                        return found;
                    }
                    kind => panic!("a record that a file does not have: {kind}"),
                }
            }
            _ if first & 15 != 0 => (first & 15, first >> 4 | 0b10_0000),
            _ => {
                let flags = reader.take(1)[0];
                next = reader.word();
                (first >> 4, flags)
            }
        };
        let count = flags & 3;
        assert!(count <= 2, "the reader has room for two");
        let code = || (next..next + u64::from(length)).map(|at| bytes[&at]).collect();
        let code = decoded.entry(next).or_insert_with(code).clone();
        assert_eq!(code.len(), usize::from(length), "an address is decoded once");
        found.push(Read {
            address: next,
            code,
            accesses: (0..count).map(|_| reader.word()).collect(),
            is_branch: flags & 4 != 0,
            taken: flags & 8 != 0,
            is_predicate: flags & 16 != 0,
            executed: flags & 32 != 0,
        });
        next += u64::from(length);
    }
}

fn plain(address: u64, code: &[u8], accesses: &[u64]) -> Read {
    Read {
        address,
        code: code.to_vec(),
        accesses: accesses.to_vec(),
        is_branch: false,
        taken: false,
        is_predicate: false,
        executed: true,
    }
}

#[test]
fn every_field_of_a_program_is_exported() {
    let (file, exported) = run(2).exported(Foreign::Sift);
    let call = plain(0x40_1007, &[0xe8, 0xf4, 0, 0, 0], &[STACK - 8]);
    let add = |round: u64| plain(0x40_1100, &[0x48, 0x03, 0x04, 0xcf], &[TABLE + 8 * round]);
    let ret = plain(0x40_1104, &[0xc3], &[STACK - 8]);
    let decrement = plain(0x40_100c, &[0xff, 0xc9], &[]);
    let condition = |taken| Read { is_branch: true, taken, ..plain(0x40_100e, &[0x75, 0xf7], &[]) };
    let repeated = |read| Read { is_predicate: true, ..read };
    let copy =
        |at: u64| repeated(plain(0x40_1010, &[0xf3, 0xa4], &[0x70_1000 + at, 0x70_0000 + at]));
    let gather = |lane| repeated(plain(0x40_1205, &[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x88], &[lane]));
    let expected = [
        plain(0x40_1000, &[0xb9, 3, 0, 0, 0], &[]),
        plain(0x40_1005, &[0x31, 0xc0], &[]),
        call.clone(),
        add(2),
        ret.clone(),
        decrement.clone(),
        condition(true),
        call,
        add(1),
        ret,
        decrement,
        condition(false),
        copy(0),
        copy(1),
        copy(2),
        plain(0x40_1012, &[0xff, 0x25, 0, 0, 0, 0], &[0x40_1018]),
        plain(0x40_1200, &[0xf0, 0x48, 0x0f, 0xc7, 0x0f], &[TABLE]),
        gather(0x100),
        gather(0x200),
        gather(0x300),
        gather(0x400),
        gather(0x500),
        plain(0x40_120b, &[0x8f, 0x00], &[0x70_2000, STACK]),
        plain(0x40_120d, &[0x0f, 0xae, 0x38], &[0x70_2040]),
        plain(0x40_1210, &[0x0f, 0x05], &[]),
    ];
    for (read, expected) in read(&file).iter().zip(&expected) {
        assert_eq!(read, expected, "{:#x}", expected.address);
    }
    assert_eq!(read(&file).len(), expected.len());
    assert_eq!((exported.instructions, exported.records), (19, 25));
}

#[test]
fn a_repeated_instruction_that_does_nothing_is_not_executed() {
    let mut run = Run::new();
    run.executes_first(1, COPY, &[0, 0x10, 0, 0x20]);
    let read = read(&run.exported(Foreign::Sift).0);
    let nothing = plain(0x40_1010, &[0xf3, 0xa4], &[0, 0]);
    assert_eq!(read, [Read { is_predicate: true, executed: false, ..nothing }]);
}

#[test]
fn code_that_changes_is_placed_elsewhere() {
    let mut run = Run::new();
    let changed = (FUNCTION.0, &[0x90, 0xc3][..]);
    run.executes(FUNCTION, &[TABLE, STACK]);
    run.executes(changed, &[STACK]);
    run.executes(FUNCTION, &[TABLE, STACK]);
    let (file, exported) = run.exported(Foreign::Sift);
    let addresses: Vec<_> = read(&file).iter().map(|read| read.address).collect();
    let moved = FUNCTION.0 | 1 << 48;
    let (old, new) = ([FUNCTION.0, FUNCTION.0 + 4], [moved, moved + 1]);
    assert_eq!(addresses, [old, new, old].concat());
    assert_eq!(exported.remarks.len(), 1, "{:?}", exported.remarks);
}

#[test]
fn a_trace_without_code_is_refused() {
    let (file, _) = run(2).exported(Foreign::ChampSim);
    let mut recording = Recording::default();
    import(&file[..], &mut recording).unwrap();
    let mut exporter = Foreign::Sift.exporter(Vec::new()).unwrap();
    let mut events = recording.events(ThreadId(0));
    let error = events.find_map(|event| exporter.event(&recording.blocks, event).err());
    assert!(matches!(error, Some(ExportError::NoCode { address: 0x40_1000 })), "{error:?}");
}

#[test]
fn the_path_is_the_recordings() {
    let run = run(5);
    let (instructions, markers) = path(&run.recording);
    let mut read: Vec<_> = read(&run.exported(Foreign::Sift).0);
    read.dedup_by_key(|read| read.address);
    assert_eq!(read.iter().map(|read| read.address).collect::<Vec<_>>(), instructions);
    let last = run.recording.events(ThreadId(0)).last();
    assert!(matches!(last, Some(Event::Marker(last)) if last.marker == Marker::Ended));
    assert_eq!(markers, 2);
}
