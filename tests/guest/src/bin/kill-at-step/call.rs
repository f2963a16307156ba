//! The system calls that change something others can see, whatever their variant.

/// Such a call, with the arguments that matter: numbers as they are, texts as addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// With the flags, or the address of a `struct open_how` that begins with them.
    Open(Flags),
    Write {
        descriptor: i64,
        text: u64,
        length: usize,
    },
    Truncate {
        descriptor: i64,
    },
    Flush {
        descriptor: i64,
    },
    Lock {
        descriptor: i64,
    },
    Rename {
        to: u64,
    },
    Remove {
        path: u64,
    },
    MakeFolder {
        path: u64,
    },
    /// A new process or thread.
    Clone,
    SetAffinity {
        task: i64,
    },
    Kill {
        process: i64,
        signal: u64,
    },
}

/// Flags of open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    Given(u64),
    At(u64),
}

impl Call {
    /// The call with this number; `None` if it changes nothing of interest.
    pub(crate) fn of(number: u64, [a, b, c, d, ..]: [u64; 6]) -> Option<Self> {
        let number = libc::c_long::try_from(number).ok()?;
        let descriptor = a.cast_signed();
        #[cfg(target_arch = "x86_64")]
        match number {
            libc::SYS_open => return Some(Self::Open(Flags::Given(b))),
            libc::SYS_creat => return Some(Self::Open(Flags::Given(libc::O_CREAT as u64))),
            libc::SYS_rename => return Some(Self::Rename { to: b }),
            libc::SYS_unlink => return Some(Self::Remove { path: a }),
            libc::SYS_mkdir => return Some(Self::MakeFolder { path: a }),
            libc::SYS_fork | libc::SYS_vfork => return Some(Self::Clone),
            _ => {}
        }
        Some(match number {
            libc::SYS_openat => Self::Open(Flags::Given(c)),
            libc::SYS_openat2 => Self::Open(Flags::At(c)),
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => {
                Self::Write { descriptor, text: b, length: usize::try_from(c).ok()? }
            }
            libc::SYS_ftruncate => Self::Truncate { descriptor },
            libc::SYS_fsync | libc::SYS_fdatasync => Self::Flush { descriptor },
            libc::SYS_flock => Self::Lock { descriptor },
            libc::SYS_renameat | libc::SYS_renameat2 => Self::Rename { to: d },
            libc::SYS_unlinkat => Self::Remove { path: b },
            libc::SYS_mkdirat => Self::MakeFolder { path: b },
            libc::SYS_clone | libc::SYS_clone3 => Self::Clone,
            libc::SYS_sched_setaffinity => Self::SetAffinity { task: a.cast_signed() },
            libc::SYS_kill => Self::Kill { process: a.cast_signed(), signal: b },
            _ => return None,
        })
    }
}
