//! The answer for a person: its sentence first, then what is shared at each level, then who is there.

use std::fmt::Write as _;

use corun_record::excerpt;
use corun_stats::percent;

use super::{BusyTask, CpuSharing, Guest, Others, Subject};
use crate::CpuSet;
use crate::doctor::words::{count, cpus};
use crate::drawing::size;

/// So many tasks, masks and guest cores are shown; JSON has all.
const SHOWN: usize = 12;
/// Columns of the names on the left.
const LABEL: usize = 12;

/// The result in lines of up to `width` columns.
pub fn describe(sharing: &CpuSharing, width: usize) -> String {
    let mut page = Page { text: format!("{}\n\n", textwrap::fill(&sharing.answer, width)), width };
    if let Subject::Process { masks, .. } = &sharing.subject
        && masks.len() > 1
        && sharing.guest.is_none()
    {
        for mask in masks.iter().take(SHOWN) {
            let what = format!("{} on {}", count(mask.threads, "thread"), cpus(&mask.cpus));
            page.row("threads", &what);
        }
        page.rest(masks.len(), "masks");
    }
    if let Subject::ControlGroup { cpuset: None, .. } = &sharing.subject {
        page.row("cpuset", "none limits this group: it may use all CPUs");
    }
    if !sharing.offline.is_empty() {
        page.row("offline", &format!("{} are named and offline", cpus(&sharing.offline)));
    }
    levels(&mut page, sharing);
    if let Some(guest) = &sharing.guest {
        self::guest(&mut page, guest);
    }
    match &sharing.others {
        Some(others) => self::others(&mut page, others),
        None => page.row("others", "cannot be seen in a captured tree"),
    }
    page.text
}

fn levels(page: &mut Page, sharing: &CpuSharing) {
    let outside = |sets: &mut dyn Iterator<Item = &CpuSet>| -> CpuSet {
        sets.flat_map(|set| set.as_slice().to_vec()).collect()
    };
    if !sharing.cores.is_empty() {
        let others = outside(&mut sharing.cores.iter().map(|core| &core.outside));
        page.row("cores", &format!("{}{}", sharing.cores.len(), shared_with(&others)));
    }
    if !sharing.core_unknown.is_empty() {
        page.row("core unknown", &cpus(&sharing.core_unknown));
    }
    let mut levels: Vec<u32> = sharing.caches.iter().map(|cache| cache.level).collect();
    levels.dedup();
    for level in levels {
        let caches: Vec<_> = sharing.caches.iter().filter(|cache| cache.level == level).collect();
        let others = outside(&mut caches.iter().map(|cache| &cache.outside));
        let mut sizes: Vec<String> = caches.iter().map(|cache| size(cache.size_bytes)).collect();
        sizes.dedup();
        let what = format!("{} of {}{}", caches.len(), sizes.join(", "), shared_with(&others));
        page.row(&format!("L{level} caches"), &what);
    }
    for node in &sharing.numa_nodes {
        let memory = node.memory_bytes.map(|bytes| format!(" ({})", size(Some(bytes))));
        let what = format!(
            "node {}{}: {}{}",
            node.node,
            memory.unwrap_or_default(),
            cpus(&node.inside),
            shared_with(&node.outside)
        );
        page.row("NUMA", &what);
    }
}

fn shared_with(others: &CpuSet) -> String {
    match others.is_empty() {
        true => ", not shared with CPUs outside".to_owned(),
        false => format!(", shared with {}", cpus(others)),
    }
}

fn guest(page: &mut Page, guest: &Guest) {
    for (number, core) in guest.cores.iter().enumerate().take(SHOWN) {
        let vcpus: Vec<String> = core
            .vcpus
            .iter()
            .map(|vcpu| format!("vCPU {} on {}", vcpu.number, cpus(&vcpu.cpus)))
            .collect();
        let what = format!("{} ({})", vcpus.join(", "), count(core.host_cores.len(), "host core"));
        page.row(&format!("guest core {number}"), &what);
    }
    page.rest(guest.cores.len(), "guest cores");
    if !guest.other_threads.is_empty() {
        page.row("QEMU itself", &format!("other threads on {}", cpus(&guest.other_threads)));
    }
}

fn others(page: &mut Page, others: &Others) {
    let busiest = others.siblings_busy.iter().max_by(|one, two| one.share.total_cmp(&two.share));
    if let Some(busiest) = busiest {
        let what = format!(
            "in {:.2} s the busiest sibling outside, CPU {}, was busy for {} of the time",
            others.seconds,
            busiest.cpu,
            percent(busiest.share)
        );
        page.row("siblings", &what);
    }
    if others.tasks.is_empty() {
        let what =
            format!("in {:.2} s no other busy task was seen that may run there", others.seconds);
        page.row("others", &what);
    }
    page.busy("beside it", others.tasks.iter().filter(|task| !task.siblings.is_empty()));
    page.busy("in the set", others.tasks.iter().filter(|task| !task.inside.is_empty()));
}

/// Rows of a name and what follows it.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn row(&mut self, label: &str, what: &str) {
        let first = format!("{label:<LABEL$}  ");
        let indent = " ".repeat(LABEL + 2);
        let options =
            textwrap::Options::new(self.width).initial_indent(&first).subsequent_indent(&indent);
        let _ = writeln!(self.text, "{}", textwrap::fill(what, options));
    }

    /// Busy tasks that may run there.
    fn busy<'a>(&mut self, label: &str, tasks: impl Iterator<Item = &'a BusyTask>) {
        let mut names: Vec<String> = tasks
            .map(|task| format!("{} ({}) {}", excerpt(&task.name), task.id, percent(task.share)))
            .collect();
        if names.is_empty() {
            return;
        }
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        names.extend((more > 0).then(|| format!("{more} more")));
        self.row(label, &format!("may run, with their use of a CPU: {}", names.join(", ")));
    }

    /// Number left out.
    fn rest(&mut self, all: usize, what: &str) {
        if all > SHOWN {
            self.row("", &format!("and {} more {what}", all - SHOWN));
        }
    }
}
