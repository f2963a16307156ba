//! The placement of workers, their memory and corun itself during a sample.

use corun_machine::{Affinity, CpuSet, MemoryPolicy};
use corun_record::Arm;

use super::work::Work;
use crate::cores::Core;

/// The cores an executor may use, and the affinity corun was started with.
pub(super) struct Bindings {
    cores: Vec<Core>,
    /// Unpinned workers get this back.
    inherited: Affinity,
    /// The CPUs that are online, where that changes.
    online: Option<CpuSet>,
    /// CPUs that are for what asks the workers, and for corun.
    reserved: CpuSet,
}

/// Binding of a process and its memory.
pub(super) struct Binding {
    pub affinity: Affinity,
    pub memory: Option<MemoryPolicy>,
}

impl Bindings {
    pub(super) fn new(cores: Vec<Core>, inherited: Affinity) -> Self {
        Self { cores, inherited, online: None, reserved: CpuSet::default() }
    }

    /// Keeps workers off these CPUs, where no arm of theirs is.
    pub(super) fn reserving(self, reserved: &CpuSet) -> Self {
        Self { reserved: reserved.clone(), ..self }
    }

    /// The CPUs that corun was started on.
    pub(super) fn inherited(&self) -> CpuSet {
        self.inherited.cpus()
    }

    /// CPUs of workers that are not pinned.
    fn unpinned(&self) -> CpuSet {
        self.inherited.cpus().difference(&self.reserved)
    }

    /// From now on only these CPUs are online.
    pub(super) fn note_online(&mut self, online: &CpuSet) {
        self.online = Some(online.clone());
    }

    fn is_online(&self, cpu: &u32) -> bool {
        self.online.as_ref().is_none_or(|online| online.contains(*cpu))
    }

    /// Moves corun itself out of the workers' way: to cores that the arm leaves idle, if any, else
    /// to idle siblings.
    pub(super) fn step_aside(&self, arm: &Arm) {
        let used = |cpu: &u32| arm.cpus.contains(cpu);
        let idle_cores: Vec<u32> = self
            .cores
            .iter()
            .filter(|core| !core.online_siblings.iter().any(used))
            .flat_map(|core| core.cpus.clone())
            .filter(|cpu| self.is_online(cpu))
            .collect();
        let idle_cpus = || -> Vec<u32> {
            let all = self.cores.iter().flat_map(|core| core.cpus.clone());
            all.filter(|cpu| !used(cpu) && self.is_online(cpu)).collect()
        };
        let place = match (self.reserved.is_empty(), idle_cores.is_empty()) {
            // Beside the load, in every arm alike.
            (false, _) => self.reserved.as_slice().to_vec(),
            (true, true) => idle_cpus(),
            (true, false) => idle_cores,
        };
        let mask = if place.is_empty() {
            self.inherited.clone()
        } else {
            Affinity::new(&place.into_iter().collect())
        };
        // Failing to step aside costs accuracy, not correctness.
        let _ = mask.apply(0);
    }

    /// Moves corun back to where it was started.
    pub(super) fn step_back(&self) {
        let _ = self.inherited.apply(0);
    }

    /// True if each worker of an arm has a CPU of its own and corun another one, so that workers may
    /// spin for a moment. The same answer for every placement of as many workers on as many CPUs.
    pub(super) fn has_cpu_apart(&self, arm: &Arm) -> bool {
        let mut used = arm.cpus.clone();
        used.sort_unstable();
        used.dedup();
        let is_own = arm.cpus.is_empty() || used.len() == arm.workers as usize;
        let allowed = self.inherited.cpus();
        is_own && allowed.iter().filter(|cpu| self.is_online(cpu)).count() > arm.workers as usize
    }

    /// The CPUs whose clocks matter to an arm, ascending.
    pub(super) fn used_cpus(&self, arm: &Arm) -> Vec<u32> {
        let mut cpus = if arm.cpus.is_empty() {
            self.unpinned().as_slice().to_vec()
        } else {
            arm.cpus.clone()
        };
        cpus.retain(|cpu| self.is_online(cpu));
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// The nodes that memory for these CPUs comes from; `None` where there is nothing to bind.
    pub(super) fn memory_nodes(&self, cpus: &[u32]) -> Option<Vec<u32>> {
        let nodes_of = |wanted: &dyn Fn(&Core) -> bool| {
            let wanted = self.cores.iter().filter(|core| wanted(core));
            let mut nodes: Vec<u32> = wanted.filter_map(|core| core.numa_node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let several = nodes_of(&|_| true).len() > 1;
        let nodes = nodes_of(&|core| core.cpus.iter().any(|cpu| cpus.contains(cpu)));
        (several && !nodes.is_empty()).then_some(nodes)
    }

    /// The place of each process of an arm.
    pub(super) fn of_processes(&self, arm: &Arm, work: &Work) -> Vec<Binding> {
        if arm.cpus.is_empty() {
            let affinity = match self.reserved.is_empty() {
                true => self.inherited.clone(),
                false => Affinity::new(&self.unpinned()),
            };
            let unbound = || Binding { affinity: affinity.clone(), memory: None };
            return (0..work.processes(arm)).map(|_| unbound()).collect();
        }
        arm.cpus
            .chunks(work.threads(arm))
            .map(|cpus| Binding {
                affinity: Affinity::new(&cpus.iter().copied().collect()),
                memory: self
                    .memory_nodes(cpus)
                    .map(|nodes| MemoryPolicy::bind(&nodes.into_iter().collect())),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(nodes: [u32; 2]) -> Bindings {
        let core = |cpu: u32, node| Core {
            cpus: vec![cpu],
            online_siblings: vec![cpu],
            core_type: None,
            numa_node: Some(node),
        };
        Bindings::new(vec![core(0, nodes[0]), core(1, nodes[1])], Affinity::new(&[0, 1].into()))
    }

    #[test]
    fn memory_is_bound_where_there_are_several_nodes() {
        assert_eq!(places([0, 1]).memory_nodes(&[1]), Some(vec![1]));
        assert_eq!(places([0, 1]).memory_nodes(&[0, 1]), Some(vec![0, 1]));
        assert_eq!(places([0, 1]).memory_nodes(&[]), None);
        assert_eq!(places([0, 0]).memory_nodes(&[1]), None);
    }
}
