//! Names that may tell of people and places, left out of a captured machine or replaced.
//!
//! Names of control groups (users, containers, jobs, hosts of virtual machines) become `group-1`, `group-2`, ...; of
//! the kernel's command line only words about CPUs and memory stay; what looks like a hardware address, a UUID or the
//! number of a container is blanked wherever it stands. What describes the hardware is kept.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Capture;

/// Arguments of the kernel's command line that stay, as far as their names go.
const ARGUMENTS: [&str; 31] = [
    "amd_pstate",
    "clocksource",
    "cpufreq",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle",
    "intel_pstate",
    "isolcpus",
    "kvm-intel",
    "l1tf",
    "maxcpus",
    "mds",
    "mitigations",
    "mmio_stale_data",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nowatchdog",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "processor",
    "rcu_nocbs",
    "reg_file_data_sampling",
    "retbleed",
    "smt-enabled",
    "transparent_hugepage",
    "tsa",
    "tsx_async_abort",
];

/// Files that say who or where, and are not needed.
const LEFT_OUT: [&str; 2] = ["run/", "proc/sys/kernel/random/"];

/// The capture without names.
pub(super) fn of(capture: Capture) -> Capture {
    let groups = Groups::find(&capture);
    let is_kept = |path: &str| !LEFT_OUT.iter().any(|start| path.starts_with(start));
    let files = capture.files.into_iter().filter(|(path, _)| is_kept(path));
    let files = files.map(|(path, text)| {
        let text = match &*path {
            "proc/cmdline" => about_cpus(&text),
            "proc/sysinfo" => without_names(&text),
            "proc/self/mountinfo" => groups.in_mountinfo(&text),
            "proc/self/cgroup" | "proc/self/cpuset" => groups.renamed(&text, &['/', '\n']),
            path if path.ends_with("/ibm,partition-name") => "partition".to_owned(),
            _ => text,
        };
        (groups.in_path(&path), blanked(&text))
    });
    let folders = capture.folders.iter().filter(|path| is_kept(path));
    Capture {
        files: files.collect(),
        folders: folders.map(|path| blanked(&groups.in_path(path))).collect(),
    }
}

fn about_cpus(line: &str) -> String {
    let is_kept = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default().replace('_', "-");
        let name = name.split('.').next().unwrap_or_default();
        ARGUMENTS.iter().any(|known| known.replace('_', "-") == name)
    };
    line.split_whitespace().filter(is_kept).collect::<Vec<_>>().join(" ")
}

/// The account of IBM Z without the names of its partitions and guests.
fn without_names(text: &str) -> String {
    let is_kept = |line: &&str| !line.split(':').next().unwrap_or_default().contains("Name");
    text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

/// Hardware addresses, UUIDs, and numbers of 12 hexadecimal digits and more (those of containers), digit by digit.
fn blanked(text: &str) -> String {
    #[expect(clippy::expect_used, reason = "the expression is constant, and a test uses it")]
    static IDENTITY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,})\b",
        )
        .expect("a regular expression")
    });
    let zeros = |found: &regex::Captures<'_>| {
        let digit = |character: char| if character.is_ascii_hexdigit() { '0' } else { character };
        found[0].chars().map(digit).collect::<String>()
    };
    IDENTITY.replace_all(text, zeros).into_owned()
}

/// New names for the parts of the paths of control groups.
struct Groups {
    names: BTreeMap<String, String>,
    /// Mount points of the groups, the longest path first.
    points: Vec<String>,
}

impl Groups {
    fn find(capture: &Capture) -> Self {
        let text = |path: &str| capture.files.get(path).map(String::as_str).unwrap_or_default();
        let own = text("proc/self/cgroup").lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let older = text("proc/self/cpuset").lines();
        let shown = text("proc/self/mountinfo").lines().filter_map(|line| line.split(' ').nth(3));
        let mut names = BTreeMap::new();
        for part in own.chain(older).chain(shown).flat_map(|path| path.split('/')) {
            if !part.is_empty() && part != ".." && !names.contains_key(part) {
                names.insert(part.to_owned(), format!("group-{}", names.len() + 1));
            }
        }
        let points = text("proc/self/mountinfo").lines().filter_map(|line| line.split(' ').nth(4));
        let tables = ["proc/self/mounts", "proc/mounts"];
        let listed = tables.iter().flat_map(|table| text(table).lines());
        let points = points.chain(listed.filter_map(|line| line.split(' ').nth(1)));
        let mut points: Vec<String> =
            points.map(|point| format!("{}/", point.trim_matches('/'))).collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.len()));
        Self { names, points }
    }

    /// The text with every part renamed, parts being what stands between these characters.
    fn renamed(&self, text: &str, between: &[char]) -> String {
        let part = |piece: &str| {
            let name = piece.trim_end_matches(between);
            match self.names.get(name) {
                Some(new) => format!("{new}{}", &piece[name.len()..]),
                None => piece.to_owned(),
            }
        };
        text.split_inclusive(between).map(part).collect()
    }

    /// The group that is shown at a mount point is the fourth field.
    fn in_mountinfo(&self, text: &str) -> String {
        let line = |line: &str| {
            let fields = line.split(' ').enumerate();
            let field = |(at, field): (usize, &str)| match at {
                3 => self.renamed(field, &['/']),
                _ => field.to_owned(),
            };
            fields.map(field).collect::<Vec<_>>().join(" ")
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The path of a file, in which names of groups stand below the mount points alone.
    fn in_path(&self, path: &str) -> String {
        let below = |point: &String| Some((point.clone(), path.strip_prefix(point.as_str())?));
        match self.points.iter().find_map(below) {
            Some((point, rest)) => point + &self.renamed(rest, &['/']),
            None => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_identifies_is_blanked_and_masks_are_not() {
        assert_eq!(blanked("ip=52:54:00:12:34:56 on"), "ip=00:00:00:00:00:00 on");
        let uuid = "root=UUID=0a1b2c3d-0000-4000-8000-00aabbccddee";
        assert_eq!(blanked(uuid), "root=UUID=00000000-0000-0000-0000-000000000000");
        assert_eq!(blanked(&"a1".repeat(32)), "0".repeat(64));
        for kept in ["ffffffff,ffffffff,00000000", "00:1f.2 8086", "0x00000000410fd871"] {
            assert_eq!(blanked(kept), kept);
        }
    }

    #[test]
    fn groups_are_renamed_below_their_mount_points_alone() {
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = BTreeMap::from([
            text("proc/self/cgroup", "4:cpu:/kernel/cpu"),
            text(
                "proc/self/mountinfo",
                "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            ),
            text("sys/fs/cgroup/cpu/kernel/cpu/cpu.cfs_quota_us", "-1"),
            text("sys/kernel/mm/transparent_hugepage/enabled", "always"),
        ]);
        let anonymous = of(Capture { files, ..Capture::default() });
        let paths: Vec<&str> = anonymous.files().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "proc/self/cgroup",
                "proc/self/mountinfo",
                "sys/fs/cgroup/cpu/group-1/group-2/cpu.cfs_quota_us",
                "sys/kernel/mm/transparent_hugepage/enabled",
            ]
        );
        assert_eq!(anonymous.files["proc/self/cgroup"], "4:cpu:/group-1/group-2");
    }

    #[test]
    fn of_the_boot_line_words_about_cpus_stay() {
        assert_eq!(
            about_cpus(
                "BOOT_IMAGE=/vmlinuz root=LABEL=ann nosmt=force isolcpus=1-3 hostname=box rcu-nocbs=1"
            ),
            "nosmt=force isolcpus=1-3 rcu-nocbs=1"
        );
    }
}
