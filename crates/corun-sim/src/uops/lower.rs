//! From a block's bytes to micro-ops, by a core's model and timings.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use corun_trace::{Block, BranchKind, Direction, MemoryOperand, is_atomic};
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
    RflagsBits, UsedMemory,
};
use smallvec::smallvec;

use crate::uops::decoded::{
    awaited_target, exchanged, has_length_changing_prefix, is_immediate, is_serializing,
    is_spin_wait_hint, is_stack_operation, late,
};
use crate::uops::idiom::{Idiom, idiom};
use crate::uops::in_flight::InFlightUop;
use crate::uops::kind::{Kind, PortSet};
use crate::uops::operands::{Used, reads, writes};
use crate::uops::register::{File, RegisterId};
use crate::uops::slots;
use crate::uops::uop::{
    DecodedBlock, DecodedInstruction, Digest, Effect, Memory, Results, Source, Sources, Uop,
};
use corun_model::timing::{Class, ComputeUop, Lookup, Provenance, Timing, TimingTable, form};
use corun_model::{CoreModel, Division, Repetition};

/// Lowers blocks for one core, and counts the forms that its timing table has no row for.
#[derive(Debug)]
pub struct Lowering<'m> {
    model: &'m CoreModel,
    timings: &'m TimingTable,
    ports: HashMap<&'m str, PortSet>,
    /// Addresses by base, index, scale and displacement.
    names: HashMap<(Register, Register, Register, u32, u64), u32>,
    unknown: BTreeMap<String, Unknown>,
    quotients: BTreeMap<u32, u32>,
    /// Instructions by [`Provenance`] that were executed.
    executed: [u64; Provenance::ALL.len()],
    factory: InstructionInfoFactory,
}

impl Drop for Lowering<'_> {
    fn drop(&mut self) {
        self.record_usage();
    }
}

/// A form without a row of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Class that it was taken for.
    pub class: Class,
    /// Places in the code, by address.
    pub places: BTreeSet<u64>,
}

/// The most micro-ops of one instruction that are distinguished; the rest of a long microprogram counts
/// in slots and latency only.
const MAX_UOPS: usize = 24;
/// Displacements below it do not make an address complex (Intel, Optimization Reference Manual, 2.4.5.2).
const NEAR: u64 = 2048;

/// Gives x87 registers their places in the file, of which `top` is the first before the instruction. Returns which is the
/// first after it.
///
/// Where a block begins the top is taken to be where it always is: code leaves as much on the stack as it found.
fn stack_top(lowered: &mut DecodedInstruction, decoded: &Instruction, top: u8) -> u8 {
    let moves = decoded.fpu_stack_increment_info();
    if moves.increment() == 0 && top == 0 {
        return top;
    }
    let after = (i32::from(top) + moves.increment()).rem_euclid(8) as u8;
    // What pushes writes its result there; what pops writes it before that.
    let written = if moves.increment() < 0 { after } else { top };
    for uop in &mut lowered.uops {
        for source in &mut uop.sources {
            if let Source::Register(register, _) = source {
                *register = register.on_stack(top);
            }
        }
        for register in &mut uop.results {
            *register = register.on_stack(written);
        }
    }
    if let Effect::Exchange(one, other) = &mut lowered.effect {
        (*one, *other) = (one.on_stack(top), other.on_stack(top));
    }
    after
}

impl<'m> Lowering<'m> {
    /// For a core with its timings.
    pub fn new(model: &'m CoreModel, timings: &'m TimingTable) -> Self {
        let schedulers = model.back.schedulers.iter().flat_map(|scheduler| &scheduler.ports);
        let names = schedulers.chain(&model.back.units);
        let ports = names.enumerate().map(|(bit, name)| (name.as_str(), 1 << bit)).collect();
        Self {
            model,
            timings,
            ports,
            names: HashMap::new(),
            unknown: BTreeMap::new(),
            quotients: BTreeMap::new(),
            executed: [0; Provenance::ALL.len()],
            factory: InstructionInfoFactory::new(),
        }
    }

