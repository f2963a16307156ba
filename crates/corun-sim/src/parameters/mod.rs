//! A model's figures as the pipeline reads them: numbers and bits instead of names.

mod limit;

pub(crate) use limit::Limit;

use crate::uops::{BUFFERS, Buffer, Entries};
use corun_model::{Choice, CoreModel, MemoryRenaming, Policy};

/// The figures of a core that the pipeline reads every cycle, for a number of active threads.
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    pub(crate) widths: Widths,
    pub(crate) limits: Limits,
    pub(crate) load_store: LoadStore,
    pub(crate) penalties: Penalties,
}

/// Bandwidth of each stage in a cycle, and the policy of its threads.
#[derive(Debug, Clone)]
pub(crate) struct Widths {
    /// Slots of renaming a cycle, and how threads share them.
    pub(crate) dispatch: u32,
    pub(crate) dispatch_policy: Policy,
    /// True if nothing is renamed unless there is room for a whole cycle's width.
    pub(crate) whole_groups: bool,
    /// True if a NOP is renamed in the slot of the instruction before it.
    pub(crate) nops_share_slots: bool,
    /// Moves eliminated a cycle.
    pub(crate) moves_a_cycle: u32,
    /// Slots of retirement a cycle, and how threads share them.
    pub(crate) retire: u32,
    pub(crate) retire_policy: Policy,
    /// Sharing policy of fetch and decoders.
    pub(crate) fetch_policy: Policy,
    pub(crate) decode_policy: Policy,
    pub(crate) fetch_choice: Choice,
}

/// Entries of each buffer that a thread may have.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Of those that are counted as [`Entries`], in the order of [`BUFFERS`].
    pub(crate) buffers: [Limit; BUFFERS.len()],
    /// The most entries of one thread there, and of all threads together.
    pub(crate) own: Entries,
    pub(crate) all: Entries,
    /// The micro-op queue before renaming.
    pub(crate) queue: Limit,
    /// Micro-ops of a loop that needs no fetch.
    pub(crate) loop_buffer: u32,
    pub(crate) schedulers: Vec<Limit>,
}

impl Limits {
    /// Of a buffer that is counted as [`Entries`].
    pub(crate) fn of(&self, buffer: Buffer) -> Limit {
        self.buffers[buffer as usize]
    }
}

/// Rates, widths and latencies of loads, stores and forwarding.
#[derive(Debug, Clone)]
pub(crate) struct LoadStore {
    /// True if each thread commits stores without regard to its siblings.
    pub(crate) own_stores: bool,
    /// Accesses issued a cycle.
    pub(crate) load_rate: u32,
    pub(crate) vector_load_rate: u32,
    pub(crate) store_rate: u32,
    pub(crate) vector_store_rate: u32,
    /// Stores that leave the queue in a cycle, and those to one line.
    pub(crate) commit: u32,
    pub(crate) commit_same_line: u32,
    /// Lines stored to last, which a second store of a cycle may be to.
    pub(crate) commit_lines: usize,
    /// Bytes that reach the cache at once.
    pub(crate) store_width: u32,
    pub(crate) line_shift: u32,
    pub(crate) commit_shift: u32,
    /// True if loads are issued before the store's data are there, and then again.
    pub(crate) early_issue: bool,
    /// Which loads are renamed to a store's register.
    pub(crate) renamed: Option<MemoryRenaming>,
    /// True if loads of a part of it are.
    pub(crate) renamed_parts: bool,
    /// Cycles from a store's data to the load.
    pub(crate) forwarding: u32,
    pub(crate) vector_forwarding: u32,
    /// Cycles from address to register.
    pub(crate) load_latency: u32,
    pub(crate) vector_load_latency: u32,
    /// Cycles that a load is faster whose address a load gave.
    pub(crate) pointer_chasing_gain: u16,
    /// Bits of linear addresses that the first level compares to distinguish lines, if it does not compare all.
    pub(crate) line_alias: Option<u32>,
}

/// Further cycles of what goes wrong, and of the way through the pipeline.
#[derive(Debug, Clone)]
pub(crate) struct Penalties {
    /// For an access across a line.
    pub(crate) load_split: u32,
    pub(crate) store_split: u32,
    /// For a load that a store covers in part.
    pub(crate) forwarding_failure: u32,
    /// For a load after a store at the same offset of another page.
    pub(crate) alias: u16,
    /// For one that a sibling's store meets so.
    pub(crate) alias_beside: u64,
    /// From renaming to the first issue.
    pub(crate) issue_delay: u64,
    pub(crate) mispredict: u64,
    pub(crate) resteer: u64,
    /// True if wrong paths are followed.
    pub(crate) wrong_paths: bool,
    pub(crate) machine_clear: u64,
    /// For which other cores may still invalidate what is loaded.
    pub(crate) retire_hold: u64,
}

