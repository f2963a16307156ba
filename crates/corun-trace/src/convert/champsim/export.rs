//! A thread's executions as records.

use std::io::{self, BufWriter, Write};

use iced_x86::InstructionInfoFactory;

use super::record::Record;
use super::registers::Registers;
use crate::convert::{Execution, Exported, decoded};
use crate::{Access, Block, BranchKind, ChampSimInstruction, Code, Direction, accesses};

/// Writes records.
pub(in crate::convert) struct Records<W: Write> {
    output: BufWriter<W>,
    factory: InstructionInfoFactory,
    /// By identity of the block, made when it is first executed.
    templates: Vec<Option<Box<[Template]>>>,
    instructions: u64,
    records: u64,
    registers_left_out: u64,
    unknown_addresses: u64,
}

/// Template of all executions of an instruction.
struct Template {
    record: Record,
    kind: Option<BranchKind>,
    registers_left_out: u32,
    /// Of an instruction that came from such a record: where its addresses go.
    places: Option<u8>,
}

impl<W: Write> Records<W> {
    pub(crate) fn new(output: W) -> Self {
        Self {
            output: BufWriter::new(output),
            factory: InstructionInfoFactory::new(),
            templates: Vec::new(),
            instructions: 0,
            records: 0,
            registers_left_out: 0,
            unknown_addresses: 0,
        }
    }

    fn templates(&mut self, execution: &Execution<'_>) -> Box<[Template]> {
        let id = execution.id.0 as usize;
        if self.templates.len() <= id {
            self.templates.resize_with(id + 1, || None);
        }
        let known = self.templates[id].take();
        known.unwrap_or_else(|| templates(execution.block, &mut self.factory))
    }

    pub(crate) fn execution(&mut self, execution: &Execution<'_>) -> io::Result<()> {
        let templates = self.templates(execution);
        let block = execution.block;
        let mut all = accesses(block, execution.executed, execution.values).peekable();
        let mut end = block.address;
        for ((instruction, template), index) in
            block.instructions.iter().zip(&templates).take(execution.executed as usize).zip(0..)
        {
            end = end.wrapping_add(u64::from(instruction.length));
            let mut record = template.record;
            if let Some(kind) = template.kind {
                record.branch_taken = execution.is_taken(kind, end).into();
            }
            let mut places = Places::new(template.places);
            while let Some(access) = all.next_if(|access| access.instruction == index) {
                self.unknown_addresses += u64::from(access.address == 0);
                if !places.put(&mut record, access) {
                    self.output.write_all(&record.to_bytes())?;
                    self.records += 1;
                    (record.loads, record.stores) = Default::default();
                    places = Places::new(template.places);
                    places.put(&mut record, access);
                }
            }
            self.output.write_all(&record.to_bytes())?;
            self.records += 1;
            self.instructions += 1;
            self.registers_left_out += u64::from(template.registers_left_out);
        }
        self.templates[execution.id.0 as usize] = Some(templates);
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> io::Result<Exported> {
        self.output.flush()?;
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let remarks = [
            counted(
                self.records - self.instructions,
                "records continue an instruction that has more accesses than a record holds; \
                 ChampSim counts them as instructions.",
            ),
            counted(
                self.registers_left_out,
                "times an instruction had one more register than a record holds.",
            ),
            counted(self.unknown_addresses, "accesses are missing, their addresses are not known."),
        ];
        let remarks = remarks.into_iter().flatten().collect();
        Ok(Exported { instructions: self.instructions, records: self.records, remarks })
    }
}

fn templates(block: &Block, factory: &mut InstructionInfoFactory) -> Box<[Template]> {
    match &block.code {
        Code::Bytes(bytes) => {
            let from_code = |decoded| Template::from_code(&decoded, factory);
            self::decoded(block.address, bytes).map(from_code).collect()
        }
        Code::ChampSim(champsim) => champsim
            .iter()
            .zip(block.addresses())
            .map(|(champsim, ip)| Template::from_champsim(champsim, ip))
            .collect(),
    }
}

impl Template {
    fn from_code(decoded: &iced_x86::Instruction, factory: &mut InstructionInfoFactory) -> Self {
        let kind = BranchKind::of(decoded);
        let Registers { writes, reads, left_out } = Registers::of(decoded, kind, factory);
        let is_branch = kind.is_some().into();
        let record = Record { ip: decoded.ip(), is_branch, writes, reads, ..Record::default() };
        Self { record, kind, registers_left_out: left_out, places: None }
    }

    fn from_champsim(champsim: &ChampSimInstruction, ip: u64) -> Self {
        let record = Record {
            ip,
            is_branch: champsim.branch.into(),
            branch_taken: champsim.taken.into(),
            writes: champsim.writes,
            reads: champsim.reads,
            ..Record::default()
        };
        Self { record, kind: None, registers_left_out: 0, places: Some(champsim.places) }
    }
}

/// Which places of a record are free, in their order.
struct Places {
    loads: u8,
    stores: u8,
}

impl Places {
    /// All, or those that a record had from which the instruction came.
    fn new(places: Option<u8>) -> Self {
        let places = places.unwrap_or(0b11_1111);
        Self { loads: places & 0b1111, stores: places >> 4 }
    }

    /// Puts an access into a record that has room for it.
    fn put(&mut self, record: &mut Record, access: Access) -> bool {
        let loads = access.direction != Direction::Write;
        let stores = matches!(access.direction, Direction::Write | Direction::ReadWrite);
        if loads && self.loads == 0 || stores && self.stores == 0 {
            return false;
        }
        if loads {
            record.loads[take_lowest(&mut self.loads)] = access.address;
        }
        if stores {
            record.stores[take_lowest(&mut self.stores)] = access.address;
        }
        true
    }
}

fn take_lowest(set: &mut u8) -> usize {
    let lowest = set.trailing_zeros();
    *set &= *set - 1;
    lowest as usize
}
