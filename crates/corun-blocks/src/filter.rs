//! The only system call that the child may make: more memory, and that only from the harness.
//!
//! A filter in classic BPF (seccomp(2)); `seccompiler` cannot ask for the address of the call.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_KILL_PROCESS, SYS_mmap, sock_filter,
};

use crate::harness::{CALLED, FILTER};
use crate::layout::DATA;

/// AUDIT_ARCH_X86_64 (include/uapi/linux/audit.h of Linux).
const X86_64: u32 = 0xc000_003e;

// Places in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const INSTRUCTION_LOW: u32 = 8;
const INSTRUCTION_HIGH: u32 = 12;
/// The low half of the third argument; the halves of one are 4 bytes apart.
const PROTECTION_LOW: u32 = 32;

/// Address of `struct sock_fprog`, which names the filter.
pub(crate) const PROGRAM: u64 = DATA + FILTER as u64;

/// The program and, after it, the filter, to lie at [`FILTER`] of the data.
pub(crate) fn filter() -> Vec<u8> {
    let required = [
        (ARCHITECTURE, X86_64),
        (INSTRUCTION_LOW, CALLED as u32),
        (INSTRUCTION_HIGH, (CALLED >> 32) as u32),
        (NUMBER, SYS_mmap as u32),
        (PROTECTION_LOW, (libc::PROT_READ | libc::PROT_WRITE) as u32),
    ];
    let last = 2 * required.len() as u8;
    let mut filter = Vec::new();
    for (place, value) in required {
        filter.push(instruction(BPF_LD | BPF_W | BPF_ABS, 0, place));
        // To the instruction after the one that lets it pass.
        let to_end = last - filter.len() as u8;
        filter.push(instruction(BPF_JMP | BPF_JEQ | BPF_K, to_end, value));
    }
    filter.push(instruction(BPF_RET | BPF_K, 0, SECCOMP_RET_ALLOW));
    filter.push(instruction(BPF_RET | BPF_K, 0, SECCOMP_RET_KILL_PROCESS));

    let mut bytes = (filter.len() as u64).to_le_bytes().to_vec();
    bytes.extend((PROGRAM + 16).to_le_bytes());
    for one in filter {
        bytes.extend(one.code.to_le_bytes());
        bytes.extend([one.jt, one.jf]);
        bytes.extend(one.k.to_le_bytes());
    }
    bytes
}

fn instruction(code: u32, otherwise: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: otherwise, k }
}
