//! What of the files describes the machine, and nothing else: in every captured machine.
//!
//! Left out are the tasks that run (only whether irqbalance is among them was asked), serial numbers of processors
//! and machines, mounts of other file systems, and what is after the kernel's own part of its command line.

use super::Capture;

/// The capture without what no reader uses.
pub(super) fn of(capture: Capture) -> Capture {
    let Capture { mut files, mut folders } = capture;
    files.retain(|path, _| !is_of_a_task(path));
    for (path, text) in &mut files {
        *text = essential(path, text);
    }
    // A name that has files below it needs no folder of its own, and one that is a file cannot have it.
    let is_empty = |folder: &String| {
        let below = format!("{folder}/");
        let next = files.range(below.clone()..).next();
        !files.contains_key(folder) && !next.is_some_and(|(path, _)| path.starts_with(&below))
    };
    folders.retain(|folder| !folder.starts_with("proc/") && is_empty(folder));
    Capture { files, folders }
}

/// Files of a process other than the reader itself.
fn is_of_a_task(path: &str) -> bool {
    let task = path.strip_prefix("proc/").and_then(|rest| rest.split('/').next());
    task.is_some_and(|task| !task.is_empty() && task.bytes().all(|byte| byte.is_ascii_digit()))
}

fn essential(path: &str, text: &str) -> String {
    match path {
        "proc/cpuinfo" => without_identification(&lines(text, |line| !is_serial(line))),
        "proc/sysinfo" => lines(text, |line| !is_serial(line)),
        "proc/self/status" => lines(text, |line| {
            ["Cpus_allowed_list:", "CapEff:"].iter().any(|key| line.starts_with(key))
        }),
        "proc/self/mountinfo" => lines(text, |line| {
            let kind = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next());
            is_needed(kind, line.split(' ').nth(4))
        }),
        "proc/mounts" | "proc/self/mounts" => lines(text, |line| {
            let mut fields = line.split(' ').skip(1);
            let point = fields.next();
            is_needed(fields.next(), point)
        }),
        "proc/cmdline" => text.split(" -- ").next().unwrap_or_default().to_owned(),
        _ => text.to_owned(),
    }
}

/// Whether a file system of this kind at this mount point is control groups, or one in user space over files of the
/// kernel, such as LXCFS.
fn is_needed(kind: Option<&str>, point: Option<&str>) -> bool {
    let (kind, point) = (kind.unwrap_or_default(), point.unwrap_or_default());
    let is_kernels = ["/proc", "/sys"].iter().any(|start| point.starts_with(start));
    matches!(kind, "cgroup" | "cgroup2" | "cpuset") || (kind.starts_with("fuse") && is_kernels)
}

fn is_serial(line: &str) -> bool {
    let key = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
    ["serial", "sequence code", "uuid"].iter().any(|word| key.contains(word))
}

fn lines(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keeps(line)).collect::<Vec<_>>().join("\n")
}

/// IBM Z gives each processor's serial number as its identification, in a line of such parts.
fn without_identification(text: &str) -> String {
    let is_kept = |part: &&str| !part.trim_start().starts_with("identification = ");
    let line = |line: &str| line.split(',').filter(is_kept).collect::<Vec<_>>().join(",");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_left_out_on_each_architecture() {
        let cpuinfo = |text| essential("proc/cpuinfo", text);
        assert_eq!(cpuinfo("CPU part : 0xd08\nSerial\t\t: 10000000abcdef01"), "CPU part : 0xd08");
        assert_eq!(
            cpuinfo("processor 0: version = FF,  identification = 29AA14,  machine = 2817"),
            "processor 0: version = FF,  machine = 2817"
        );
        let sysinfo = "Manufacturer: IBM\nSequence Code: 00000000000A1B2C\nLPAR UUID: 1-2";
        assert_eq!(essential("proc/sysinfo", sysinfo), "Manufacturer: IBM");
    }

    #[test]
    fn of_mounts_and_of_the_boot_line_only_what_is_read_stays() {
        let mounts = "22 27 0:21 / /home/ann rw - nfs4 server:/home rw\n\
                      24 27 0:22 / /mnt rw - fuse.sshfs ann@server:/ rw\n\
                      25 27 0:23 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n\
                      31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(
            essential("proc/self/mountinfo", mounts),
            "25 27 0:23 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n\
             31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
        );
        let table = "ann@server:/ /mnt fuse.sshfs rw 0 0\nlxcfs /proc/stat fuse.lxcfs rw 0 0";
        assert_eq!(essential("proc/self/mounts", table), "lxcfs /proc/stat fuse.lxcfs rw 0 0");
        assert_eq!(essential("proc/cmdline", "nosmt quiet -- --token=secret"), "nosmt quiet");
        assert!(is_of_a_task("proc/17/comm") && !is_of_a_task("proc/self/stat"));
    }
}