    /// The synchronisation micro-op that gives the back end the stack pointer.
    pub(crate) fn stack_update(&mut self) -> DecodedInstruction {
        // lea rsp, [rsp + 8]
        let bytes = [0x48, 0x8d, 0x64, 0x24, 0x08];
        let decoded = Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).decode();
        DecodedInstruction { length: 0, ..self.instruction(&decoded, &[]) }
    }

    /// Adds what was executed since the last time to the usage of the table.
    pub fn record_usage(&mut self) {
        let executed = std::mem::take(&mut self.executed);
        for provenance in Provenance::ALL {
            self.timings.usage().add(provenance, executed[provenance as usize]);
        }
    }

    /// Forms that fell back to a class, by name.
    pub fn unknown(&self) -> &BTreeMap<String, Unknown> {
        &self.unknown
    }

    /// For each width of a division in the code, the bits of its quotient that were assumed.
    pub fn assumed_quotients(&self) -> &BTreeMap<u32, u32> {
        &self.quotients
    }

    /// The block's instructions as decoded on this core. A block whose code is not known has none.
    pub(crate) fn lower(&mut self, block: &Block) -> DecodedBlock {
        let bytes = block.bytes().unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, bytes, block.address, DecoderOptions::NONE);
        let mut operands = block.operands.iter().copied();
        let mut instructions: Vec<DecodedInstruction> =
            Vec::with_capacity(block.instructions.len());
        let mut before: Option<Instruction> = None;
        let mut top = 0;
        for encoded in &block.instructions {
            if !decoder.can_decode() {
                break;
            }
            let decoded = decoder.decode();
            let own: Vec<MemoryOperand> = operands.by_ref().take(encoded.operands.into()).collect();
            let mut lowered = self.instruction(&decoded, &own);
            top = stack_top(&mut lowered, &decoded, top);
            if let (Some(first), Some(pending)) = (&before, instructions.last_mut())
                && self.fuses(first, &decoded)
            {
                fuse(pending, &mut lowered, self.ports(&self.model.front.fusion.ports));
            } else if let (Some(first), Some(pending)) = (&before, instructions.last_mut())
                && self.absorbs(first, pending, &decoded)
            {
                (pending.slots, pending.renamed) = (0, 0);
            }
            let from = (decoded.ip() - block.address) as usize;
            lowered.constants = slots::constants(&decoded, &decoder.get_constant_offsets(&decoded));
            lowered.opcode_at = slots::opcode_at(bytes.get(from..).unwrap_or_default());
            instructions.push(lowered);
            before = Some(decoded);
        }
        DecodedBlock::new(instructions)
    }

    fn instruction(&mut self, decoded: &Instruction, own: &[MemoryOperand]) -> DecodedInstruction {
        let mut lowered = DecodedInstruction {
            length: decoded.len() as u8,
            constants: 0,
            slots: 1,
            is_nop: false,
            renamed: 1,
            effect: Effect::Nothing,
            uops: Vec::new(),
            digest: Digest::default(),
            memory: Vec::new(),
            registers: [0; 3],
            loads: 0,
            stores: 0,
            branch: BranchKind::of(decoded),
            provenance: Provenance::Own,
            is_microcode: false,
            may_fuse: false,
            first_only: slots::is_named(decoded, &self.model.front.decoder.first_only),
            alone: slots::is_named(decoded, &self.model.front.decoder.alone),
            opcode_at: 0,
            executed: None,
            is_serializing: is_serializing(decoded.mnemonic()),
            pauses: 0,
            repetition: None,
            is_draining: decoded.mnemonic() == Mnemonic::Mfence,
            is_locked: is_atomic(decoded),
            has_length_changing_prefix: has_length_changing_prefix(decoded),
            uses_stack_pointer: false,
            moves_stack_pointer: false,
        };
        let elimination = &self.model.back.elimination;
        let found = idiom(decoded, elimination);
        let mut used = Used::of(decoded, &mut self.factory);
        if elimination.stack_engine && is_stack_operation(decoded) {
            lowered.moves_stack_pointer = true;
            used.forget(RegisterId::STACK_POINTER);
        } else {
            lowered.uses_stack_pointer = if elimination.stack_reads {
                used.results.contains(&RegisterId::STACK_POINTER)
            } else {
                used.names(RegisterId::STACK_POINTER)
            };
        }
        match found {
            Some(Idiom::Nop) => {
                lowered.is_nop = true;
                lowered.memory = own.iter().map(|&operand| unused(operand)).collect();
                return lowered;
            }
            Some(Idiom::Move(to, from)) => {
                if self.model.back.elimination.move_slots.is_some() {
                    let mut executed = lowered.clone();
                    self.execution(&mut executed, decoded, own, &used);
                    lowered.executed = Some(Box::new(executed));
                }
                lowered.effect = Effect::Move(to, from);
                return lowered;
            }
            Some(Idiom::Zero { without_port: true }) => {
                let mut zeroed = used.results.iter().copied();
                lowered.effect = Effect::Zero([(); 4].map(|()| zeroed.next()));
                return lowered;
            }
            Some(Idiom::Zero { without_port: false } | Idiom::Ones) => used.sources.clear(),
            Some(Idiom::Unmerged(kept)) => used.sources.retain(|source| *source != kept),
            Some(Idiom::Carry) => used.sources.retain(|source| source.file() == File::Flags),
            None => {}
        }
        self.execution(&mut lowered, decoded, own, &used);
        lowered
    }

    /// Timing of a repeated string instruction in the model, if it has one.
    fn repetition(&self, decoded: &Instruction) -> Option<Rc<Repetition>> {
        let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
        let mut all = self.model.back.repetitions.iter();
        all.find(|one| one.mnemonics.contains(&name)).cloned().map(Rc::new)
    }

    /// Micro-ops that are executed, by the timing of its form.
    fn execution(
        &mut self,
        lowered: &mut DecodedInstruction,
        decoded: &Instruction,
        own: &[MemoryOperand],
        used: &Used,
    ) {
        let (timing, provenance) = self.timing(decoded);
        let used = &used.clone().with(awaited_target(decoded, &timing));
        lowered.provenance = provenance;
        lowered.slots = timing.slots.max(1);
        lowered.pauses = if is_spin_wait_hint(decoded.mnemonic()) { timing.latency } else { 0 };
        if decoded.is_string_instruction() {
            lowered.repetition = self.repetition(decoded);
        }
        lowered.is_microcode = u32::from(timing.slots) >= self.model.front.microcode.from.max(1);
        if let Some((one, other)) = exchanged(decoded, &timing) {
            lowered.effect = Effect::Exchange(one, other);
            lowered.renamed = lowered.slots;
            return;
        }
        lowered.effect = Effect::Uops;
        self.uops(lowered, decoded, own, used, &timing);
        let fusion = &self.model.front.fusion;
        lowered.renamed = slots::renamed(decoded, lowered, fusion, &mut self.factory);
        lowered.may_fuse = slots::may_fuse(decoded, lowered, fusion);
        slots::share(lowered);
        for result in &used.results {
            match result.file() {
                File::Integer => lowered.registers[0] += 1,
                File::Vector => lowered.registers[1] += 1,
                File::Mask => lowered.registers[2] += 1,
                File::Flags => {}
            }
        }
    }

    fn timing(&mut self, decoded: &Instruction) -> (Timing, Provenance) {
        if matches!(decoded.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
            let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
            let width = match decoded.op0_kind() {
                OpKind::Register => decoded.op0_register().size() as u32 * 8,
                _ => decoded.memory_size().size() as u32 * 8,
            };
            let mut all = self.model.back.divisions.iter();
            let is_it = |one: &&Division| one.width == width && one.mnemonics.contains(&name);
            if let Some(division) = all.find(is_it) {
                self.quotients.insert(width, division.assumed_bits);
            }
        }
        match self.timings.trace(decoded) {
            (Lookup::Known(timing), provenance) => (timing.into_owned(), provenance),
            (Lookup::Fallback(class, timing), provenance) => {
                let timing = timing.into_owned();
                let unknown = Unknown { class, places: BTreeSet::new() };
                let places = &mut self.unknown.entry(form(decoded)).or_insert(unknown).places;
                places.insert(decoded.ip());
                (timing, provenance)
            }
        }
    }

    /// Counts the first instructions of the block as executed.
    pub(crate) fn count(&mut self, block: &DecodedBlock, executed: usize) {
        for (sum, count) in self.executed.iter_mut().zip(block.provenances_of(executed)) {
            *sum += u64::from(count);
        }
    }

    /// Loads first, then what computes, then stores.
    fn uops(
        &mut self,
        lowered: &mut DecodedInstruction,
        decoded: &Instruction,
        own: &[MemoryOperand],
        used: &Used,
        timing: &Timing,
    ) {
        let has = |file| used.results.iter().chain(&used.sources).any(|one| one.file() == file);
        let is_vector = has(File::Vector);
        let is_general = !is_vector && !has(File::Mask);
        let mut loaded = Vec::new();
        for (index, &operand) in (0..).zip(own) {
            let memory = self.memory(decoded, operand, timing, is_general);
            if operand.direction != Direction::Write {
                loaded.push(lowered.uops.len() as u8);
                lowered.uops.push(self.load(index, &memory, is_vector));
                lowered.loads += 1;
            }
            lowered.memory.push(memory);
        }
        let last = self.compute(lowered, decoded, used, timing, &loaded);
        for (index, operand) in (0..).zip(own) {
            if matches!(operand.direction, Direction::Write | Direction::ReadWrite) {
                let memory = lowered.memory[usize::from(index)];
                lowered.stores += 1;
                self.store(lowered, index, &memory, is_vector, last, used, &loaded);
            }
        }
        if lowered.uops.is_empty() {
            // Nothing but a slot: it waits for its sources all the same.
            lowered.uops.push(Uop {
                begins: InFlightUop::NOTHING,
                kind: Kind::Compute,
                is_vector: false,
                ports: 0,
                slot: 0,
                busy: 0,
                latency: timing.latency.max(1),
                sources: used.sources.iter().map(|&source| Source::Register(source, 0)).collect(),
                results: Results::new(),
            });
        }
        let producer = last.unwrap_or_else(|| loaded.last().copied().unwrap_or(0));
        lowered.uops[usize::from(producer)].results = Results::from_slice(&used.results);
        if decoded.is_string_instruction() {
            advance_pointers(lowered, used, timing, producer, loaded.last().copied());
        }
    }

    fn memory(
        &mut self,
        decoded: &Instruction,
        operand: MemoryOperand,
        timing: &Timing,
        is_general: bool,
    ) -> Memory {
        let accesses = self.factory.info(decoded).used_memory();
        let wanted = |memory: &&UsedMemory| {
            let access = memory.access();
            match operand.direction {
                Direction::Read | Direction::Prefetch => reads(access),
                Direction::Write => writes(access),
                Direction::ReadWrite => reads(access) || writes(access),
            }
        };
        let place = accesses.iter().find(wanted).or_else(|| accesses.first()).copied();
        let registers = place.map_or([None; 2], |place| {
            let is_tracked = |register: &RegisterId| {
                !(self.model.back.elimination.stack_engine
                    && is_stack_operation(decoded)
                    && *register == RegisterId::STACK_POINTER)
            };
            [place.base(), place.index()]
                .map(|register| RegisterId::of(register).filter(is_tracked))
        });
        let next = self.names.len() as u32;
        let name = place.map_or(u32::MAX, |place| {
            let address =
                (place.segment(), place.base(), place.index(), place.scale(), place.displacement());
            *self.names.entry(address).or_insert(next)
        });
        let is_complex = place.is_some_and(|place| {
            let is_lanes = place.index().is_vector_register();
            place.index() != Register::None
                && (is_lanes || place.scale() > 1 || place.displacement() != 0)
        });
        let forwarding = &self.model.memory.forwarding;
        // What a microprogram loads (`cmpxchg`) is renamed where any operand is.
        let is_update = operand.direction == Direction::ReadWrite
            && u32::from(timing.slots) < self.model.front.microcode.from.max(1);
        let may_be_renamed = match operand.size {
            _ if !is_general => false,
            4..=8 => is_update || timing.uops.is_empty() || forwarding.renamed_operands,
            // What takes no micro-op beside the load extends them with zeros (`movzx`).
            1..=2 => forwarding.renamed_parts && !timing.uops.is_empty(),
            _ => false,
        };
        let is_near = place
            .is_some_and(|place| place.index() == Register::None && place.displacement() < NEAR);
        Memory {
            direction: operand.direction,
            size: operand.size,
            form: operand.form,
            name,
            registers,
            is_complex,
            is_near,
            is_on_stack: place.is_some_and(|place| {
                place.index() == Register::None && place.base() == Register::RSP
            }),
            is_general,
            may_be_renamed,
            renamed_later: u8::from(operand.size < 4 && operand.direction == Direction::Write),
        }
    }

    fn load(&self, index: u8, memory: &Memory, is_vector: bool) -> Uop {
        let loads = &self.model.memory.loads;
        let names = if is_vector && !loads.vector_ports.is_empty() {
            &loads.vector_ports
        } else {
            &loads.ports
        };
        let base = if is_vector { loads.vector_latency } else { loads.latency };
        let has_index = memory.registers[1].is_some();
        let is_complex = (has_index && (memory.is_complex || !loads.simple_index))
            || (loads.pointer_chasing && !is_vector);
        let latency = base + if is_complex { loads.complex_address } else { 0 };
        Uop {
            begins: InFlightUop::NOTHING,
            kind: Kind::Load(index),
            is_vector,
            ports: self.ports(names),
            slot: 0,
            busy: accesses(memory.size, loads.width),
            latency: latency as u16,
            sources: address_sources(memory),
            results: Results::new(),
        }
    }

    /// The micro-ops that compute; the index of the one that gives the results.
    fn compute(
        &self,
        lowered: &mut DecodedInstruction,
        decoded: &Instruction,
        used: &Used,
        timing: &Timing,
        loaded: &[u8],
    ) -> Option<u8> {
        let first = lowered.uops.len();
        let late = |register: RegisterId| late(decoded, register, timing);
        let mut sources: Sources = used
            .sources
            .iter()
            .map(|&register| Source::Register(register, late(register)))
            .collect();
        sources.extend(loaded.iter().map(|&load| Source::Own(load)));
        let uops = kept(&timing.uops);
        let count = uops.len();
        for (index, uop) in uops.into_iter().enumerate() {
            let is_last = index + 1 == count;
            // Those before the last are a part of the way, if it is long enough.
            let (own, others) = match (is_last, timing.latency) {
                (true, latency @ 0..=1) => (latency, false),
                (true, latency) if count > 1 => (latency - 1, true),
                (true, latency) => (latency, false),
                (false, _) => (1, false),
            };
            let mut sources = sources.clone();
            if others {
                sources.extend((first..first + index).map(|own| Source::Own(own as u8)));
            }
            lowered.uops.push(Uop {
                begins: InFlightUop::NOTHING,
                kind: Kind::Compute,
                is_vector: false,
                ports: self.ports(&uop.ports),
                slot: 0,
                busy: uop.busy.max(1),
                latency: own,
                sources,
                results: Results::new(),
            });
        }
        (count > 0).then(|| (lowered.uops.len() - 1) as u8)
    }

    #[allow(clippy::too_many_arguments)]
    fn store(
        &self,
        lowered: &mut DecodedInstruction,
        index: u8,
        memory: &Memory,
        is_vector: bool,
        computed: Option<u8>,
        used: &Used,
        loaded: &[u8],
    ) {
        let stores = &self.model.memory.stores;
        let is_simple = memory.registers[1].is_none();
        let mut ports = self.ports(&stores.address_ports);
        if is_simple {
            ports |= self.ports(&stores.simple_address_ports);
        }
        lowered.uops.push(Uop {
            begins: InFlightUop::NOTHING,
            kind: if used.streams { Kind::StreamAddress(index) } else { Kind::StoreAddress(index) },
            is_vector,
            ports,
            slot: 0,
            busy: 1,
            latency: 1,
            sources: address_sources(memory),
            results: Results::new(),
        });
        let data_ports = if is_vector && !stores.vector_data_ports.is_empty() {
            &stores.vector_data_ports
        } else {
            &stores.data_ports
        };
        let sources = match (computed, loaded.last()) {
            (Some(computed), _) => smallvec![Source::Own(computed)],
            (None, Some(&load)) => smallvec![Source::Own(load)],
            (None, None) => {
                used.sources.iter().map(|&source| Source::Register(source, 0)).collect()
            }
        };
        lowered.uops.push(Uop {
            begins: InFlightUop::NOTHING,
            kind: Kind::StoreData(index),
            is_vector,
            ports: self.ports(data_ports),
            slot: 0,
            busy: accesses(memory.size, stores.width),
            latency: 0,
            sources,
            results: Results::new(),
        });
    }

    fn ports(&self, names: &[String]) -> PortSet {
        names.iter().filter_map(|name| self.ports.get(name.as_str())).fold(0, |all, bit| all | bit)
    }

    /// True if an instruction becomes one micro-op with a copy before it, which makes its target.
    fn absorbs(
        &self,
        first: &Instruction,
        copy: &DecodedInstruction,
        decoded: &Instruction,
    ) -> bool {
        let Effect::Move(to, _) = copy.effect else { return false };
        let has_memory = (0..decoded.op_count()).any(|at| decoded.op_kind(at) == OpKind::Memory);
        let is_target = decoded.op0_kind() == OpKind::Register
            && decoded.op0_register() == first.op0_register()
            && to.file() == File::Integer;
        let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
        is_target && !has_memory && self.model.front.fusion.with_copy.contains(&name)
    }

    /// True if a conditional jump becomes one micro-op with the instruction before it.
    fn fuses(&self, first: &Instruction, jump: &Instruction) -> bool {
        let fusion = &self.model.front.fusion;
        if !jump.is_jcc_short_or_near() {
            return false;
        }
        let name = format!("{:?}", first.mnemonic()).to_lowercase();
        let is_in = |names: &[String]| names.contains(&name);
        let asks = jump.rflags_read();
        let sign = RflagsBits::SF | RflagsBits::PF | RflagsBits::OF;
        let has_both = (0..first.op_count()).any(|at| first.op_kind(at) == OpKind::Memory)
            && (0..first.op_count()).any(|at| is_immediate(first.op_kind(at)));
        is_in(&fusion.with_branch)
            && !(is_in(&fusion.without_sign) && asks & sign != 0)
            && !(is_in(&fusion.without_carry) && asks & RflagsBits::CF != 0)
            && (!has_both || (fusion.relative_immediate && first.is_ip_rel_memory_operand()))
            && !first.has_lock_prefix()
    }
}

