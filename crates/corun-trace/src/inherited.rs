//! Attributes that a program has from the process that becomes it (exec): wrappers such as `taskset`, `prlimit`, `nice`, `setarch`
//! and a shell's `ulimit` set them, so that a program that runs without its wrapper is given them again, or is refused.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use corun_machine::Affinity;
use nix::unistd::Pid;

use crate::NotAlone;

/// The attributes of a program that differ from those of corun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InheritedAttributes {
    /// By the number of the resource: the soft and the hard limit.
    limits: Vec<(Resource, [u64; 2])>,
    /// CPUs.
    affinity: Option<Affinity>,
    nice: Option<i32>,
    /// Execution domain, such as addresses that are not random (personality(2)).
    personality: Option<libc::c_ulong>,
}

type Resource = libc::c_int;

/// Limits that programs inherit. What uses a limit up is not the same under a tracer where a sentence says so.
const LIMITS: [(Resource, Option<&str>); 13] = [
    (libc::RLIMIT_AS as Resource, Some("the address space (RLIMIT_AS)")),
    (libc::RLIMIT_DATA as Resource, Some("data (RLIMIT_DATA)")),
    (libc::RLIMIT_CPU as Resource, Some("processor time (RLIMIT_CPU)")),
    (libc::RLIMIT_RTTIME as Resource, Some("processor time (RLIMIT_RTTIME)")),
    (libc::RLIMIT_STACK as Resource, None),
    (libc::RLIMIT_CORE as Resource, None),
    (libc::RLIMIT_FSIZE as Resource, None),
    (libc::RLIMIT_NOFILE as Resource, Some("open files (RLIMIT_NOFILE)")),
    (libc::RLIMIT_NPROC as Resource, None),
    (libc::RLIMIT_MEMLOCK as Resource, None),
    (libc::RLIMIT_SIGPENDING as Resource, None),
    (libc::RLIMIT_NICE as Resource, None),
    (libc::RLIMIT_RTPRIO as Resource, None),
];

/// Namespaces of a process, by the names of their files.
const NAMESPACES: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// Attributes of a process that exec keeps, but for its environment, folder and input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessAttributes {
    limits: Vec<[u64; 2]>,
    affinity: Affinity,
    nice: i32,
    personality: Option<libc::c_ulong>,
    /// User, groups and capabilities.
    rights: Vec<String>,
    seccomp: Option<String>,
    namespaces: Vec<Option<PathBuf>>,
    group: Option<String>,
    /// Numbers of the open files but for the standard streams.
    files: BTreeSet<OsString>,
}

impl ProcessAttributes {
    /// The attributes of a process that this one may trace.
    ///
    /// # Errors
    /// If the kernel does not tell them.
    pub(crate) fn of(process: Pid) -> io::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let text = |name: &str| corun_files::kernel_text(folder.join(name));
        let status = text("status")?;
        let line = |name: &str| status.lines().find(|it| it.starts_with(name)).map(str::to_owned);
        let rights = ["Uid:", "Gid:", "Groups:", "CapEff:"].into_iter().filter_map(line);
        let standard = ["0", "1", "2"].map(OsString::from);
        let files = fs::read_dir(folder.join("fd"))?.map(|entry| Ok(entry?.file_name()));
        let files = files.collect::<io::Result<BTreeSet<_>>>()?;
        let personality = text("personality").ok();
        Ok(Self {
            limits: LIMITS.iter().map(|(it, _)| limit(process, *it)).collect::<Result<_, _>>()?,
            affinity: Affinity::of(process.as_raw())?,
            nice: nice(process)?,
            personality: personality
                .and_then(|it| libc::c_ulong::from_str_radix(it.trim(), 16).ok()),
            rights: rights.collect(),
            seccomp: line("Seccomp:"),
            namespaces: NAMESPACES.map(|it| fs::read_link(folder.join("ns").join(it)).ok()).into(),
            group: text("cgroup").ok(),
            files: files.into_iter().filter(|it| !standard.contains(it)).collect(),
        })
    }

    /// The attributes to set for a program that is started with those before, so that it has these.
    ///
    /// # Errors
    /// If one cannot be set, or is another one under a tracer.
    pub(crate) fn since(&self, before: &Self) -> Result<InheritedAttributes, NotAlone> {
        let is_same = |what, is_same: bool| match is_same {
            true => Ok(()),
            false => Err(NotAlone::Attributes(what)),
        };
        is_same("with the rights of another user", self.rights == before.rights)?;
        is_same("in other namespaces", self.namespaces == before.namespaces)?;
        is_same("in another control group", self.group == before.group)?;
        is_same("under a filter of system calls (seccomp)", self.seccomp == before.seccomp)?;
        is_same("with open files that it was given", self.files.is_subset(&before.files))?;
        let mut limits = Vec::new();
        for (at, (resource, of_tracer)) in LIMITS.into_iter().enumerate() {
            let [soft, hard] = self.limits[at];
            if [soft, hard] == before.limits[at] {
                continue;
            }
            if let Some(what) = of_tracer.filter(|_| soft < before.limits[at][0]) {
                return Err(NotAlone::Limit(what));
            }
            limits.push((resource, [soft, hard]));
        }
        let is_other = |is_other: bool| is_other.then_some(());
        Ok(InheritedAttributes {
            limits,
            affinity: is_other(self.affinity != before.affinity).map(|()| self.affinity.clone()),
            nice: is_other(self.nice != before.nice).map(|()| self.nice),
            personality: self.personality.filter(|_| self.personality != before.personality),
        })
    }
}

