//! Jumps out of a function that others have called: the C library's `setjmp` and `longjmp`.
//!
//! A function that returns twice must not be called from Rust, and a jump must not leave frames of
//! Rust behind. Here both ends of the jump, and all frames between them, are functions in assembly.

use super::descriptor;
use crate::workload::{Workload, default_kernels};
use crate::{Kernel, Tag};

pub(super) static JMP_TEST: Workload = Workload {
    descriptor: &descriptor(
        "aim9/jmp_test",
        "setjmp, ten calls deeper, and longjmp back",
        &[Tag::StoreForwarding],
        ["a jump", "jumps"],
        1.0,
        "jumps/s",
    ),
    unavailable,
    prepare: default_kernels::<Jump>,
};

/// Number of calls between the place that jumps and the one that is jumped to, beyond the first.
const DEPTH: u32 = 10;

fn unavailable() -> Option<String> {
    let written = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    (!written).then(|| "it is written for x86-64 and aarch64 only".into())
}

/// Room for a `jmp_buf` of any C library, as aligned as any of them.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Context([u64; 64]);

struct Jump {
    context: Context,
    returned: u64,
}

impl Default for Jump {
    fn default() -> Self {
        Self { context: Context([0; 64]), returned: 0 }
    }
}

impl Kernel for Jump {
    fn reset(&mut self) {
        self.returned = 0;
    }

    fn run(&mut self, operations: u64) {
        // SAFETY: the context has room, and is used until the call returns only.
        self.returned = unsafe { there_and_back(&mut self.context.0, DEPTH, operations) };
    }

    /// The sum of what the jumps brought along, 1 each.
    fn check(&self) -> u64 {
        self.returned
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    /// Saves the context and returns 0; returns again, with its value, at every [`longjmp`].
    fn _setjmp(context: *mut [u64; 64]) -> i32;
    /// Goes back to where the context was saved.
    fn longjmp(context: *mut [u64; 64], value: i32) -> !;
}

/// Saves the context, goes `depth` + 1 calls down and jumps back, so many times; returns the sum of
/// what the jumps brought along.
///
/// The loop is part of it: a return after a jump would be predicted wrongly, since calls were left
/// without one.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn there_and_back(context: &mut [u64; 64], depth: u32, jumps: u64) -> u64 {
    std::arch::naked_asm!(
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "sub rsp, 8",
        "mov rbx, rdi",
        "mov r12, rsi",
        "mov r13, rdx",
        "xor r14d, r14d",
        "test r13, r13",
        "jz 4f",
        "2:",
        "mov rdi, rbx",
        "call {setjmp}",
        "test eax, eax",
        "jnz 3f",
        "mov rdi, rbx",
        "mov rsi, r12",
        "call {down}",
        "3:",
        "mov eax, eax",
        "add r14, rax",
        "dec r13",
        "jnz 2b",
        "4:",
        "mov rax, r14",
        "add rsp, 8",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "ret",
        setjmp = sym _setjmp,
        down = sym down,
    )
}

/// Calls itself `depth` times and jumps.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn down(context: &mut [u64; 64], depth: u32) {
    std::arch::naked_asm!(
        "sub rsp, 8",
        "test esi, esi",
        "jz 2f",
        "dec esi",
        "call {down}",
        "add rsp, 8",
        "ret",
        "2:",
        "mov esi, 1",
        "call {longjmp}",
        "ud2",
        down = sym down,
        longjmp = sym longjmp,
    )
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn there_and_back(context: &mut [u64; 64], depth: u32, jumps: u64) -> u64 {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, -48]!",
        "mov x29, sp",
        "stp x19, x20, [sp, 16]",
        "stp x21, x22, [sp, 32]",
        "mov x19, x0",
        "mov x20, x1",
        "mov x21, x2",
        "mov x22, xzr",
        "cbz x21, 4f",
        "2:",
        "mov x0, x19",
        "bl {setjmp}",
        "cbnz w0, 3f",
        "mov x0, x19",
        "mov x1, x20",
        "bl {down}",
        "3:",
        "add x22, x22, w0, uxtw",
        "sub x21, x21, 1",
        "cbnz x21, 2b",
        "4:",
        "mov x0, x22",
        "ldp x21, x22, [sp, 32]",
        "ldp x19, x20, [sp, 16]",
        "ldp x29, x30, [sp], 48",
        "ret",
        setjmp = sym _setjmp,
        down = sym down,
    )
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn down(context: &mut [u64; 64], depth: u32) {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, -16]!",
        "mov x29, sp",
        "cbz w1, 2f",
        "sub w1, w1, 1",
        "bl {down}",
        "ldp x29, x30, [sp], 16",
        "ret",
        "2:",
        "mov w1, 1",
        "bl {longjmp}",
        "brk 1",
        down = sym down,
        longjmp = sym longjmp,
    )
}

/// Not reached: the row is unavailable there.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn there_and_back(_: &mut [u64; 64], _: u32, jumps: u64) -> u64 {
    jumps
}
