//! The back end: renaming, waiting, executing, retiring.

use serde::{Deserialize, Serialize};

use super::sharing::Sharing;

/// The back end: from micro-ops in program order to results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackEnd {
    /// Renaming and dispatch: micro-ops a cycle.
    pub dispatch: Share,
    /// Reorder buffer.
    pub rob: Share,
    /// Retirement: micro-ops a cycle.
    pub retire: Share,
    /// Renamed registers.
    pub registers: Registers,
    /// Schedulers, in which micro-ops wait for their operands and a port.
    pub schedulers: Vec<Scheduler>,
    /// Queues that take micro-ops, in order, while the schedulers after them are full.
    #[serde(default)]
    pub non_scheduling_queues: Vec<NonSchedulingQueue>,
    /// Assignment of a port to a micro-op that several can do.
    #[serde(default)]
    pub port_assignment: PortAssignment,
    /// Cycles from renaming until a micro-op may start; none: 1.
    pub issue_delay: Option<u32>,
    /// True if nothing is renamed unless the reorder buffer and the schedulers have room for as much as
    /// is renamed in a cycle.
    #[serde(default)]
    pub whole_groups: bool,
    /// Names of units beyond ports that the timing tables keep busy for longer than a port (dividers).
    #[serde(default)]
    pub units: Vec<String>,
    /// Micro-ops that never reach a port.
    pub elimination: Elimination,
    /// Timing of repeated string instructions; of others nothing but what they touch counts.
    #[serde(default)]
    pub repetitions: Vec<Repetition>,
    /// Integer divisions whose time depends on their quotient, instead of what their rows say.
    #[serde(default)]
    pub divisions: Vec<Division>,
}

/// A repeated string instruction (`rep stosb`): nothing after it is renamed until its program is through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Which, without their prefix.
    pub mnemonics: Vec<String>,
    /// Cycles with no element.
    pub begin: u32,
    /// Cycles more for each element.
    pub element: u32,
    /// Elements that are moved in large pieces; none: they never do.
    pub bulk: Option<Bulk>,
    /// Source of the figures.
    pub source: String,
}

/// Elements in large pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Elements from which on they do.
    pub from: u32,
    /// Cycles more to begin with.
    pub begin: u32,
    /// Bytes a cycle then.
    pub bytes: u32,
}

impl Repetition {
    /// Cycles for so many elements of so many bytes.
    pub fn cycles(&self, elements: u64, size: u64) -> u64 {
        let more = match self.bulk.filter(|bulk| elements >= bulk.from.into()) {
            Some(Bulk { begin, bytes, .. }) => {
                u64::from(begin) + elements.saturating_mul(size) / u64::from(bytes.max(1))
            }
            None => elements.saturating_mul(self.element.into()),
        };
        more.saturating_add(self.begin.into())
    }
}

/// Assignment of a port, while renaming, for a micro-op that several ports can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortAssignment {
    /// The one that fewest micro-ops wait for at that moment.
    #[default]
    Fewest,
    /// By what waits at the start of the cycle: micro-ops in even places of the cycle get the port
    /// with the fewest, in odd places the one with the second fewest, unless that has three more; a
    /// pair of load ports takes turns (Intel, Haswell to Skylake).
    Pairs,
    /// By what waits at the start of the cycle: places of the cycle go round the ports, the one with
    /// the fewest first, unless they differ by three; a pair of load ports takes turns (Intel, Sandy
    /// Bridge and Ivy Bridge).
    Rotation,
}

/// A number of something that siblings share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Number of entries.
    pub entries: u32,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Registers for results in flight, the architectural ones included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// General-purpose.
    pub integer: u32,
    /// Vectors.
    pub vector: u32,
    /// Masks, if they have registers of their own.
    pub mask: Option<u32>,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// A place where micro-ops wait, with the ports it feeds: each starts one a cycle, the oldest that has
/// its operands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Name of the scheduler.
    pub name: String,
    /// Micro-ops.
    pub entries: u32,
    /// Names of its ports, as the timing tables use them. A port belongs to one scheduler.
    pub ports: Vec<String>,
    /// The group that the stack of cycles counts its ports under ("integer", "vector", "load").
    pub group: String,
    /// True if a micro-op is given a port when it has its operands, and not when it is renamed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binds_late: bool,
    /// True if what waits for a micro-op of one cycle is woken as soon as that has its operands, selected or not (select-free
    /// wakeup: Brown, Stark and Patt 2001, "Select-free instruction scheduling logic"). If as many older ones as the scheduler
    /// has ports come first, it is not, and what was woken takes a port in vain: it collides. Only what is so close after it
    /// that both can be renamed in one cycle is woken so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collisions: bool,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// A queue in front of schedulers (AMD's non-scheduling queue): nothing in it is woken by its operands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonSchedulingQueue {
    /// Micro-ops.
    pub entries: u32,
    /// Names of the schedulers after it.
    pub schedulers: Vec<String>,
    /// Sharing policy among siblings.
    pub sharing: Sharing,
}

