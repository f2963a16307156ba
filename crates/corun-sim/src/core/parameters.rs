//! A model's figures as the pipeline reads them: numbers and bits instead of names.

use crate::code::PortSet;
use crate::model::{CoreModel, Policy, Sharing};

/// What the pipeline asks every cycle.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    pub(super) dispatch: u32,
    /// Whether there must be room for as much as that before anything is renamed.
    pub(super) whole_groups: bool,
    pub(super) retire: u32,
    pub(super) rob: u32,
    pub(super) queue: u32,
    /// General-purpose, vector, mask: results in flight.
    pub(super) registers: [u32; 3],
    pub(super) load_queue: u32,
    pub(super) store_queue: u32,
    /// Of each port: its scheduler and its group.
    pub(super) ports: Vec<Port>,
    pub(super) schedulers: Vec<u32>,
    /// Names of the groups of ports.
    pub(super) groups: Vec<String>,
    /// Ports that loads are issued to.
    pub(super) load_ports: PortSet,
    pub(super) load_rate: u32,
    pub(super) vector_load_rate: u32,
    pub(super) store_rate: u32,
    pub(super) vector_store_rate: u32,
    pub(super) commit: u32,
    pub(super) commit_same_line: u32,
    pub(super) line_shift: u32,
    pub(super) commit_shift: u32,
    pub(super) load_split: u32,
    pub(super) store_split: u32,
    pub(super) forwarding: u32,
    pub(super) vector_forwarding: u32,
    pub(super) renamed: Option<u32>,
    pub(super) forwarding_failure: u32,
    pub(super) load_latency: u32,
    pub(super) vector_load_latency: u32,
    /// Cycles that a load is faster whose address a load gave.
    pub(super) chased: u16,
    /// Cycles from renaming to the first start.
    pub(super) issue_delay: u64,
    pub(super) moves_a_cycle: u32,
    pub(super) mispredict: u64,
    pub(super) resteer: u64,
    pub(super) clear: u64,
}

/// A port of the back end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port {
    pub(super) scheduler: u8,
    pub(super) group: u8,
}

impl Parameters {
    /// What each of `active` threads gets of the core.
    pub(super) fn of(model: &CoreModel, active: u32) -> Self {
        let (back, memory) = (&model.back, &model.memory);
        let (mut ports, mut groups) = (Vec::new(), Vec::<String>::new());
        for (scheduler, one) in (0..).zip(&back.schedulers) {
            let known = groups.iter().position(|group| *group == one.group);
            let group = known.unwrap_or_else(|| {
                groups.push(one.group.clone());
                groups.len() - 1
            });
            ports.extend(one.ports.iter().map(|_| Port { scheduler, group: group as u8 }));
        }
        // Units behind the ports: operations wait in front of them without an entry anywhere.
        let mut schedulers: Vec<u32> = back.schedulers.iter().map(|one| one.entries).collect();
        for queue in &back.waiting {
            let behind = queue.schedulers.len().max(1) as u32;
            for (entries, one) in schedulers.iter_mut().zip(&back.schedulers) {
                if queue.schedulers.contains(&one.name) {
                    *entries += queue.entries / behind;
                }
            }
        }
        if !back.units.is_empty() {
            let (scheduler, group) = (schedulers.len() as u8, groups.len() as u8);
            ports.extend(back.units.iter().map(|_| Port { scheduler, group }));
            schedulers.push(u32::MAX / 2);
            groups.push("divider".to_owned());
        }
        let issue_delay = u64::from(back.issue_delay.unwrap_or(1).max(1));
        // Where data have ports of their own, these bound the stores, and addresses may run ahead.
        let has_data_ports = !memory.stores.data_ports.is_empty();
        let address_rate = |rate: u32| if has_data_ports { u32::MAX } else { rate };
        let registers = &back.registers;
        // The architectural state of every thread lies in the same files.
        let in_flight = |entries: u32, architectural: u32| {
            part(entries.saturating_sub(architectural * active).max(4), &registers.sharing, active)
        };
        Self {
            dispatch: back.dispatch.entries,
            whole_groups: back.whole_groups,
            retire: back.retire.entries,
            rob: part(back.rob.entries, &back.rob.sharing, active),
            queue: part(model.front.queue.entries, &model.front.queue.sharing, active),
            registers: [
                in_flight(registers.integer, 16),
                in_flight(registers.vector, 32),
                in_flight(registers.mask.unwrap_or(u32::MAX / 2), 8),
            ],
            load_queue: part(memory.loads.entries, &memory.loads.sharing, active),
            store_queue: part(memory.stores.entries, &memory.stores.sharing, active),
            ports,
            schedulers,
            groups,
            load_ports: load_ports(model),
            load_rate: memory.loads.rate,
            vector_load_rate: memory.loads.vector_rate,
            store_rate: address_rate(memory.stores.rate),
            vector_store_rate: address_rate(memory.stores.vector_rate),
            commit: memory.stores.commit,
            commit_same_line: memory.stores.commit_same_line,
            line_shift: memory.l1d.line.trailing_zeros(),
            commit_shift: memory.stores.commit_bytes.unwrap_or(memory.l1d.line).trailing_zeros(),
            load_split: memory.loads.split,
            store_split: memory.stores.split,
            forwarding: memory.forwarding.latency,
            vector_forwarding: memory.forwarding.vector_latency,
            renamed: memory.forwarding.renamed,
            forwarding_failure: memory.forwarding.failure,
            load_latency: memory.loads.latency,
            vector_load_latency: memory.loads.vector_latency,
            chased: if memory.loads.chased { memory.loads.complex_address as u16 } else { 0 },
            issue_delay,
            moves_a_cycle: back.elimination.moves_a_cycle.unwrap_or(u32::MAX),
            // Told for a core whose operations start a cycle after renaming.
            mispredict: u64::from(model.front.prediction.mispredict)
                .saturating_sub(issue_delay - 1),
            resteer: model.front.prediction.resteer.into(),
            clear: model.hierarchy.coherence.clear.into(),
        }
    }
}

fn load_ports(model: &CoreModel) -> PortSet {
    let names = model.back.schedulers.iter().flat_map(|scheduler| &scheduler.ports);
    let is_of_loads = |(_, name): &(usize, &String)| model.memory.loads.ports.contains(name);
    names.enumerate().filter(is_of_loads).fold(0, |all, (bit, _)| all | 1 << bit)
}

/// What one of `active` threads gets of a resource.
fn part(entries: u32, sharing: &Sharing, active: u32) -> u32 {
    match sharing.policy {
        Policy::Partitioned if active > 1 => (entries / active).max(1),
        Policy::Shared if active > 1 => sharing.cap.unwrap_or(entries).min(entries),
        _ => entries,
    }
}
