//! Which cores the server gets and which the load generator.
//!
//! Whole cores: a load on a sibling of a server's CPU would slow down the server that it measures.

use corun_machine::CpuSet;
use corun_record::Caveat;

use super::error::ServiceError;
use crate::cores::Core;

/// Which logical CPUs the load is to have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadCpus {
    /// These, where they are named.
    pub named: Option<CpuSet>,
    /// C, the cores that the server was promised, which the load leaves to it.
    pub server_cores: Option<u32>,
}

/// The cores of a machine, divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSplit {
    /// The server's.
    pub server: Vec<Core>,
    /// The load's logical CPUs; empty where there is one core only, which both then use.
    pub load: CpuSet,
    /// Caveat on the division, where corun chose it.
    pub caveat: Option<Caveat>,
}

/// The load gets one of so many cores, rounded up: most generators do less for a request than the
/// server, and have several threads.
const CORES_PER_LOAD_CORE: usize = 3;

impl LoadCpus {
    /// Divides the cores that corun may use, given in the order in which the server takes them.
    ///
    /// # Errors
    /// If a named CPU cannot be used, or none are left for the server.
    pub fn divide(&self, cores: Vec<Core>) -> Result<CpuSplit, ServiceError> {
        match &self.named {
            Some(named) => divide_at(named, cores),
            None => Ok(self.choose(cores)),
        }
    }

    fn choose(&self, cores: Vec<Core>) -> CpuSplit {
        let all = cores.len();
        if all < 2 {
            let sentence = "There is one core only: the load generator runs on the server's CPUs, \
                            and takes from the server what it needs itself.";
            let caveat = Some(Caveat::new("load-shares-cpus", sentence));
            return CpuSplit { server: cores, load: CpuSet::default(), caveat };
        }
        let for_load = match self.server_cores {
            Some(promised) => all.saturating_sub(promised as usize).max(1),
            None => all.div_ceil(CORES_PER_LOAD_CORE),
        };
        let mut server = cores;
        let load: CpuSet =
            server.split_off(all - for_load).iter().flat_map(|core| core.cpus.clone()).collect();
        let sentence = format!(
            "The load generator has CPU {load} to itself, and the server {} of {all} cores: \
             `--load-cpus` divides them otherwise.",
            server.len()
        );
        CpuSplit { server, load, caveat: Some(Caveat::new("load-cpus", sentence)) }
    }
}

fn divide_at(named: &CpuSet, cores: Vec<Core>) -> Result<CpuSplit, ServiceError> {
    let usable: CpuSet = cores.iter().flat_map(|core| core.cpus.clone()).collect();
    if named.is_empty() || !named.is_subset(&usable) {
        return Err(ServiceError::LoadCpus { wanted: named.clone(), usable });
    }
    let is_named = |core: &Core| core.online_siblings.iter().any(|cpu| named.contains(*cpu));
    let server: Vec<Core> = cores.into_iter().filter(|core| !is_named(core)).collect();
    match server.is_empty() {
        true => Err(ServiceError::NoServerCore { load: named.clone() }),
        false => Ok(CpuSplit { server, load: named.clone(), caveat: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many cores with two siblings each: core i has CPUs i and i + n.
    fn cores(count: u32) -> Vec<Core> {
        let core = |first: u32| Core {
            cpus: vec![first, first + count],
            online_siblings: vec![first, first + count],
            core_type: None,
            numa_node: None,
        };
        (0..count).map(core).collect()
    }

    fn chosen(count: u32, server_cores: Option<u32>) -> (usize, CpuSet) {
        let split = LoadCpus { named: None, server_cores }.divide(cores(count)).unwrap();
        (split.server.len(), split.load)
    }

    #[test]
    fn the_load_gets_whole_cores_from_the_end() {
        assert_eq!(chosen(2, None), (1, [1, 3].into()));
        assert_eq!(chosen(4, None), (2, [2, 3, 6, 7].into()));
        assert_eq!(chosen(8, None).0, 5);
        assert_eq!(chosen(8, Some(2)).0, 2);
        // The layout says that it needs more.
        assert_eq!(chosen(4, Some(9)).0, 3);
    }

    #[test]
    fn one_core_is_shared_and_said_to_be() {
        let split = LoadCpus::default().divide(cores(1)).unwrap();
        assert_eq!((split.server.len(), split.load.is_empty()), (1, true));
        assert_eq!(split.caveat.unwrap().kind, "load-shares-cpus");
    }

    #[test]
    fn siblings_of_named_cpus_are_not_the_servers() {
        let named = LoadCpus { named: Some([3].into()), server_cores: None };
        let split = named.divide(cores(4)).unwrap();
        assert_eq!(split.server, cores(4)[..3]);
        assert_eq!((split.load, split.caveat), ([3].into(), None));
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        for named in [CpuSet::default(), [9].into(), [0, 1].into()] {
            let named = LoadCpus { named: Some(named), server_cores: None };
            assert!(named.divide(cores(2)).is_err());
        }
    }
}
