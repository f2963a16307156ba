//! ChampSim's records, both ways.

use corun_record::Unwatched;
use corun_trace::convert::Exporter;
use corun_trace::convert::champsim::{ImportError, Imported, import};
use corun_trace::format::check;
use corun_trace::{
    BranchKind, ChampSimInstruction, Code, Direction, Marker, Recording, ThreadId, disassemble,
    summary,
};
use proptest::prelude::*;

use crate::convert::program::{
    CONDITION, COPY, Run, STACK, START, TABLE, export, path, run, trace_of,
};

/// A record, read field by field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    ip: u64,
    is_branch: u8,
    taken: u8,
    writes: Vec<u8>,
    reads: Vec<u8>,
    stores: Vec<u64>,
    loads: Vec<u64>,
}

fn read(file: &[u8]) -> Vec<Read> {
    assert_eq!(file.len() % 64, 0);
    let registers = |bytes: &[u8]| bytes.iter().copied().filter(|&number| number != 0).collect();
    let addresses = |bytes: &[u8]| {
        let words = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        words.filter(|&address| address != 0).collect()
    };
    let record = |bytes: &[u8]| Read {
        ip: u64::from_le_bytes(bytes[..8].try_into().unwrap()),
        is_branch: bytes[8],
        taken: bytes[9],
        writes: registers(&bytes[10..12]),
        reads: registers(&bytes[12..16]),
        stores: addresses(&bytes[16..32]),
        loads: addresses(&bytes[32..]),
    };
    file.chunks(64).map(record).collect()
}

fn kind(record: &Read) -> Option<BranchKind> {
    let mut champsim = ChampSimInstruction::default();
    champsim.writes[..record.writes.len()].copy_from_slice(&record.writes);
    champsim.reads[..record.reads.len()].copy_from_slice(&record.reads);
    champsim.branch_kind()
}

#[test]
fn every_field_of_a_program_is_exported() {
    let (file, exported) = run(2).exported();
    let records = read(&file);
    let plain = |ip, writes: &[u8], reads: &[u8]| Read {
        ip,
        is_branch: 0,
        taken: 0,
        writes: writes.to_vec(),
        reads: reads.to_vec(),
        stores: vec![],
        loads: vec![],
    };
    let branch = |taken, record: Read| Read { is_branch: 1, taken, ..record };
    let call = Read { stores: vec![STACK - 8], ..branch(1, plain(0x40_1007, &[6, 26], &[6, 26])) };
    let add = |round: u64| Read {
        loads: vec![TABLE + 8 * round],
        ..plain(0x40_1100, &[10, 25], &[10, 3, 9])
    };
    let ret = Read { loads: vec![STACK - 8], ..branch(1, plain(0x40_1104, &[6, 26], &[6])) };
    let decrement = plain(0x40_100c, &[9, 25], &[9]);
    let condition = |taken| branch(taken, plain(0x40_100e, &[26], &[26, 25]));
    let copy = |loads: &[u64], stores: &[u64]| Read {
        loads: loads.to_vec(),
        stores: stores.to_vec(),
        ..plain(0x40_1010, &[9, 3], &[9, 3, 4])
    };
    let gather = |loads: &[u64]| Read {
        loads: loads.to_vec(),
        ..plain(0x40_1205, &[32, 34], &[32, 10, 33, 34])
    };
    let expected = [
        plain(0x40_1000, &[9], &[]),
        plain(0x40_1005, &[10, 25], &[]),
        call.clone(),
        add(2),
        ret.clone(),
        decrement.clone(),
        condition(1),
        call,
        add(1),
        ret,
        decrement,
        condition(0),
        copy(&[0x70_0000, 0x70_0001, 0x70_0002], &[0x70_1000, 0x70_1001]),
        copy(&[], &[0x70_1002]),
        Read { loads: vec![0x40_1018], ..branch(1, plain(0x40_1012, &[26], &[27])) },
        Read {
            loads: vec![TABLE],
            stores: vec![TABLE],
            ..plain(0x40_1200, &[10, 8], &[3, 7, 9, 10])
        },
        gather(&[0x100, 0x200, 0x300, 0x400]),
        gather(&[0x500]),
        Read { loads: vec![STACK], stores: vec![0x70_2000], ..plain(0x40_120b, &[6], &[6, 10]) },
        Read { loads: vec![0x70_2040], ..plain(0x40_120d, &[], &[10]) },
        plain(0x40_1210, &[9, 14], &[25]),
    ];
    let sorted = |record: &Read| {
        let mut record = record.clone();
        record.writes.sort_unstable();
        record.reads.sort_unstable();
        record
    };
    for (record, expected) in records.iter().zip(&expected) {
        assert_eq!(sorted(record), sorted(expected), "{:#x}", record.ip);
    }
    assert_eq!(records.len(), expected.len());
    let kinds: Vec<_> = records.iter().filter_map(kind).collect();
    use BranchKind::{Call, Conditional, IndirectJump, Return};
    assert_eq!(kinds, [Call, Return, Conditional, Call, Return, Conditional, IndirectJump]);
    assert_eq!((exported.instructions, exported.records), (19, 21));
    assert_eq!(exported.remarks.len(), 2, "{:?}", exported.remarks);
}

