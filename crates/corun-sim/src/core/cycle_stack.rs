//! Cycle stacks: rename slots, each used or lost to one cause, so that they add up exactly.

use crate::memory::Origin;

/// Cycle stack: slots of a thread, used or lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleStack {
    width: u64,
    groups: usize,
    names: Vec<String>,
    slots: Vec<u64>,
    used: u64,
    lost_to: Component,
}

/// A cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Component {
    /// A micro-op was renamed (and later retired).
    Retiring,
    /// Nothing to rename: fetch or decoding.
    FrontEnd,
    /// Nothing to rename after a wrongly predicted branch.
    Mispredict,
    /// The oldest micro-op waits for operands or is being executed.
    Dependency,
    /// The oldest micro-op waits for data from there.
    Memory(Origin),
    /// A load of bytes that a store before it has not yet written to the cache.
    Forwarding,
    /// An instruction lets nothing pass it.
    Serializing,
    /// All entries of the reorder buffer taken, though the oldest is done.
    ReorderBuffer,
    /// The load queue.
    LoadQueue,
    /// The store queue.
    StoreQueue,
    /// General-purpose, vector or mask registers.
    Registers,
    /// A scheduler, though its oldest has started.
    Scheduler,
    /// The thread waits for another one.
    Waiting,
    /// The oldest micro-op has its operands and waits for a port of this group.
    Port(u8),
    /// A sibling has what the thread needs.
    Sibling(Shared),
}

/// Resource that a sibling may hold in a thread's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Shared {
    /// The way from the caches of code to the queue.
    FrontEnd,
    /// Renaming and dispatch.
    Dispatch,
    /// Entries of the reorder buffer.
    ReorderBuffer,
    /// Entries of the load queue.
    LoadQueue,
    /// Entries of the store queue.
    StoreQueue,
    /// Registers.
    Registers,
    /// Entries of a scheduler.
    Scheduler,
    /// Ports.
    Ports,
    /// The place of a line of code in the first level.
    L1i,
    /// The place of a line of data in the first level.
    L1d,
    /// The place of a line in the second level.
    L2,
}

const SIBLING: &[(Shared, &str)] = &[
    (Shared::FrontEnd, "sibling: front end"),
    (Shared::Dispatch, "sibling: dispatch"),
    (Shared::ReorderBuffer, "sibling: reorder buffer"),
    (Shared::LoadQueue, "sibling: load queue"),
    (Shared::StoreQueue, "sibling: store queue"),
    (Shared::Registers, "sibling: registers"),
    (Shared::Scheduler, "sibling: scheduler"),
    (Shared::Ports, "sibling: ports"),
    (Shared::L1i, "sibling: L1I"),
    (Shared::L1d, "sibling: L1D"),
    (Shared::L2, "sibling: L2"),
];

const FIXED: &[(Component, &str)] = &[
    (Component::Retiring, "retiring"),
    (Component::FrontEnd, "front end"),
    (Component::Mispredict, "mispredict"),
    (Component::Dependency, "dependency"),
    (Component::Memory(Origin::L1), "L1D"),
    (Component::Memory(Origin::L2), "L2"),
    (Component::Memory(Origin::L3), "L3"),
    (Component::Memory(Origin::Main), "memory"),
    (Component::Memory(Origin::OtherCore), "other core"),
    (Component::Forwarding, "store forwarding"),
    (Component::Serializing, "serializing"),
    (Component::ReorderBuffer, "reorder buffer"),
    (Component::LoadQueue, "load queue"),
    (Component::StoreQueue, "store queue"),
    (Component::Registers, "registers"),
    (Component::Scheduler, "scheduler"),
    (Component::Waiting, "waiting"),
];

