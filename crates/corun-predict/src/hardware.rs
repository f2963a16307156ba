//! Siblings of this machine, and work on them for as long as they are siblings.
//!
//! A virtual machine hides and invents siblings, and its CPUs move: what two of them share is known from the probe alone, and
//! only for the time between two probes that agree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corun_machine::probe::{Probe, ProbeError, ProbeObserver, Sharing, probe};
use corun_machine::{Core, CpuSet, Machine};
use corun_measure::cores::{usable_cores, why_no_siblings};
use corun_record::SiblingEvidence;

/// Source that tells which logical CPUs share a core at the moment.
pub trait SiblingSource {
    /// The cores with two or more usable logical CPUs, as these CPUs.
    ///
    /// # Errors
    /// If it cannot be found out.
    fn cores(&self) -> Result<Vec<Vec<u32>>, ProbeError>;
}

/// End of a slice of work on siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slice<T> {
    /// No CPUs share a core; nothing was done.
    NoSiblings,
    /// These CPUs shared a core before and after it.
    Kept {
        /// The CPUs.
        cpus: Vec<u32>,
        /// Result of the work.
        result: T,
    },
    /// These CPUs shared a core before it and not after it, so that what was done is thrown away.
    ThrownAway {
        /// The CPUs.
        cpus: Vec<u32>,
    },
}

/// Does something on the CPUs of the first core that has siblings, and keeps it if they are siblings afterwards.
///
/// # Errors
/// If the source has no answer.
pub fn on_siblings<T>(
    source: &dyn SiblingSource,
    work: impl FnOnce(&[u32]) -> T,
) -> Result<Slice<T>, ProbeError> {
    let Some(cpus) = source.cores()?.into_iter().next() else { return Ok(Slice::NoSiblings) };
    let result = work(&cpus);
    Ok(match source.cores()?.contains(&cpus) {
        true => Slice::Kept { cpus, result },
        false => Slice::ThrownAway { cpus },
    })
}

/// This host: what its kernel says, or where a hypervisor is below it, what a probe finds.
pub struct HostSiblings<'a> {
    machine: &'a Machine,
    stop: &'a AtomicBool,
}

/// Random pairs of a large virtual machine are probed for so long.
const PROBE_TIME: Duration = Duration::from_secs(5);
/// Which pairs those are.
const PROBE_SEED: u64 = 1;

impl<'a> HostSiblings<'a> {
    /// The siblings of this machine; a probe ends early once `stop` is set.
    pub fn new(machine: &'a Machine, stop: &'a AtomicBool) -> Self {
        Self { machine, stop }
    }

    /// Evidence of siblings here.
    pub fn evidence(&self) -> SiblingEvidence {
        match self.machine.hypervisor {
            None => SiblingEvidence::Topology,
            Some(_) => SiblingEvidence::Probe,
        }
    }

    /// Why there are none, as the end of a sentence.
    pub fn why_none(&self) -> String {
        let allowed = self.machine.allowed().len();
        match self.evidence() {
            SiblingEvidence::Topology => why_no_siblings(self.machine, &usable_cores(self.machine)),
            SiblingEvidence::Probe => format!(
                "this is a virtual machine, and the probe finds no two of its {allowed} usable CPUs on one core"
            ),
        }
    }
}

impl SiblingSource for HostSiblings<'_> {
    fn cores(&self) -> Result<Vec<Vec<u32>>, ProbeError> {
        if self.evidence() == SiblingEvidence::Topology {
            let cores = usable_cores(self.machine).into_iter().map(|core| core.cpus);
            return Ok(cores.filter(|cpus| cpus.len() > 1).collect());
        }
        if self.machine.allowed().len() < 2 {
            return Ok(Vec::new());
        }
        let mut observer = Until(self.stop);
        Ok(pairs(&probe(self.machine, PROBE_SEED, PROBE_TIME, &mut observer)?))
    }
}

/// The pairs that run at once on one core, as far as the probe knows.
fn pairs(probe: &Probe) -> Vec<Vec<u32>> {
    let shared = probe.pairs.iter().filter(|pair| pair.sharing == Some(Sharing::Smt));
    shared.map(|pair| pair.cpus.to_vec()).collect()
}

/// Ends a probe when a flag is set.
struct Until<'a>(&'a AtomicBool);

