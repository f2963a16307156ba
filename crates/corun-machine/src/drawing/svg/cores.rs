//! Packages, what divides them, cores and their logical CPUs.

use crate::drawing::grid::Mark;
use crate::drawing::groups::{self, Group, PackageGroups};
use crate::drawing::summary::{cache_name, size};
use crate::probe::Probe;
use crate::{Core, CpuSet, LogicalCpu, Machine};

use super::piece::{Piece, rectangle};

/// Width of a logical CPU's cell in pixels; a little more for each digit above two.
const CELL: f64 = 30.0;
const DIGIT: f64 = 8.0;
const CELL_HEIGHT: f64 = 20.0;
/// Around the CPUs of a core.
const RIM: f64 = 4.0;
/// Between cores.
const GAP: f64 = 6.0;

/// The machine without its head.
pub(super) struct Cores<'a> {
    pub(super) machine: &'a Machine,
    pub(super) probe: Option<&'a Probe>,
    /// Pixels that packages may be wide.
    pub(super) width: f64,
}

impl Cores<'_> {
    /// All packages, and CPUs of which the core is not known.
    pub(super) fn draw(&self) -> Piece {
        let packages = groups::packages(self.machine);
        let mut pieces: Vec<Piece> = packages.iter().map(|one| self.package(one)).collect();
        let homeless = self.machine.logical_cpus.iter().filter(|cpu| cpu.core.is_none());
        let homeless: Vec<Piece> = homeless.map(|cpu| self.cpu(cpu)).collect();
        if !homeless.is_empty() {
            let cpus = Piece::flow(homeless, self.width - 40.0, GAP);
            pieces.push(cpus.framed("Core not known", "package"));
        }
        Piece::flow(pieces, self.width, 12.0)
    }

    fn package(&self, package: &PackageGroups<'_>) -> Piece {
        let inside = self.width - 20.0;
        let group = |group: &Group<'_>| self.group(group, inside - 20.0);
        let groups = package.groups.iter().map(group).collect();
        Piece::flow(groups, inside, 10.0).framed(&package.title, "package")
    }

    fn group(&self, group: &Group<'_>, width: f64) -> Piece {
        let cores = group.cores.iter().map(|core| self.core(core)).collect();
        let cores = Piece::flow(cores, width, GAP);
        if group.title.is_empty() { cores } else { cores.framed(&group.title, "group") }
    }

    /// A column of siblings.
    fn core(&self, core: &Core) -> Piece {
        let cpus = core.cpus.iter().filter_map(|cpu| self.machine.cpu(cpu));
        let cpus = Piece::stack(cpus.map(|cpu| self.cpu(cpu)).collect(), 3.0);
        let (width, height) = (cpus.width + 2.0 * RIM, cpus.height + 2.0 * RIM);
        let class = match self.core_type(core) {
            None | Some(0) => "core".to_owned(),
            Some(place) => format!("core kind{}", place.min(2)),
        };
        let mut whole = Piece::empty(width, height);
        whole.node = whole.node.add(rectangle(width, height, 5.0, &class));
        cpus.place(&mut whole.node, RIM, RIM);
        whole.explained(&self.words(core))
    }

    fn core_type(&self, core: &Core) -> Option<usize> {
        let name = core.core_type.as_ref()?;
        self.machine.core_types.iter().position(|one| one.name == *name)
    }

    /// The core and its caches, in words.
    fn words(&self, core: &Core) -> String {
        let kind = core.core_type.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        let plural = if core.cpus.len() == 1 { "" } else { "s" };
        let mut words = format!("core {}{kind}: CPU{plural} {}", core.id, core.cpus);
        let of_core = |cpus: &CpuSet| !cpus.is_disjoint(&core.cpus);
        for cache in self.machine.caches.iter().filter(|cache| of_core(&cache.cpus)) {
            let sharers = if cache.cpus.is_subset(&core.cpus) {
                String::new()
            } else {
                format!(", shared by CPUs {}", cache.cpus)
            };
            let name = cache_name(cache.level, cache.cache_type);
            words += &format!("\n{name} {}{sharers}", size(cache.size_bytes));
        }
        words
    }

    fn cpu(&self, cpu: &LogicalCpu) -> Piece {
        let highest = self.machine.logical_cpus.last().map_or(0, |cpu| cpu.id);
        let digits = highest.to_string().len();
        let width = CELL + DIGIT * digits.saturating_sub(2) as f64;
        let mark = Mark::of(cpu);
        let (class, state) = match mark {
            None => ("cpu", String::new()),
            Some(Mark::Offline) => ("cpu offline", format!(", {}", Mark::Offline.meaning())),
            Some(Mark::NotAllowed) => ("cpu barred", format!(", {}", Mark::NotAllowed.meaning())),
        };
        let wrong = self.probe.map_or(0, |probe| contradictions(probe, cpu.id));
        let mut words = format!("CPU {}{state}", cpu.id);
        let mut class = class.to_owned();
        if wrong > 0 {
            words += ", sysfs contradicted by the probe";
            class += " wrong";
        }
        Piece::cell(width, CELL_HEIGHT, &cpu.id.to_string(), &class).explained(&words)
    }
}

/// Number of contradictions about this CPU.
fn contradictions(probe: &Probe, cpu: u32) -> usize {
    probe.contradictions.iter().filter(|one| one.cpus.contains(&cpu)).count()
}