impl CycleStack {
    /// An empty one of a core that renames `width` slots a cycle and has these groups of ports.
    pub(crate) fn new(width: u32, groups: &[String], has_siblings: bool) -> Self {
        let fixed = FIXED.iter().map(|(_, name)| (*name).to_owned());
        let ports = groups.iter().map(|group| format!("{group} ports"));
        let siblings = SIBLING.iter().filter(|_| has_siblings);
        let siblings = siblings.map(|(_, name)| (*name).to_owned());
        let names: Vec<String> = fixed.chain(ports).chain(siblings).collect();
        Self {
            width: width.into(),
            groups: groups.len(),
            slots: vec![0; names.len()],
            names,
            used: 0,
            lost_to: Component::FrontEnd,
        }
    }

    /// Slots used in this cycle, and what the others are lost to.
    pub(crate) fn note(&mut self, used: u32, lost_to: Component) {
        (self.used, self.lost_to) = (u64::from(used).min(self.width), lost_to);
    }

    /// Slots were used in vain, because of what other cores did.
    pub(crate) fn redo(&mut self, slots: u32) {
        let used = &mut self.slots[index(Component::Retiring, self.groups)];
        let vain = u64::from(slots).min(*used);
        *used -= vain;
        self.slots[index(Component::Memory(Origin::OtherCore), self.groups)] += vain;
    }

    /// Time passes as noted. Returns how many slots are lost, and to what.
    pub(crate) fn pass(&mut self, cycles: u64) -> (u64, Component) {
        self.slots[index(Component::Retiring, self.groups)] += self.used;
        let lost = cycles * self.width - self.used;
        self.slots[index(self.lost_to, self.groups)] += lost;
        self.used = 0;
        (lost, self.lost_to)
    }

    /// The place of a component among those of [`Self::cycles`].
    pub(crate) fn place(&self, of: Component) -> usize {
        index(of, self.groups)
    }

    /// The name of the component at this place, and cycles of so many slots.
    pub(crate) fn part(&self, (place, slots): (usize, u64)) -> (&str, f64) {
        (&self.names[place], slots as f64 / self.width as f64)
    }

    /// Name and cycles of each component; together all cycles.
    pub fn cycles(&self) -> impl Iterator<Item = (&str, f64)> {
        let width = self.width as f64;
        self.names
            .iter()
            .zip(&self.slots)
            .map(move |(name, slots)| (name.as_str(), *slots as f64 / width))
    }

    /// Together with another part of the same core's time.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let slots = self.slots.iter().zip(&other.slots).map(|(one, another)| one + another);
        Self { slots: slots.collect(), ..self.clone() }
    }

    /// The difference to an earlier state of the same stack.
    pub fn since(&self, earlier: &Self) -> Self {
        let slots = self.slots.iter().zip(&earlier.slots).map(|(now, then)| now - then);
        Self { slots: slots.collect(), ..self.clone() }
    }
}

fn index(component: Component, groups: usize) -> usize {
    match component {
        Component::Retiring => 0,
        Component::FrontEnd => 1,
        Component::Mispredict => 2,
        Component::Dependency => 3,
        Component::Memory(origin) => 4 + origin as usize,
        Component::Forwarding => 9,
        Component::Serializing => 10,
        Component::ReorderBuffer => 11,
        Component::LoadQueue => 12,
        Component::StoreQueue => 13,
        Component::Registers => 14,
        Component::Scheduler => 15,
        Component::Waiting => 16,
        Component::Port(group) => FIXED.len() + usize::from(group),
        Component::Sibling(shared) => FIXED.len() + groups + shared as usize,
    }
}

#[cfg(test)]
mod tests {
    use crate::core::cycle_stack::*;

    #[test]
    fn each_component_has_its_own_place_and_name() {
        let places = FIXED.iter().map(|(component, _)| index(*component, 3));
        assert!(places.eq(0..FIXED.len()));
        assert_eq!(index(Component::Port(2), 3), FIXED.len() + 2);
        let siblings = SIBLING.iter().map(|(shared, _)| index(Component::Sibling(*shared), 3));
        assert!(siblings.eq((0..SIBLING.len()).map(|place| FIXED.len() + 3 + place)));
    }
}
