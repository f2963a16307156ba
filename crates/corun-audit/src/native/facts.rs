//! Facts that the properties need, read from the machine.

use std::path::Path;

use corun_machine::{CpuControl, CpuSet, Machine, RootFiles, SystemFiles, cpu_control};
use corun_measure::cores::{usable_cores, why_no_siblings};

use crate::facts::Facts;

const AUTOGROUP: &str = "proc/sys/kernel/sched_autogroup_enabled";

/// The facts of `machine`; free loads are pinned to `pinned_to`.
pub fn facts(machine: &Machine, pinned_to: Option<&CpuSet>) -> Facts {
    let cores = usable_cores(machine);
    let no_siblings = why_no_siblings(machine, &cores);
    let mut facts = Facts {
        cores: cores.into_iter().map(|core| core.cpus).collect(),
        caches: machine.last_level_caches().map(|cpus| cpus.iter().collect()).collect(),
        no_siblings,
        autogroup: None,
        is_in_root_group: false,
        groups: Err("the machine's files cannot be read".to_owned()),
        pinned_to: pinned_to.map(|cpus| cpus.iter().collect()),
    };
    if let Ok(mut files) = RootFiles::open(Path::new("/")) {
        facts.autogroup = files.read(AUTOGROUP).ok().map(|text| text.trim() == "1");
        let CpuControl { is_root, folders } = cpu_control(&mut files);
        facts.is_in_root_group = is_root;
        facts.groups = folders.and_then(|folders| parent_of_groups(&mut files, &folders));
    }
    facts
}

/// The first of the folders in which a group with a quota can be made.
fn parent_of_groups(files: &mut RootFiles, folders: &[String]) -> Result<String, String> {
    let mut hands_down = |folder: &&String| {
        let control = files.read(&format!("{folder}/cgroup.subtree_control"));
        control.is_ok_and(|controllers| controllers.split_whitespace().any(|it| it == "cpu"))
    };
    let handing_down: Vec<&String> = folders.iter().filter(|it| hands_down(it)).collect();
    if handing_down.is_empty() {
        return Err("it needs a control group of version 2 that hands the CPU controller down \
                    (cgroup.subtree_control)"
            .to_owned());
    }
    let found = handing_down.into_iter().find(|folder| {
        is_writable(&format!("/{folder}")) && is_writable(&format!("/{folder}/cgroup.procs"))
    });
    found.map(|folder| format!("/{folder}")).ok_or_else(|| {
        "it needs a control group of version 2 in which this user may make others".to_owned()
    })
}

fn is_writable(path: &str) -> bool {
    let Ok(path) = std::ffi::CString::new(path) else { return false };
    // SAFETY: a path that ends with a NUL.
    unsafe { libc::access(path.as_ptr(), libc::W_OK) == 0 }
}
