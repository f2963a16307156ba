//! Which ports a core has, and what each belongs to.

use crate::uops::{MAX_PORTS, PortSet};
use corun_model::{CoreModel, Policy};

/// The ports of a core.
#[derive(Debug)]
pub(super) struct PortMap {
    /// Of each port: its scheduler and its group.
    pub(super) of_port: [Port; MAX_PORTS],
    /// Ports that each thread has for itself.
    pub(super) own: PortSet,
    /// Names of the groups of ports.
    pub(super) groups: Vec<String>,
    /// Ports that loads are issued to.
    pub(super) loads: PortSet,
    /// Ports that addresses of stores are issued to.
    pub(super) store_addresses: PortSet,
}

/// A port of the back end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Port {
    pub(super) scheduler: u8,
    pub(super) group: u8,
    /// True if the scheduler assigns ports at issue, to micro-ops that have their operands.
    pub(super) binds_late: bool,
    /// The ports of its scheduler, if micro-ops collide there.
    pub(super) colliding: PortSet,
}

impl PortMap {
    /// Of a core with so many threads.
    pub(super) fn of(model: &CoreModel, threads: usize) -> Self {
        let back = &model.back;
        let (mut ports, mut groups) = (Vec::new(), Vec::<String>::new());
        for (scheduler, one) in (0..).zip(&back.schedulers) {
            let known = groups.iter().position(|group| *group == one.group);
            let group = known.unwrap_or_else(|| {
                groups.push(one.group.clone());
                groups.len() - 1
            });
            let first = ports.len();
            let of_scheduler = (first..first + one.ports.len()).fold(0, |all, bit| all | 1 << bit);
            let port = Port {
                scheduler,
                group: group as u8,
                binds_late: one.binds_late,
                colliding: if one.collisions { of_scheduler } else { 0 },
            };
            ports.extend(one.ports.iter().map(|_| port));
        }
        let is_own = |port: &Port| {
            let scheduler = &back.schedulers[usize::from(port.scheduler)];
            threads > 1 && scheduler.sharing.policy == Policy::Replicated
        };
        let mut own =
            (0..).zip(&ports).fold(0, |all, (bit, port)| all | PortSet::from(is_own(port)) << bit);
        if !back.units.is_empty() {
            let (scheduler, group) = (back.schedulers.len() as u8, groups.len() as u8);
            // Units belong to the ports in front of them.
            let are_own = own.count_ones() as usize == ports.len();
            let units = ports.len()..ports.len() + back.units.len();
            own |= units.fold(0, |all, bit| all | PortSet::from(are_own) << bit);
            let unit = Port { scheduler, group, ..Port::default() };
            ports.extend(back.units.iter().map(|_| unit));
            groups.push("divider".to_owned());
        }
        let named = |wanted: &[String]| {
            let names = back.schedulers.iter().flat_map(|scheduler| &scheduler.ports).enumerate();
            let meant = names.filter(|(_, name)| wanted.contains(name));
            meant.fold(0, |all, (bit, _)| all | 1 << bit)
        };
        let loads = named(&model.memory.loads.ports);
        let store_addresses = named(&model.memory.stores.address_ports);
        let of_port = std::array::from_fn(|port| ports.get(port).copied().unwrap_or_default());
        Self { of_port, own, groups, loads, store_addresses }
    }

    /// Number of sets of ports for so many threads: one for all, and those of single threads.
    pub(super) fn sets(&self, threads: usize) -> usize {
        if self.own == 0 { 1 } else { 1 + threads }
    }

    /// The set in which a thread uses a port.
    #[inline]
    pub(super) fn set_of(&self, thread: usize, port: usize) -> usize {
        if self.own == 0 || self.own >> port & 1 == 0 { 0 } else { 1 + thread }
    }

    /// The scheduler of a port.
    #[inline]
    pub(super) fn scheduler_of(&self, port: usize) -> usize {
        usize::from(self.of_port[port].scheduler) % MAX_PORTS
    }
}
