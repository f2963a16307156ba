//! Parts of a command that are known to set the affinity of its processes, named with the way to turn it off.
//!
//! This is said beside what was read back: a child that binds itself and ends between two samples is not
//! seen.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::work::Command;

/// Programs that start another one on CPUs of their choice, and the way round them.
const WRAPPERS: [(&str, &str); 17] = [
    ("taskset", "leave it out"),
    ("numactl", "leave out --physcpubind and --cpunodebind"),
    ("hwloc-bind", "leave it out"),
    ("schedtool", "leave out -a"),
    ("cset", "leave it out"),
    ("cgexec", "leave out the cpuset controller"),
    ("systemd-run", "leave it out: what it runs is no child of corun"),
    ("likwid-pin", "leave it out"),
    ("likwid-mpirun", "leave it out"),
    ("likwid-perfctr", "use -c instead of -C"),
    ("mpirun", "add --bind-to none"),
    ("mpiexec", "add --bind-to none"),
    ("mpiexec.hydra", "add -bind-to none"),
    ("orterun", "add --bind-to none"),
    ("prterun", "add --bind-to none"),
    ("srun", "add --cpu-bind=none"),
    ("aprun", "add -cc none"),
];

/// Variables that make a run-time library bind threads or processes, the values that turn that off,
/// and the way to do so.
const VARIABLES: [(&str, &[&str], &str); 22] = [
    ("OMP_PROC_BIND", &["false"], "set it to false"),
    ("OMP_PLACES", &[""], "unset it"),
    ("GOMP_CPU_AFFINITY", &[""], "unset it"),
    ("KMP_AFFINITY", &["", "none", "disabled"], "set it to disabled"),
    ("KMP_HW_SUBSET", &[""], "unset it"),
    ("SUNW_MP_PROCBIND", &["", "false"], "set it to FALSE"),
    ("MP_BIND", &["", "no"], "set it to no"),
    ("XLSMPOPTS", &[""], "leave out startproc, stride and bind"),
    ("OMPI_MCA_hwloc_base_binding_policy", &["", "none"], "set it to none"),
    ("OMPI_MCA_rmaps_base_binding_policy", &["", "none"], "set it to none"),
    ("PRTE_MCA_hwloc_default_binding_policy", &["", "none"], "set it to none"),
    ("I_MPI_PIN", &["", "0", "no", "off", "false", "disable"], "set it to off"),
    ("I_MPI_PIN_DOMAIN", &[""], "set I_MPI_PIN to off"),
    ("I_MPI_PIN_PROCESSOR_LIST", &[""], "set I_MPI_PIN to off"),
    ("HYDRA_BINDING", &["", "none"], "set it to none"),
    ("MV2_ENABLE_AFFINITY", &["", "0"], "set it to 0"),
    ("MV2_CPU_MAPPING", &[""], "unset it"),
    ("SLURM_CPU_BIND", &["", "none", "no"], "set it to none"),
    ("QT_THREAD_AFFINITY", &[""], "unset it"),
    ("HPX_BIND", &["", "none"], "set it to none"),
    ("LIKWID_PIN", &[""], "unset it"),
    ("MPC_BIND", &["", "none"], "set it to none"),
];

/// Libraries that may bind threads or processes by themselves.
const LIBRARIES: [(&str, &str); 5] = [
    ("libmpi.so", "bind to none (mpirun --bind-to none, I_MPI_PIN=off)"),
    ("libnuma.so", "see the program's options for NUMA binding"),
    ("libhwloc.so", "see the program's options for binding"),
    ("liblikwid.so", "see the program's options for pinning"),
    ("libhpx", "set --hpx:bind=none"),
];

/// Length of a program's beginning that is searched for the names of libraries.
const MAX_BYTES: u64 = 4 << 20;

/// Parts of a command that set affinities, each with the way to turn it off.
#[derive(Debug, Clone, Default)]
pub(super) struct Binders {
    /// Wrappers and variables, which are there to bind.
    named: Vec<String>,
    /// Libraries, which may bind.
    linked: Vec<String>,
    /// The program is a launcher of MPI.
    launches_ranks: bool,
}

/// Programs that start the ranks of an MPI program on this machine.
const LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"];

