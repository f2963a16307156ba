//! Files that describe the machine, and nothing else: in every captured machine.
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
        "proc/self/mountinfo" => mounts(text, |line| {
            let (place, filesystem) = line.split_once(" - ")?;
            let (point, kind) = (place.split(' ').nth(4)?, filesystem.split(' ').next()?);
            let place: Vec<&str> = place.split(' ').take(3).collect();
            let place_alone = format!("{} / {point} rw - {kind} none rw", place.join(" "));
            Some(Mount { point, kind, place_alone })
        }),
        "proc/mounts" | "proc/self/mounts" => mounts(text, |line| {
            let mut fields = line.split(' ').skip(1);
            let (point, kind) = (fields.next()?, fields.next()?);
            Some(Mount { point, kind, place_alone: format!("none {point} {kind} rw 0 0") })
        }),
        "proc/cmdline" => text.split(" -- ").next().unwrap_or_default().to_owned(),
        _ => text.to_owned(),
    }
}

/// A line of a table of mounts.
struct Mount<'a> {
    point: &'a str,
    kind: &'a str,
    /// The line without the mount's source and options, which may be private.
    place_alone: String,
}

/// The mounts of control groups and of file systems in user space over files of the kernel, such as LXCFS; of others
/// the places of those on the way to control groups, and over them.
fn mounts<'a>(table: &'a str, parse: impl Fn(&'a str) -> Option<Mount<'a>>) -> String {
    let lines = || table.lines().filter_map(|line| Some((line, parse(line)?)));
    let groups: Vec<&str> =
        lines().filter(|(_, it)| it.is_of_groups()).map(|(_, it)| it.point).collect();
    let kept = lines().filter_map(|(line, mount)| {
        if mount.is_of_groups() || mount.is_over_kernel_files() {
            return Some(line.to_owned());
        }
        let is_near = |group: &&str| is_within(group, mount.point) || is_within(mount.point, group);
        groups.iter().any(is_near).then_some(mount.place_alone)
    });
    kept.collect::<Vec<_>>().join("\n")
}

impl Mount<'_> {
    fn is_of_groups(&self) -> bool {
        matches!(self.kind, "cgroup" | "cgroup2" | "cpuset")
    }

    fn is_over_kernel_files(&self) -> bool {
        let is_kernels = ["/proc", "/sys"].iter().any(|start| self.point.starts_with(start));
        self.kind.starts_with("fuse") && is_kernels
    }
}

/// True if a path is `folder` or lies below it.
fn is_within(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
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
        // Of what is on the way to control groups, or covers them, the place is kept.
        let stacked = "27 1 254:0 /ann / rw,relatime shared:1 - ext4 /dev/mapper/ann rw,errors=x\n\
                       31 27 0:28 / /cg rw - cgroup2 cgroup2 rw\n\
                       40 31 0:33 / /cg/jobs rw - nfs4 server:/home rw\n\
                       41 27 0:33 / /cgroups rw - nfs4 server:/home rw";
        assert_eq!(
            essential("proc/self/mountinfo", stacked),
            "27 1 254:0 / / rw - ext4 none rw\n\
             31 27 0:28 / /cg rw - cgroup2 cgroup2 rw\n\
             40 31 0:33 / /cg/jobs rw - nfs4 none rw"
        );
        let table = "ann@server:/ /mnt fuse.sshfs rw 0 0\nlxcfs /proc/stat fuse.lxcfs rw 0 0";
        assert_eq!(essential("proc/self/mounts", table), "lxcfs /proc/stat fuse.lxcfs rw 0 0");
        assert_eq!(essential("proc/cmdline", "nosmt quiet -- --token=secret"), "nosmt quiet");
        assert!(is_of_a_task("proc/17/comm") && !is_of_a_task("proc/self/stat"));
    }
}
