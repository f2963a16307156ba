//! Whether `/proc` hides the tasks of other users (its mount option hidepid, proc(5)): those are not merely unreadable, and
//! how many there are is not known.

use corun_files::decimal;

/// The capability to trace any process, as a bit of `CapEff`.
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// True if tasks of other users are hidden from the process of these `/proc/self/mountinfo` and `/proc/self/status`.
pub(crate) fn hides_tasks(mountinfo: &str, status: &str) -> bool {
    // What was mounted last covers what was there before.
    let Some(options) = mountinfo.lines().filter_map(options_of_proc).next_back() else {
        return false;
    };
    let value =
        |name: &str| options.split(',').filter_map(|it| it.split_once('=')).find(|it| it.0 == name);
    let mode = value("hidepid").map_or("off", |(_, mode)| mode);
    if matches!(mode, "off" | "0") {
        return false;
    }
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let capabilities = u64::from_str_radix(field("CapEff:").trim(), 16).unwrap_or(0);
    if capabilities & CAP_SYS_PTRACE != 0 {
        return false;
    }
    // Members of a group are exempt, by default of that of root, but from the mode that asks for each task.
    let group = value("gid").map_or(Some(0), |(_, group)| decimal(group.as_bytes()));
    let own = ["Gid:", "Groups:"].map(field);
    let mut own = own.iter().flat_map(|it| it.split_whitespace()).map(|it| decimal(it.as_bytes()));
    matches!(mode, "ptraceable" | "4") || !own.any(|it| it.is_some() && it == group)
}

/// The options of the file system of a line of mountinfo, if it is `/proc`.
fn options_of_proc(line: &str) -> Option<&str> {
    let (mount, system) = line.split_once(" - ")?;
    let is_proc = mount.split(' ').nth(4) == Some("/proc") && system.starts_with("proc ");
    is_proc.then(|| system.split(' ').nth(2)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str =
        "Name:\tx\nGid:\t1000\t1000\t1000\t1000\nGroups:\t4 24 \nCapEff:\t0000000000000000\n";
    const ROOT: &str = "Gid:\t0\t0\t0\t0\nGroups:\t0 \nCapEff:\t000001ffffffffff\n";

    #[test]
    fn tasks_are_hidden_by_the_last_mount_from_who_may_not_trace_them() {
        let mounts = |options: &str| {
            format!(
                "20 1 0:20 / /proc rw - proc proc rw\n21 1 0:21 / /sys rw - sysfs sysfs rw\n\
                 22 20 0:22 / /proc rw,nosuid - proc proc rw{options}\n"
            )
        };
        for (options, status, hidden) in [
            ("", USER, false),
            (",hidepid=off", USER, false),
            (",hidepid=invisible", USER, true),
            (",hidepid=2", USER, true),
            (",hidepid=1", USER, true),
            (",hidepid=invisible", ROOT, false),
            (",gid=24,hidepid=2", USER, false),
            (",gid=24,hidepid=ptraceable", USER, true),
        ] {
            assert_eq!(hides_tasks(&mounts(options), status), hidden, "{options}");
        }
        assert!(!hides_tasks("", USER));
    }
}