impl Binders {
    #[expect(
        clippy::disallowed_methods,
        reason = "a program may have any length, of which this reads a part"
    )]
    pub(super) fn of(command: &Command, program: &Path) -> Self {
        let mut named = on_command_line(command);
        let environment = command.environment.iter();
        named.extend(variables(environment.map(|(name, value)| (&**name, &**value))));
        let mut text = Vec::new();
        let is_file = program.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_file && let Ok(file) = File::open(program) {
            let _ = file.take(MAX_BYTES).read_to_end(&mut text);
        }
        named.extend(of_script(&text));
        let mut seen = BTreeSet::new();
        named.retain(|binder| seen.insert(binder.clone()));
        let name = command.argv.first().and_then(|name| Path::new(name).file_name());
        let launches_ranks = LAUNCHERS.iter().any(|launcher| name == Some(OsStr::new(launcher)));
        Self { named, linked: libraries(&text), launches_ranks }
    }

    /// True if the command starts the ranks of an MPI program: they work, and it waits for them.
    pub(super) fn launch_ranks(&self) -> bool {
        self.launches_ranks
    }

    /// Report on a sample: libraries only where a worker was displaced.
    pub(super) fn to_report(&self, is_displaced: bool) -> Vec<String> {
        let linked = self.linked.iter().filter(|_| is_displaced);
        self.named.iter().chain(linked).cloned().collect()
    }
}

/// Wrappers and variables that a command line names.
pub(super) fn on_command_line(command: &Command) -> Vec<String> {
    let argv = || command.argv.iter().map(|text| &**text);
    wrappers(argv()).into_iter().chain(assignments(argv())).collect()
}

/// Wrappers and variables in the text of a script for a shell, comments left out.
fn of_script(file: &[u8]) -> Vec<String> {
    let mut lines = file.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let interpreter = first.split(|byte| b"/ \t".contains(byte));
    let is_shell = |word: &[u8]| [&b"sh"[..], b"bash", b"dash", b"ksh", b"zsh"].contains(&word);
    if !first.starts_with(b"#!") || !interpreter.into_iter().any(is_shell) {
        return Vec::new();
    }
    let lines = || {
        let code = file.split(|byte| *byte == b'\n').take(MAX_LINES);
        code.filter(|line| !line.trim_ascii_start().starts_with(b"#")).map(OsStr::from_bytes)
    };
    wrappers(lines()).into_iter().chain(assignments(lines())).collect()
}

/// Lines of a script that are searched.
const MAX_LINES: usize = 10_000;

/// The words of a command line, those of a script for a shell included.
fn words<'a>(
    argv: impl Iterator<Item = &'a OsStr>,
    separators: &'static [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let is_separator = move |byte: &u8| byte.is_ascii_whitespace() || separators.contains(byte);
    argv.flat_map(move |text| text.as_bytes().split(is_separator))
}

/// Variables that `env` or a shell sets for what it starts: `NAME=VALUE`.
fn assignments<'a>(argv: impl Iterator<Item = &'a OsStr>) -> Vec<String> {
    let pairs: Vec<_> = words(argv, b";&|()`\"'")
        .filter_map(|word| {
            let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=')?);
            Some((OsStr::from_bytes(name), OsStr::from_bytes(&value[1..])))
        })
        .collect();
    variables(pairs.into_iter())
}

/// Wrappers among the words of a command line.
fn wrappers<'a>(argv: impl Iterator<Item = &'a OsStr>) -> Vec<String> {
    let words: Vec<&[u8]> = words(argv, b";&|()`\"'$={}")
        .map(|word| word.rsplit(|byte| *byte == b'/').next().unwrap_or_default())
        .collect();
    let is_there = |name: &str| words.contains(&name.as_bytes());
    let of_numactl = |word: &[u8]| {
        let long: [&[u8]; 4] = [b"--physcpubind", b"--cpunodebind", b"--cpubind", b"--all"];
        long.iter().any(|option| word.starts_with(option))
            || word.starts_with(b"-C")
            || word.starts_with(b"-N")
            || word.starts_with(b"-c")
    };
    WRAPPERS
        .iter()
        .filter(|(name, _)| is_there(name))
        .filter(|(name, _)| *name != "numactl" || words.iter().any(|word| of_numactl(word)))
        .map(|(name, way)| format!("{name} ({way})"))
        .collect()
}