#[test]
fn a_condition_whose_outcome_is_hidden_counts_as_not_met() {
    let hidden = |marker| {
        let mut run = Run::new();
        run.executes(CONDITION, &[]);
        run.marks(marker);
        run.executes(START, &[STACK]);
        read(&run.exported().0)[1].taken
    };
    assert_eq!(hidden(Marker::Signal(14)), 0);
    assert_eq!(hidden(Marker::Switch), 1, "another thread hides nothing");
}

#[test]
fn a_block_cut_short_is_exported_as_far_as_it_was_executed() {
    let mut run = Run::new();
    run.executes_first(1, COPY, &[0, 0x10, 0, 0x20]);
    let records = read(&run.exported().0);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].ip, records[0].loads.len()), (0x40_1010, 0));
}

fn imported(file: &[u8]) -> (Recording, Result<Imported, ImportError>) {
    let mut recording = Recording::default();
    let result = import(file, &mut recording);
    (recording, result)
}

fn exported_again(recording: &Recording) -> Vec<u8> {
    let mut file = Vec::new();
    export(recording, Exporter::new(&mut file));
    file
}

#[test]
fn an_import_keeps_what_champsim_can_hold() {
    let program = run(2);
    let (file, exported) = program.exported();
    let (recording, result) = imported(&file);
    let result = result.unwrap();
    assert_eq!(result.instructions, exported.records);
    assert_eq!(result.blocks, recording.blocks.len() as u64);

    let (mut instructions, _) = path(&program.recording);
    instructions.dedup();
    let (mut again, _) = path(&recording);
    again.dedup();
    assert_eq!(again, instructions);

    let addresses = |recording: &Recording| -> Vec<(u64, bool)> {
        let champsim = |access: corun_trace::Access| {
            let both = access.direction == Direction::ReadWrite;
            let first = (access.address, access.direction == Direction::Write);
            [Some(first), both.then_some((access.address, true))].into_iter().flatten()
        };
        let mut all: Vec<_> = recording.accesses(ThreadId(0)).flat_map(champsim).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(addresses(&recording), addresses(&program.recording));

    let first = &recording.blocks[0];
    let lengths: Vec<_> = first.instructions.iter().map(|instruction| instruction.length).collect();
    assert_eq!(lengths, [5, 2, 0], "the length of a call is not known");
    let Code::ChampSim(champsim) = &first.code else { panic!("{:?}", first.code) };
    assert_eq!(champsim[2].branch_kind(), Some(BranchKind::Call));
    assert_eq!(exported_again(&recording), file);
}

#[test]
fn an_error_says_where() {
    let (file, _) = run(2).exported();
    let error = |file: &[u8]| imported(file).1.unwrap_err().to_string();
    let changed = |at: usize, value: u8| {
        let mut file = file.clone();
        file[at] = value;
        error(&file)
    };
    let (kept, result) = imported(&file[..3 * 64 + 10]);
    assert_eq!(
        result.unwrap_err().to_string(),
        "expected a record of 64 bytes at byte 192 of the ChampSim trace, found 10 bytes and the end"
    );
    assert_eq!(kept.instructions(ThreadId(0)).count(), 3, "what comes before is kept");
    assert_eq!(
        changed(2 * 64 + 8, 7),
        "expected 0 or 1 for a branch at byte 136 of the ChampSim trace, found 0x7"
    );
    assert_eq!(
        changed(9, 0xff),
        "expected 0 or 1 for a branch taken at byte 9 of the ChampSim trace, found 0xff"
    );
    let mut file = file.clone();
    file[64..72].fill(0);
    assert_eq!(
        error(&file),
        "expected the address of an instruction at byte 64 of the ChampSim trace, found 0x0"
    );
    assert_eq!(imported(&[]).1.unwrap().instructions, 0);
}

fn any_record() -> impl Strategy<Value = [u8; 64]> {
    let address = prop_oneof![Just(0u64), 1..99u64, Just(u64::MAX)];
    let ip = prop_oneof![4 => 1..60u64, 1 => Just(u64::MAX), 1 => 1..u64::MAX];
    let register = prop_oneof![Just(0u8), Just(6), Just(25), Just(26), Just(200)];
    let parts =
        (ip, any::<[bool; 2]>(), prop::array::uniform6(register), prop::array::uniform6(address));
    parts.prop_map(|(ip, branch, registers, addresses)| {
        let mut record = [0; 64];
        record[..8].copy_from_slice(&ip.to_le_bytes());
        record[8..10].copy_from_slice(&branch.map(u8::from));
        record[10..16].copy_from_slice(&registers);
        for (place, address) in record[16..].chunks_mut(8).zip(addresses) {
            place.copy_from_slice(&address.to_le_bytes());
        }
        record
    })
}

#[test]
fn an_import_is_checked_and_summed_up_like_a_trace() {
    let (file, exported) = run(2).exported();
    let trace = trace_of(&file).unwrap();
    let checked = check(&trace, &Unwatched);
    assert_eq!((checked.instructions, checked.breaks), (exported.records, 0));
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    let (summary, damage) = summary(&trace, 1, &Unwatched);
    assert!(damage.is_none(), "{damage:?}");
    let branches = summary.branches;
    let counts = (branches.conditional, branches.taken, branches.calls, branches.returns);
    assert_eq!(counts, (2, 1, 2, 2));
    let text = disassemble(trace.block(summary.hottest[0].block));
    assert_eq!(text[0], (0x40_1100, "(no code) writes 10 25 reads 10 3 9".to_owned()));
}

proptest! {
    #[test]
    fn any_trace_comes_through_the_format(records in prop::collection::vec(any_record(), 1..200)) {
        let file = records.concat();
        let trace = trace_of(&file).unwrap();
        let mut again = Vec::new();
        let mut exporter = Exporter::new(&mut again);
        let mut events = trace.events(ThreadId(0)).unwrap();
        while let Some(event) = events.next_event().unwrap() {
            exporter.event(trace.blocks(), event).unwrap();
        }
        exporter.finish(trace.blocks()).unwrap();
        prop_assert_eq!(again, file);
    }

    #[test]
    fn any_trace_comes_back_byte_by_byte(
        records in prop::collection::vec(any_record(), 0..200),
        straight in any::<bool>(),
    ) {
        let mut records = records;
        if straight {
            for (record, ip) in records.iter_mut().zip((1000u64..).step_by(3)) {
                record[..8].copy_from_slice(&ip.to_le_bytes());
            }
        }
        let file = records.concat();
        let (recording, result) = imported(&file);
        prop_assert_eq!(result.unwrap().instructions, records.len() as u64);
        prop_assert_eq!(exported_again(&recording), file);
    }

    #[test]
    fn any_bytes_are_imported_or_refused(file in prop::collection::vec(any::<u8>(), 0..300)) {
        let (recording, _) = imported(&file);
        prop_assert!(recording.instructions(ThreadId(0)).count() <= file.len() / 64);
    }
}