impl Parameters {
    /// Parameters of each of `active` threads of the core, of so many that run there.
    pub(crate) fn of(model: &CoreModel, active: u32, threads: u32) -> Self {
        let (back, memory) = (&model.back, &model.memory);
        let own = back.schedulers.iter().map(|one| Limit::of(one.entries, &one.sharing, active));
        let mut schedulers: Vec<Limit> = own.collect();
        for queue in &back.non_scheduling_queues {
            let entries = queue.entries / queue.schedulers.len().max(1) as u32;
            let waiting = Limit::of(entries, &queue.sharing, active);
            for (limit, one) in schedulers.iter_mut().zip(&back.schedulers) {
                if queue.schedulers.contains(&one.name) {
                    *limit = limit.and(waiting, active);
                }
            }
        }
        // Units beyond the ports: micro-ops wait in front of them without an entry anywhere.
        if !back.units.is_empty() {
            let entries = u32::MAX / 2;
            schedulers.push(Limit { own: entries, all: u32::MAX, alone: entries });
        }
        let issue_delay = u64::from(back.issue_delay.unwrap_or(1).max(1));
        // Where data have ports of their own, these bound the stores, and addresses may run ahead.
        let has_data_ports = !memory.stores.data_ports.is_empty();
        let address_rate = |rate: u32| if has_data_ports { u32::MAX } else { rate };
        let registers = &back.registers;
        // The architectural state of every active thread lies in the same files, unless each has its own.
        let in_flight = |entries: u32, architectural: u32| {
            let left = |threads: u32| entries.saturating_sub(architectural * threads).max(4);
            let in_one = if registers.sharing.policy == Policy::Replicated { 1 } else { active };
            Limit { alone: left(1), ..Limit::of(left(in_one), &registers.sharing, active) }
        };
        let buffers = BUFFERS.map(|buffer| match buffer {
            Buffer::Rob => Limit::of(back.rob.entries, &back.rob.sharing, active),
            Buffer::IntegerRegisters => in_flight(registers.integer, 16),
            Buffer::VectorRegisters => in_flight(registers.vector, 32),
            Buffer::MaskRegisters => in_flight(registers.mask.unwrap_or(u32::MAX / 2), 8),
            Buffer::Loads => Limit::of(memory.loads.entries, &memory.loads.sharing, active),
            Buffer::Stores => Limit::of(memory.stores.entries, &memory.stores.sharing, active),
        });
        Self {
            widths: Widths {
                dispatch: back.dispatch.entries,
                dispatch_policy: back.dispatch.sharing.policy,
                whole_groups: back.whole_groups,
                retire: back.retire.entries,
                retire_policy: back.retire.sharing.policy,
                fetch_policy: model.front.fetch.sharing.policy,
                decode_policy: model.front.decoder.sharing.policy,
                fetch_choice: model.front.fetch.choice,
                nops_share_slots: model.front.fusion.nop,
                moves_a_cycle: back.elimination.moves_a_cycle.unwrap_or(u32::MAX),
            },
            limits: Limits {
                buffers,
                own: Entries::of_each(|buffer| buffers[buffer as usize].own),
                all: Entries::of_each(|buffer| buffers[buffer as usize].all),
                queue: Limit::of(model.front.queue.entries, &model.front.queue.sharing, active),
                loop_buffer: model
                    .front
                    .loop_buffer
                    .as_ref()
                    .map_or(0, |buffer| Limit::of(buffer.uops, &buffer.sharing, active).own),
                schedulers,
            },
            load_store: LoadStore {
                own_stores: threads > 1 && memory.stores.sharing.policy == Policy::Replicated,
                load_rate: memory.loads.rate,
                vector_load_rate: memory.loads.vector_rate,
                store_rate: address_rate(memory.stores.rate),
                vector_store_rate: address_rate(memory.stores.vector_rate),
                commit: memory.stores.commit,
                commit_same_line: memory.stores.commit_same_line,
                commit_lines: memory.stores.commit_lines as usize,
                store_width: memory.stores.width.max(1),
                line_shift: memory.l1d.line.trailing_zeros(),
                commit_shift: memory
                    .stores
                    .commit_bytes
                    .unwrap_or(memory.l1d.line)
                    .trailing_zeros(),
                forwarding: memory.forwarding.latency,
                vector_forwarding: memory.forwarding.vector_latency,
                early_issue: memory.forwarding.early_issue,
                renamed: memory.forwarding.renamed,
                renamed_parts: memory.forwarding.renamed_parts,
                load_latency: memory.loads.latency,
                vector_load_latency: memory.loads.vector_latency,
                pointer_chasing_gain: if memory.loads.pointer_chasing {
                    memory.loads.complex_address as u16
                } else {
                    0
                },
                line_alias: memory.line_alias.as_ref().map(|alias| alias.bits),
            },
            penalties: Penalties {
                load_split: memory.loads.split,
                store_split: memory.stores.split,
                forwarding_failure: memory.forwarding.failure,
                alias: memory.forwarding.alias as u16,
                alias_beside: match memory.stores.sharing.policy {
                    Policy::Replicated => 0,
                    _ if active > 1 && memory.forwarding.alias_beside => {
                        memory.forwarding.alias.into()
                    }
                    _ => 0,
                },
                issue_delay,
                // Given for a core whose micro-ops start a cycle after renaming.
                mispredict: u64::from(model.front.prediction.mispredict)
                    .saturating_sub(issue_delay - 1),
                resteer: model.front.prediction.resteer.into(),
                wrong_paths: model.front.prediction.wrong_paths,
                machine_clear: model.hierarchy.coherence.machine_clear.into(),
                retire_hold: model.hierarchy.coherence.retire_hold.into(),
            },
        }
    }
}