/// The micro-ops of an instruction that are distinguished: of a long microprogram those that keep a unit, and the first
/// of the others.
fn kept(uops: &[ComputeUop]) -> Vec<&ComputeUop> {
    let long = uops.iter().filter(|uop| uop.busy > 1).count();
    let mut room = MAX_UOPS.saturating_sub(long);
    let mut has_room = || room.checked_sub(1).map(|left| room = left).is_some();
    uops.iter().filter(|uop| uop.busy > 1 || has_room()).take(MAX_UOPS).collect()
}

/// Number of accesses of the core's width for one of `size` bytes.
fn accesses(size: u16, width: u32) -> u16 {
    (u32::from(size).div_ceil(width.max(1))).max(1) as u16
}

fn address_sources(memory: &Memory) -> Sources {
    memory.registers.iter().flatten().map(|&register| Source::Register(register, 0)).collect()
}

/// The pointers of a string instruction do not wait for what it loads: its first micro-op that computes gives them, and the
/// `producer`, or the `loaded` value if that is the same, gives what else there is.
fn advance_pointers(
    lowered: &mut DecodedInstruction,
    used: &Used,
    timing: &Timing,
    producer: u8,
    loaded: Option<u8>,
) {
    let is_first = |uop: &Uop| uop.kind == Kind::Compute && uop.ports != 0;
    let Some(first) = lowered.uops.iter().position(is_first) else { return };
    let (pointers, others): (Vec<_>, Vec<_>) =
        used.results.iter().copied().partition(|result| used.addresses.contains(result));
    let rest = match (usize::from(producer) == first, loaded) {
        (true, None) => return,
        (true, Some(loaded)) => loaded,
        (false, _) => producer,
    };
    lowered.uops[usize::from(rest)].results = Results::from_vec(others);
    let uop = &mut lowered.uops[first];
    uop.sources.retain(|source| {
        matches!(source, Source::Register(register, _) if used.addresses.contains(register))
    });
    (uop.latency, uop.results) = (timing.latency, Results::from_vec(pointers));
}

fn unused(operand: MemoryOperand) -> Memory {
    Memory {
        direction: Direction::Prefetch,
        size: operand.size,
        form: operand.form,
        name: u32::MAX,
        registers: [None; 2],
        is_complex: false,
        is_near: false,
        is_on_stack: false,
        is_general: false,
        may_be_renamed: false,
        renamed_later: 0,
    }
}

/// The jump takes no slot and no port of its own: the instruction before it does both, at these ports or at the jump's.
fn fuse(first: &mut DecodedInstruction, jump: &mut DecodedInstruction, ports: PortSet) {
    let Some(branch) = jump.uops.last_mut() else { return };
    if let Some(computed) = first.uops.iter_mut().rfind(|uop| uop.kind == Kind::Compute) {
        computed.ports = if ports == 0 { branch.ports } else { ports };
    }
    (branch.ports, branch.latency, branch.busy) = (0, 0, 0);
    (jump.slots, jump.renamed) = (0, 0);
}