/// Variables of an environment that bind.
fn variables<'a>(environment: impl Iterator<Item = (&'a OsStr, &'a OsStr)>) -> Vec<String> {
    let binds = |(name, value): (&OsStr, &OsStr)| {
        let (variable, off, way) = VARIABLES.iter().find(|(known, ..)| name == *known)?;
        let value = value.to_string_lossy();
        let is_off = off.iter().any(|off| value.trim().eq_ignore_ascii_case(off));
        (!is_off).then(|| format!("{variable} ({way})"))
    };
    environment.filter_map(binds).collect()
}

/// Libraries that an ELF file names.
fn libraries(file: &[u8]) -> Vec<String> {
    if !file.starts_with(b"\x7fELF") {
        return Vec::new();
    }
    let names = |name: &str| {
        let (name, length) = (name.as_bytes(), name.len());
        // A name in a table of strings follows a NUL.
        file.windows(length + 1).any(|window| window[0] == 0 && &window[1..] == name)
    };
    let found = LIBRARIES.iter().filter(|(name, _)| names(name));
    found.map(|(name, way)| format!("{name} ({way})")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(argv: &[&str]) -> Vec<String> {
        wrappers(argv.iter().map(OsStr::new))
    }

    #[test]
    fn wrappers_are_found_by_name_also_in_a_script() {
        assert_eq!(found(&["taskset", "-c", "1", "true"]), ["taskset (leave it out)"]);
        assert_eq!(found(&["/usr/bin/mpirun", "x"]), ["mpirun (add --bind-to none)"]);
        assert_eq!(
            found(&["sh", "-c", "cd /;exec /bin/taskset 2 true"]),
            ["taskset (leave it out)"]
        );
        assert_eq!(found(&["numactl", "--interleave=all", "true"]), [] as [&str; 0]);
        assert_eq!(found(&["numactl", "-C0", "true"]).len(), 1);
        assert_eq!(found(&["echo", "tasksets", "mytaskset"]), [] as [&str; 0]);
    }

    #[test]
    fn a_variable_that_turns_binding_off_does_not_bind() {
        let of = |name: &str, value: &str| {
            variables([(OsStr::new(name), OsStr::new(value))].into_iter())
        };
        assert_eq!(of("OMP_PROC_BIND", "close"), ["OMP_PROC_BIND (set it to false)"]);
        assert_eq!(of("OMP_PROC_BIND", "FALSE"), [] as [&str; 0]);
        assert_eq!(of("KMP_AFFINITY", "compact").len(), 1);
        assert_eq!(of("GOMP_CPU_AFFINITY", "0-1").len(), 1);
        assert_eq!(of("HOME", "close"), [] as [&str; 0]);
    }

    #[test]
    fn variables_that_the_command_line_sets_count_too() {
        let set = |argv: &[&str]| assignments(argv.iter().map(OsStr::new));
        assert_eq!(set(&["env", "GOMP_CPU_AFFINITY=0-3", "x"]), ["GOMP_CPU_AFFINITY (unset it)"]);
        assert_eq!(
            set(&["sh", "-c", "export OMP_PROC_BIND='close';OMP_NUM_THREADS=2 ./x"]),
            ["OMP_PROC_BIND (set it to false)"]
        );
        assert_eq!(set(&["env", "OMP_PROC_BIND=false", "x"]), [] as [&str; 0]);
        assert_eq!(set(&["OMP_PROC_BIND", "x"]), [] as [&str; 0]);
    }

    #[test]
    fn scripts_for_a_shell_are_read() {
        let text = b"#! /usr/bin/env bash\n# srun is not used\n\nexport KMP_AFFINITY=compact\n exec taskset -c 1 ./x\n";
        assert_eq!(
            of_script(text),
            ["taskset (leave it out)", "KMP_AFFINITY (set it to disabled)"]
        );
        assert_eq!(of_script(b"#!/usr/bin/python3\ntaskset\n"), [] as [&str; 0]);
        assert_eq!(of_script(b"taskset\n"), [] as [&str; 0]);
    }

    #[test]
    fn libraries_are_found_in_programs_only() {
        let found = libraries(b"\x7fELF...\0libmpi.so.40\0libc.so.6\0");
        assert!(found.len() == 1 && found[0].starts_with("libmpi.so"), "{found:?}");
        assert_eq!(libraries(b"#!/bin/sh\n\0libmpi.so.40\0"), [] as [&str; 0]);
        assert_eq!(libraries(b""), [] as [&str; 0]);
    }
}
