//! The CPUs that a thread may run on.
//!
//! The kernel's masks may be longer than the C library's fixed `cpu_set_t`, so the system calls are
//! made with masks of the length that is needed; see `sched_setaffinity(2)`.

use std::io;

use crate::{CpuSet, HIGHEST_CPU};

/// A mask ready for the kernel. Making one allocates; using it does not, so that it can be used
/// between fork and exec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    words: Vec<libc::c_ulong>,
}

const WORD_BITS: u32 = libc::c_ulong::BITS;

impl Affinity {
    /// The mask of these CPUs.
    pub fn new(cpus: &CpuSet) -> Self {
        let highest = cpus.iter().next_back().unwrap_or(0);
        let mut words = vec![0; (highest / WORD_BITS) as usize + 1];
        for cpu in cpus.iter() {
            words[(cpu / WORD_BITS) as usize] |= 1 << (cpu % WORD_BITS);
        }
        Self { words }
    }

    /// The mask of a thread; 0 is the calling one.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn of(thread: libc::pid_t) -> io::Result<Self> {
        // The kernel refuses a mask shorter than its own, of which it does not report the length.
        let mut words: Vec<libc::c_ulong> = vec![0; 16];
        loop {
            // SAFETY: the pointer and the length in bytes are those of a live, writable buffer.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_sched_getaffinity,
                    thread,
                    words.len() * size_of::<libc::c_ulong>(),
                    words.as_mut_ptr(),
                )
            };
            if let Ok(bytes) = usize::try_from(got) {
                words.truncate(bytes / size_of::<libc::c_ulong>());
                return Ok(Self { words });
            }
            let error = io::Error::last_os_error();
            let enough = words.len() as u64 * u64::from(WORD_BITS) > u64::from(HIGHEST_CPU);
            if error.raw_os_error() != Some(libc::EINVAL) || enough {
                return Err(error);
            }
            words.resize(words.len() * 2, 0);
        }
    }

    /// Lets a thread run on these CPUs only; 0 is the calling one. Safe between fork and exec.
    ///
    /// # Errors
    /// If none of the CPUs is online and in the cpuset, there is no such thread, or it is another
    /// user's.
    pub fn apply(&self, thread: libc::pid_t) -> io::Result<()> {
        // SAFETY: the pointer and the length in bytes are those of a live buffer.
        let result = unsafe {
            libc::syscall(
                libc::SYS_sched_setaffinity,
                thread,
                self.words.len() * size_of::<libc::c_ulong>(),
                self.words.as_ptr(),
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// As [`Self::apply`], and reads the mask back: the kernel silently leaves out CPUs that are
    /// offline or outside the cpuset. Returns the CPUs that the thread may run on now.
    ///
    /// # Errors
    /// As for [`Self::apply`].
    pub fn apply_and_verify(&self, thread: libc::pid_t) -> io::Result<CpuSet> {
        self.apply(thread)?;
        Ok(Self::of(thread)?.cpus())
    }

    /// Pins a thread to one CPU, 0 being the calling one; false if the kernel did not do it.
    pub fn pin(thread: libc::pid_t, cpu: u32) -> bool {
        let only = [cpu].into();
        Self::new(&only).apply_and_verify(thread).is_ok_and(|cpus| cpus == only)
    }

    /// The CPUs of the mask.
    pub fn cpus(&self) -> CpuSet {
        let bits = |(index, &word): (usize, &libc::c_ulong)| {
            (0..WORD_BITS)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| index as u32 * WORD_BITS + bit)
        };
        self.words.iter().enumerate().flat_map(bits).collect()
    }
}
