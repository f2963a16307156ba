//! Which logical CPUs there are, and which of them share a core, a last-level cache, a package.
//!
//! CPUs are named by their place in [`Topology::cpus`]; the kernel's numbers are for people.

use corun_machine::Machine;

use super::ScheduleError;

/// A machine as a scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The logical CPUs, ascending by number.
    pub cpus: Vec<LogicalCpu>,
    /// The CPUs of each core.
    pub cores: Vec<Vec<usize>>,
    /// The CPUs of each last-level cache.
    pub caches: Vec<Vec<usize>>,
    /// The CPUs of each package.
    pub packages: Vec<Vec<usize>>,
}

/// A logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalCpu {
    /// The kernel's number.
    pub number: u32,
    /// Core, as a place in [`Topology::cores`].
    pub core: usize,
    /// Last-level cache, as a place in [`Topology::caches`].
    pub cache: usize,
    /// Package, as a place in [`Topology::packages`].
    pub package: usize,
}

/// Distance that a task moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// It stays where it is.
    SameCpu,
    /// To a sibling.
    SameCore,
    /// To a core with the same last-level cache.
    SameCache,
    /// Beyond that cache.
    Elsewhere,
}

/// More logical CPUs than this are refused.
const MAX_CPUS: usize = 65_536;

impl Topology {
    /// A machine of so many packages, cores in each and siblings in each core. Numbers go around as
    /// they do in most machines: first one CPU of every core, then their siblings.
    ///
    /// # Errors
    /// If there would be no CPU, or too many.
    pub fn synthetic(
        packages: usize,
        cores: usize,
        siblings: usize,
    ) -> Result<Self, ScheduleError> {
        let all = packages.checked_mul(cores).and_then(|it| it.checked_mul(siblings));
        let Some(all) = all.filter(|all| (1..=MAX_CPUS).contains(all)) else {
            return Err(ScheduleError::Topology {
                found: format!("{packages}x{cores}x{siblings}"),
                why: format!("of 1 to {MAX_CPUS} logical CPUs in all"),
            });
        };
        let place = |number: usize| {
            let core = number % (packages * cores);
            (number as u32, core, core / cores, core / cores)
        };
        Ok(Self::of_places((0..all).map(place)))
    }

    /// `2x4x2`: packages, cores in each, siblings in each core.
    ///
    /// # Errors
    /// If it is none of that form.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let numbers: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[packages, cores, siblings]) => Self::synthetic(packages, cores, siblings),
            _ => Err(ScheduleError::Topology {
                found: text.to_owned(),
                why: "such as 2x4x2: packages, cores in each, siblings in each core".to_owned(),
            }),
        }
    }

    /// The online CPUs of a machine. A CPU whose core is not known has one of its own; without a
    /// known last-level cache that of the package is assumed.
    pub fn of_machine(machine: &Machine) -> Self {
        let places = machine.logical_cpus.iter().filter(|cpu| cpu.online).map(|cpu| {
            let core = cpu.core.map_or(u64::from(cpu.id) << 32, u64::from);
            let package = cpu.package.unwrap_or_default();
            let cache = machine.last_level_caches().position(|cpus| cpus.contains(cpu.id));
            let cache = cache.map_or((1, package as usize), |place| (0, place));
            (cpu.id, core, cache, package)
        });
        Self::of_places(places)
    }

    /// From the number of each CPU, and any names of its core, its cache and its package.
    fn of_places<Core: PartialEq, Cache: PartialEq, Package: PartialEq>(
        places: impl IntoIterator<Item = (u32, Core, Cache, Package)>,
    ) -> Self {
        fn group<T: PartialEq>(
            names: &mut Vec<T>,
            members: &mut Vec<Vec<usize>>,
            name: T,
            cpu: usize,
        ) -> usize {
            let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                members.push(Vec::new());
                names.len() - 1
            });
            members[place].push(cpu);
            place
        }
        let (mut core_names, mut cores) = (Vec::new(), Vec::new());
        let (mut cache_names, mut caches) = (Vec::new(), Vec::new());
        let (mut package_names, mut packages) = (Vec::new(), Vec::new());
        let mut cpus = Vec::new();
        for (cpu, (number, core, cache, package)) in places.into_iter().enumerate() {
            cpus.push(LogicalCpu {
                number,
                core: group(&mut core_names, &mut cores, core, cpu),
                cache: group(&mut cache_names, &mut caches, cache, cpu),
                package: group(&mut package_names, &mut packages, package, cpu),
            });
        }
        Self { cpus, cores, caches, packages }
    }

    /// The machine with SMT off: one CPU a core, the first.
    #[must_use]
    pub fn without_siblings(&self) -> Self {
        let first = |cpu: &LogicalCpu| {
            let core = &self.cores[cpu.core];
            core.first().is_some_and(|&first| self.cpus[first].number == cpu.number)
        };
        let places = self.cpus.iter().filter(|cpu| first(cpu));
        Self::of_places(places.map(|cpu| (cpu.number, cpu.core, cpu.cache, cpu.package)))
    }

    /// Logical CPUs of the widest core.
    pub fn smt_width(&self) -> usize {
        self.cores.iter().map(Vec::len).max().unwrap_or(1)
    }

    /// The CPUs of this CPU's core, itself included.
    pub fn siblings(&self, cpu: usize) -> &[usize] {
        &self.cores[self.cpus[cpu].core]
    }

    /// Distance from one CPU to another.
    pub fn distance(&self, from: usize, to: usize) -> Distance {
        let [one, other] = [&self.cpus[from], &self.cpus[to]];
        if from == to {
            Distance::SameCpu
        } else if one.core == other.core {
            Distance::SameCore
        } else if one.cache == other.cache {
            Distance::SameCache
        } else {
            Distance::Elsewhere
        }
    }

    /// `2 packages, 8 cores, 16 logical CPUs`.
    pub fn line(&self) -> String {
        let count = |number: usize, one: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {one}s"),
        };
        format!(
            "{}, {}, {}",
            count(self.packages.len(), "package"),
            count(self.cores.len(), "core"),
            count(self.cpus.len(), "logical CPU")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_numbered_behind_all_cores() {
        let topology = Topology::parse("2x4x2").unwrap();
        assert_eq!(topology.line(), "2 packages, 8 cores, 16 logical CPUs");
        assert_eq!(topology.siblings(3), [3, 11]);
        assert_eq!(topology.distance(3, 11), Distance::SameCore);
        assert_eq!(topology.distance(3, 0), Distance::SameCache);
        assert_eq!(topology.distance(3, 4), Distance::Elsewhere);
        let off = topology.without_siblings();
        assert_eq!((off.cpus.len(), off.cores.len(), off.packages.len()), (8, 8, 2));
    }

    #[test]
    fn what_is_no_topology_is_refused() {
        for text in ["", "2x4", "2x4x0", "axbxc", "1x1x1x1", "99999999999x9999999999x99999"] {
            assert!(Topology::parse(text).is_err(), "{text}");
        }
    }
}
