//! A thread's executions as a stream of records.

use std::io::{self, BufWriter, Write};

use super::code::{EmittedCode, VERSIONS};
use super::instruction::{ADDRESSES, Template};
use crate::convert::{Encode, Execution, ExportError, Exported, decoded};
use crate::{BranchKind, accesses};

/// At the start of a file: "SIFT".
const MAGIC: u32 = 0x5446_4953;

/// Code comes in pieces of any length, not in whole pages.
const OPTION_VARIABLE_CODE: u64 = 4;

/// Records that are no instructions.
const RECORD_CODE: u8 = 11;
const RECORD_END: u8 = 0xff;

/// Writes a file.
pub(in crate::convert) struct Stream<W: Write> {
    output: BufWriter<W>,
    code: EmittedCode,
    /// By identity of the block, made when it is first executed.
    blocks: Vec<Option<Placed>>,
    /// Where the reader expects the next instruction.
    expected: u64,
    instructions: u64,
    records: u64,
    moved: u64,
    addresses_left_out: u64,
}

/// A block that the reader knows.
struct Placed {
    address: u64,
    templates: Box<[Template]>,
}

/// One record of an instruction.
struct Step {
    template: Template,
    address: u64,
    taken: bool,
    executed: bool,
    accesses: [u64; ADDRESSES],
}

impl<W: Write> Stream<W> {
    pub(crate) fn new(output: W) -> io::Result<Self> {
        let mut output = BufWriter::new(output);
        output.write_all(&MAGIC.to_le_bytes())?;
        output.write_all(&0u32.to_le_bytes())?;
        output.write_all(&OPTION_VARIABLE_CODE.to_le_bytes())?;
        Ok(Self {
            output,
            code: EmittedCode::default(),
            blocks: Vec::new(),
            expected: 0,
            instructions: 0,
            records: 0,
            moved: 0,
            addresses_left_out: 0,
        })
    }

    /// The block as the reader knows it, defined first if this is its first execution.
    fn placed(&mut self, execution: &Execution<'_>) -> Result<Placed, ExportError> {
        let id = execution.id.0 as usize;
        if self.blocks.len() <= id {
            self.blocks.resize_with(id + 1, || None);
        }
        if let Some(placed) = self.blocks[id].take() {
            return Ok(placed);
        }
        let block = execution.block;
        let bytes = block.bytes().ok_or(ExportError::NoCode { address: block.address })?;
        let address = self
            .code
            .place(block.address, bytes)
            .ok_or(ExportError::TooManyVersions { address: block.address, limit: VERSIONS })?;
        self.moved += u64::from(address != block.address);
        self.other(RECORD_CODE, &[&address.to_le_bytes(), bytes].concat())?;
        let mut operands = &block.operands[..];
        let instructions = decoded(block.address, bytes).zip(&block.instructions);
        let template = |(decoded, instruction): (_, &crate::Instruction)| {
            let (own, rest) = operands.split_at(instruction.operands.into());
            operands = rest;
            Template::new(&decoded, own)
        };
        Ok(Placed { address, templates: instructions.map(template).collect() })
    }

    fn other(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.output.write_all(&[0, kind])?;
        self.output.write_all(&(payload.len() as u32).to_le_bytes())?;
        self.output.write_all(payload)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let Step { template, address, taken, executed, accesses } = *step;
        let flags = template.addresses as u8
            | u8::from(template.is_conditional) << 2
            | u8::from(taken) << 3;
        if address == self.expected && !template.is_predicated {
            self.output.write_all(&[template.length | flags << 4])?;
        } else {
            let flags = flags | u8::from(template.is_predicated) << 4 | u8::from(executed) << 5;
            self.output.write_all(&[template.length << 4, flags])?;
            self.output.write_all(&address.to_le_bytes())?;
        }
        for access in &accesses[..template.addresses] {
            self.output.write_all(&access.to_le_bytes())?;
        }
        self.expected = address.wrapping_add(template.length.into());
        self.records += 1;
        Ok(())
    }
}

impl<W: Write> Encode for Stream<W> {
    fn execution(&mut self, execution: &Execution<'_>) -> Result<(), ExportError> {
        let placed = self.placed(execution)?;
        let mut address = placed.address;
        let moved = placed.address ^ execution.block.address;
        let mut all = accesses(execution.block, execution.executed, execution.values).peekable();
        for (template, index) in placed.templates.iter().zip(0..execution.executed) {
            let end = address.wrapping_add(template.length.into());
            let taken =
                template.is_conditional && execution.is_taken(BranchKind::Conditional, end ^ moved);
            let mut is_first = true;
            while is_first || all.peek().is_some_and(|access| access.instruction == index) {
                let mut found = [0; ADDRESSES];
                let mut count = 0;
                let places = found.iter_mut().take(template.addresses);
                for place in places {
                    let Some(access) = all.next_if(|access| access.instruction == index) else {
                        break;
                    };
                    *place = access.address;
                    count += 1;
                }
                if template.is_written_first && count == 2 {
                    found.swap(0, 1);
                }
                if !is_first && !template.is_predicated {
                    self.addresses_left_out += count;
                    continue;
                }
                let executed = !template.is_predicated || count > 0;
                let template = *template;
                self.step(&Step { template, address, taken, executed, accesses: found })?;
                is_first = false;
            }
            self.instructions += 1;
            address = end;
        }
        self.blocks[execution.id.0 as usize] = Some(placed);
        Ok(())
    }

    fn finish(&mut self) -> Result<Exported, ExportError> {
        self.other(RECORD_END, &[])?;
        self.output.flush()?;
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let remarks = [
            counted(
                self.records - self.instructions,
                "records continue a string instruction, a gather or a scatter, as Sniper's own \
                 tracer has it; Sniper counts them as instructions.",
            ),
            counted(
                self.moved,
                "blocks of code that changed are emitted at another address, which differs in its \
                 highest 16 bits.",
            ),
            counted(
                self.addresses_left_out,
                "accesses are left out: of an instruction with more than two.",
            ),
        ];
        let remarks = remarks.into_iter().flatten().collect();
        Ok(Exported { instructions: self.instructions, records: self.records, remarks })
    }
}