/// Elimination while renaming.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elimination {
    /// Copies of general-purpose registers (32 and 64 bits).
    pub integer_moves: bool,
    /// Copies of vector registers.
    pub vector_moves: bool,
    /// Number of copies that can be followed at once; none: any number.
    pub move_slots: Option<MoveSlots>,
    /// Copies eliminated at most in a cycle.
    pub moves_a_cycle: Option<u32>,
    /// Mnemonics that give zero if both sources are one register, without waiting for it.
    pub zero_idioms: Vec<String>,
    /// Of these, the ones that need no port either.
    pub without_port: Vec<String>,
    /// Mnemonics that give all ones then, without waiting (they need a port).
    #[serde(default)]
    pub ones_idioms: Vec<String>,
    /// Mnemonics that need nothing but the carry if both sources are one register (they need a port).
    #[serde(default)]
    pub carry_idioms: Vec<String>,
    /// Mnemonics that do not wait for the part of their target that they keep (`cvtsi2sd`).
    #[serde(default)]
    pub unmerged: Vec<String>,
    /// True if pushes, pops, calls and returns move the stack pointer without a micro-op.
    pub stack_engine: bool,
    /// True if what only reads the stack pointer takes the distance into account by which these moved it, so that no micro-op
    /// synchronises it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stack_reads: bool,
    /// Source of the figures.
    pub source: String,
}

/// Table of the registers that share a value since a copy was eliminated. A copy that finds no place is executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveSlots {
    /// Shared values of general-purpose registers.
    pub integer: u32,
    /// Shared values of vector registers.
    pub vector: u32,
    /// Cycles until a place that became free is known to be.
    pub cycles: u32,
    /// True if a place of a general-purpose register becomes free only when all registers that share
    /// the value are overwritten, not when one is left.
    pub until_all: bool,
}

/// Latency of integer divisions of one width, by the bits of their quotient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Division {
    /// Which instructions.
    pub mnemonics: Vec<String>,
    /// Bits of the divisor.
    pub width: u32,
    /// Cycles of the shortest quotient.
    pub latency: u32,
    /// Bits of a quotient that the shortest time is enough for.
    #[serde(default)]
    pub free: u32,
    /// Bits of a quotient that one more cycle gives; none: the quotient does not matter.
    pub bits_a_cycle: Option<u32>,
    /// Cycles for which the divider takes no other division, from so many bits of quotient on, in
    /// rising order; empty: as long as the division takes.
    #[serde(default)]
    pub busy: Vec<[u32; 2]>,
    /// Bits of the quotient that are assumed, since traces hold no operands.
    pub assumed_bits: u32,
    /// Source of the figures.
    pub source: String,
}

impl Division {
    /// Cycles until the results of a division with a quotient of so many bits.
    pub fn latency(&self, bits: u32) -> u32 {
        let more = bits.min(self.width).saturating_sub(self.free);
        self.latency.saturating_add(self.bits_a_cycle.map_or(0, |each| more / each.max(1)))
    }

    /// Cycles for which the divider takes no other one then.
    pub fn busy(&self, bits: u32) -> u32 {
        let reached = self.busy.iter().rev().find(|[from, _]| *from <= bits);
        reached.or(self.busy.first()).map_or_else(|| self.latency(bits), |[_, cycles]| *cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_quotients_take_longer() {
        let source = String::new();
        let mnemonics = vec!["div".to_owned()];
        let zen5 = Division {
            mnemonics,
            width: 64,
            latency: 10,
            free: 1,
            bits_a_cycle: Some(9),
            busy: vec![[0, 7], [37, 9]],
            assumed_bits: 16,
            source,
        };
        let bits = [0, 1, 9, 10, 18, 19, 36, 37, 63];
        assert_eq!(bits.map(|bits| zen5.latency(bits)), [10, 10, 10, 11, 11, 12, 13, 14, 16]);
        assert_eq!(bits.map(|bits| zen5.busy(bits)), [7, 7, 7, 7, 7, 7, 7, 9, 9]);
        let zen2 =
            Division { latency: 14, free: 0, bits_a_cycle: Some(2), busy: Vec::new(), ..zen5 };
        assert_eq!([1, 33, 63, 64].map(|bits| zen2.latency(bits)), [14, 30, 45, 46]);
        assert_eq!(zen2.busy(33), 30, "it is not pipelined");
    }

    #[test]
    fn few_elements_go_one_by_one_and_many_in_bulk() {
        let mnemonics = vec!["stosb".to_owned()];
        let bulk = Some(Bulk { from: 128, begin: 40, bytes: 32 });
        let source = String::new();
        let stores = Repetition { mnemonics, begin: 24, element: 1, bulk, source };
        let cycles = [0, 8, 2048].map(|elements| stores.cycles(elements, 1));
        assert_eq!(cycles, [24, 32, 24 + 40 + 64]);
        assert_eq!(stores.cycles(256, 8), cycles[2], "as many bytes");
        let compares = Repetition { element: 3, bulk: None, ..stores };
        assert_eq!(compares.cycles(100, 1), 324);
        assert_eq!(compares.cycles(u64::MAX, 8), u64::MAX);
    }
}
