//! From which NUMA nodes a thread takes its memory.
//!
//! The system call is `set_mempolicy(2)`; no C library has it, so it is made directly.

use std::io;

use crate::CpuSet;

/// Binds memory to NUMA nodes. Making one allocates; using it does not, so that it can be used
/// between fork and exec. It is inherited over both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPolicy {
    words: Vec<libc::c_ulong>,
}

const WORD_BITS: u32 = libc::c_ulong::BITS;

impl MemoryPolicy {
    /// Memory comes from these nodes, or not at all (`MPOL_BIND`).
    pub fn bind(nodes: &CpuSet) -> Self {
        let highest = nodes.iter().next_back().unwrap_or(0);
        let mut words = vec![0; (highest / WORD_BITS) as usize + 1];
        for node in nodes.iter() {
            words[(node / WORD_BITS) as usize] |= 1 << (node % WORD_BITS);
        }
        Self { words }
    }

    /// Makes it the policy of the calling thread. Safe between fork and exec.
    ///
    /// # Errors
    /// If no node has memory that the cpuset allows, or the kernel has no such call.
    pub fn apply_to_self(&self) -> io::Result<()> {
        // The kernel takes the number of bits, and one off (set_mempolicy(2), "BUGS").
        let bits = self.words.len() * WORD_BITS as usize + 1;
        // SAFETY: the kernel reads no more than the words that hold `bits - 1` bits.
        let result = unsafe {
            libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, self.words.as_ptr(), bits)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