impl InheritedAttributes {
    /// The CPUs that the program may run on, where they were set.
    pub fn affinity(&self) -> Option<&Affinity> {
        self.affinity.as_ref()
    }

    /// Has a program begin with these attributes. CPUs are left as they are where the caller has chosen among them.
    pub(crate) fn apply(&self, command: &mut Command) {
        if *self == Self::default() {
            return;
        }
        let Self { limits, affinity, nice, personality } = self.clone();
        let allowed = affinity.as_ref().map(Affinity::cpus);
        let own = Affinity::of(0).map(|own| own.cpus());
        let is_chosen = allowed.zip(own.ok()).is_some_and(|(allowed, own)| own.is_subset(&allowed));
        let affinity = affinity.filter(|_| !is_chosen);
        let begin = move || {
            for (resource, [soft, hard]) in &limits {
                let limit = libc::rlimit { rlim_cur: *soft, rlim_max: *hard };
                // SAFETY: reads the limit only.
                succeeded(unsafe { libc::setrlimit(*resource as _, &raw const limit) })?;
            }
            affinity.iter().try_for_each(|it| it.apply(0))?;
            if let Some(nice) = nice {
                // SAFETY: changes this process only.
                succeeded(unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, nice) })?;
            }
            if let Some(personality) = personality {
                // SAFETY: changes this process only.
                succeeded(unsafe { libc::personality(personality) })?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec the child makes system calls only.
        unsafe { command.pre_exec(begin) };
    }
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn limit(process: Pid, resource: Resource) -> io::Result<[u64; 2]> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the limit only.
    succeeded(unsafe {
        libc::prlimit(process.as_raw(), resource as _, std::ptr::null(), &raw mut limit)
    })?;
    Ok([limit.rlim_cur, limit.rlim_max])
}

fn nice(process: Pid) -> io::Result<i32> {
    let id = process.as_raw().cast_unsigned();
    nix::errno::Errno::clear();
    // SAFETY: reads a number.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS as _, id) };
    match nix::errno::Errno::last_raw() {
        0 => Ok(nice),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_given_to_a_program_is_refused() {
        let own = ProcessAttributes::of(Pid::this()).unwrap();
        assert_eq!(own.since(&own), Ok(InheritedAttributes::default()));
        let other = Some("other".to_owned());
        let with = |change: &dyn Fn(&mut ProcessAttributes)| {
            let mut changed = own.clone();
            change(&mut changed);
            changed.since(&own)
        };
        for found in [
            with(&|it| it.rights.clear()),
            with(&|it| it.namespaces[2] = Some("mnt:[1]".into())),
            with(&|it| it.group = other.clone()),
            with(&|it| it.seccomp = other.clone()),
            with(&|it| it.files.extend([OsString::from("7777")])),
        ] {
            assert!(matches!(found, Err(NotAlone::Attributes(_))), "{found:?}");
        }
        let limited = |at: usize| with(&|it| it.limits[at] = [1 << 30, 1 << 30]);
        assert_eq!(limited(0), Err(NotAlone::Limit("the address space (RLIMIT_AS)")));
        assert_eq!(
            with(&|it| it.limits[7][0] -= 1),
            Err(NotAlone::Limit("open files (RLIMIT_NOFILE)"))
        );
        let stack = limited(4).expect("it can be given");
        assert_eq!(stack.limits, [(libc::RLIMIT_STACK as Resource, [1 << 30, 1 << 30])]);
        let nice = with(&|it| it.nice += 1).expect("it can be given");
        assert_eq!(nice.nice, Some(own.nice + 1));
    }
}