impl ProbeObserver for Until<'_> {
    fn pair_begins(&mut self, _: [u32; 2], _: usize, _: usize) {}

    fn wants_end(&mut self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The machine with these CPUs as its only usable ones, on one core.
pub(crate) fn of_one_core(machine: &Machine, cpus: &[u32]) -> Machine {
    let siblings: CpuSet = cpus.iter().copied().collect();
    let known = cpus.first().and_then(|cpu| machine.core_of(*cpu));
    let core = Core {
        id: 0,
        core_id: known.and_then(|core| core.core_id),
        cpus: siblings.clone(),
        smt_width: cpus.len() as u32,
        package: known.and_then(|core| core.package),
        die: known.and_then(|core| core.die),
        cluster: known.and_then(|core| core.cluster),
        numa_node: known.and_then(|core| core.numa_node),
        // Arms of the only core have no need to say its type.
        core_type: None,
    };
    let mut machine = machine.clone();
    for cpu in &mut machine.logical_cpus {
        let is_here = siblings.contains(cpu.id);
        cpu.allowed &= is_here;
        cpu.core = is_here.then_some(0);
        if is_here {
            cpu.siblings = siblings.clone();
        }
    }
    machine.cores = vec![core];
    machine
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use corun_machine::LogicalCpu;

    use super::*;

    /// Results of each probe in turn.
    struct Probes(RefCell<Vec<Vec<Vec<u32>>>>);

    impl Probes {
        fn of(found: &[&[&[u32]]]) -> Self {
            let probe = |cores: &&[&[u32]]| cores.iter().map(|cpus| cpus.to_vec()).collect();
            Self(RefCell::new(found.iter().map(probe).collect()))
        }
    }

    impl SiblingSource for Probes {
        fn cores(&self) -> Result<Vec<Vec<u32>>, ProbeError> {
            Ok(self.0.borrow_mut().remove(0))
        }
    }

    #[test]
    fn a_slice_counts_between_two_probes_that_agree() {
        let worked = RefCell::new(Vec::new());
        let slice = |probes: Probes| {
            let slice = on_siblings(&probes, |cpus| worked.borrow_mut().push(cpus.to_vec()));
            assert!(probes.0.borrow().is_empty(), "each probe is asked for once");
            slice.unwrap()
        };
        let both: &[&[u32]] = &[&[2, 5], &[0, 1]];
        assert_eq!(slice(Probes::of(&[both, both])), Slice::Kept { cpus: vec![2, 5], result: () });
        // Found among others that are siblings by now.
        let more: &[&[u32]] = &[&[0, 1], &[2, 5]];
        assert!(matches!(slice(Probes::of(&[both, more])), Slice::Kept { .. }));
        assert_eq!(worked.take(), [[2, 5], [2, 5]]);
    }

    #[test]
    fn what_was_done_is_thrown_away_if_the_second_probe_disagrees() {
        for after in [&[][..], &[&[0, 2][..]]] {
            let probes = Probes::of(&[&[&[0, 1]], after]);
            let slice = on_siblings(&probes, |_| "a figure");
            assert_eq!(slice.unwrap(), Slice::ThrownAway { cpus: vec![0, 1] });
        }
    }

    #[test]
    fn without_siblings_nothing_is_done() {
        let slice = on_siblings(&Probes::of(&[&[]]), |_| unreachable!("no CPUs to work on"));
        assert_eq!(slice.unwrap(), Slice::<()>::NoSiblings);
    }

    #[test]
    fn two_cpus_of_a_virtual_machine_become_a_core() {
        let mut machine = Machine::read(std::path::Path::new("/")).unwrap();
        let first = machine.logical_cpus[0].clone();
        let on_its_own = |id: u32| LogicalCpu {
            id,
            core: None,
            online: true,
            allowed: true,
            siblings: CpuSet::from_iter([id]),
            ..first.clone()
        };
        machine.logical_cpus = [0, 3, 7].map(on_its_own).to_vec();
        machine.cores.clear();
        assert_eq!(usable_cores(&machine).len(), 3);
        let cores = usable_cores(&of_one_core(&machine, &[0, 7]));
        let cpus: Vec<&[u32]> = cores.iter().map(|core| &core.cpus[..]).collect();
        assert_eq!(cpus, [[0, 7]]);
        assert_eq!(cores[0].online_siblings, [0, 7]);
    }
}
