//! The machine code around a block: it sets what a block finds, and takes the time of its copies.
//!
//! It is copied into the child's page for it, with its data in the page after it, and refers to both
//! relative to itself. A block that spoils the data spoils its own figures and nothing else.

use std::arch::global_asm;

use crate::inspection::Uses;
use crate::layout::{CODE, DATA, HARNESS, LINE, LINES, PAGE, PATTERN, STACK_POINTER};

global_asm!(
    ".pushsection .text.corun_blocks_harness, \"ax\", @progbits",
    ".balign 64",
    // The code that takes an address may be compiled apart from this.
    ".irp place, begin, prepare, take, taken, end",
    ".globl corun_blocks_harness_\\place",
    ".hidden corun_blocks_harness_\\place",
    ".endr",
    "corun_blocks_harness_begin:",
    ".set corun_blocks_harness_data, corun_blocks_harness_begin + {page}",
    // A system call of the parent's, with the registers that the parent sets.
    "corun_blocks_harness_call:",
    "syscall",
    "int3",
    // Sets what a block finds but for the general-purpose registers.
    "corun_blocks_harness_prepare:",
    "call 20f",
    "int3",
    // Takes the time of code that ends with a jump to `taken`, until `left` is 0.
    "corun_blocks_harness_take:",
    "call 20f",
    "push 2",
    "popfq",
    // A counter that goes up in leaps is met at another moment each time.
    "mov rcx, [rip + corun_blocks_harness_data + {left}]",
    "2:",
    "dec rcx",
    "jnz 2b",
    "mfence",
    "lfence",
    "rdtsc",
    "lfence",
    "shl rdx, 32",
    "or rax, rdx",
    "mov [rip + corun_blocks_harness_data + {begin}], rax",
    "push 2",
    "popfq",
    ".irp register, eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d",
    "mov \\register, {pattern}",
    ".endr",
    "mov esp, {stack_pointer}",
    "lfence",
    "jmp qword ptr [rip + corun_blocks_harness_data + {target}]",
    "corun_blocks_harness_taken:",
    "rdtsc",
    "lfence",
    "shl rdx, 32",
    "or rax, rdx",
    "sub rax, [rip + corun_blocks_harness_data + {begin}]",
    "mov rcx, [rip + corun_blocks_harness_data + {left}]",
    "lea rdx, [rip + corun_blocks_harness_data + {samples} - 8]",
    "mov [rdx + 8 * rcx], rax",
    "movabs rsp, {stack}",
    "dec qword ptr [rip + corun_blocks_harness_data + {left}]",
    "jnz corun_blocks_harness_take",
    "int3",
    // Memory, then control and vector registers.
    "20:",
    "cld",
    "mov eax, {pattern}",
    "mov edi, eax",
    "mov ecx, 512",
    "rep stosq",
    // Cores of AMD find a line by the address that reached it last.
    "lea rsi, [rip + corun_blocks_harness_data + {lines_at}]",
    "mov ecx, {lines}",
    "21:",
    "mov rdi, [rsi]",
    "mov rdi, [rdi]",
    "add rsi, 8",
    "dec ecx",
    "jnz 21b",
    "fninit",
    "ldmxcsr [rip + corun_blocks_harness_data + {mxcsr}]",
    "mov eax, [rip + corun_blocks_harness_data + {widths}]",
    "test eax, {mmx}",
    "jz 3f",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7",
    "movq mm\\number, [rip + corun_blocks_harness_data + {vector}]",
    ".endr",
    "3:",
    "test eax, {avx}",
    "jz 4f",
    "vzeroupper",
    "4:",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movdqu xmm\\number, [rip + corun_blocks_harness_data + {vector}]",
    ".endr",
    "test eax, {ymm}",
    "jz 5f",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu ymm\\number, [rip + corun_blocks_harness_data + {vector}]",
    ".endr",
    "5:",
    "test eax, {zmm}",
    "jz 6f",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
    "vmovdqu64 zmm\\number, [rip + corun_blocks_harness_data + {vector}]",
    ".endr",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7",
    "kmovq k\\number, [rip + corun_blocks_harness_data + {vector}]",
    ".endr",
    "6:",
    "ret",
    "corun_blocks_harness_end:",
    ".popsection",
    page = const PAGE,
    pattern = const PATTERN,
    stack_pointer = const STACK_POINTER,
    stack = const STACK,
    begin = const BEGIN,
    target = const TARGET,
    left = const LEFT,
    samples = const SAMPLES_AT,
    lines_at = const LINES_AT,
    lines = const LINES,
    mxcsr = const MXCSR,
    widths = const WIDTHS,
    vector = const VECTOR,
    mmx = const MMX,
    avx = const AVX,
    ymm = const YMM,
    zmm = const ZMM,
);

unsafe extern "C" {
    safe static corun_blocks_harness_begin: u8;
    safe static corun_blocks_harness_prepare: u8;
    safe static corun_blocks_harness_take: u8;
    safe static corun_blocks_harness_taken: u8;
    safe static corun_blocks_harness_end: u8;
}

// Places in the page of data.
const BEGIN: usize = 0;
const TARGET: usize = 8;
const LEFT: usize = 16;
const MXCSR: usize = 32;
const WIDTHS: usize = 36;
const VECTOR: usize = 64;
/// Offset of the filter of system calls.
pub(crate) const FILTER: usize = 0x200;
const SAMPLES_AT: usize = 0x400;
const LINES_AT: usize = 0xc00;
const _: () = assert!(SAMPLES_AT + 8 * MAX_SAMPLES <= LINES_AT);
/// The stack of the harness, which grows down from here.
pub(crate) const STACK: u64 = DATA + PAGE;

// Bits of `WIDTHS`.
const MMX: u32 = 1;
const AVX: u32 = 2;
const YMM: u32 = 4;
const ZMM: u32 = 8;

/// All exceptions masked, denormal operands and results taken as zero.
const MXCSR_VALUE: u32 = 0x1f80 | 1 << 6 | 1 << 15;

/// A system call, and the breakpoint after it.
pub(crate) const CALL: u64 = HARNESS;
/// The address after the system call, which the filter lets pass.
pub(crate) const CALLED: u64 = HARNESS + 2;

/// Sets what a block finds, then stops.
pub(crate) fn prepare() -> u64 {
    address(&raw const corun_blocks_harness_prepare)
}

/// Takes the time of what the [`order`] says, then stops.
pub(crate) fn take() -> u64 {
    address(&raw const corun_blocks_harness_take)
}

fn address(label: *const u8) -> u64 {
    HARNESS + (label as u64 - &raw const corun_blocks_harness_begin as u64)
}

/// The code, for the page at [`HARNESS`].
pub(crate) fn code() -> &'static [u8] {
    let begin = &raw const corun_blocks_harness_begin;
    let length = &raw const corun_blocks_harness_end as usize - begin as usize;
    // SAFETY: these are the bytes between two labels of one section.
    unsafe { std::slice::from_raw_parts(begin, length) }
}

/// The code after the copies of a block: waits for them, then has the time taken.
pub(crate) fn end() -> Vec<u8> {
    // lfence; mov rcx, taken; jmp rcx
    let taken = address(&raw const corun_blocks_harness_taken).to_le_bytes();
    [&[0x0f, 0xae, 0xe8, 0x48, 0xb9], &taken[..], &[0xff, 0xe1]].concat()
}

/// The page of data at the start, for a block that uses these registers.
pub(crate) fn data(uses: Uses, filter: &[u8]) -> Vec<u8> {
    let mut data = vec![0; PAGE as usize];
    let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
    put(TARGET, &CODE.to_le_bytes());
    put(MXCSR, &MXCSR_VALUE.to_le_bytes());
    put(WIDTHS, &widths(uses).to_le_bytes());
    for word in 0..8 {
        put(VECTOR + 8 * word, &PATTERN.to_le_bytes());
    }
    put(FILTER, filter);
    for line in 0..LINES {
        put(LINES_AT + 8 * line, &(PATTERN + line as u64 * LINE).to_le_bytes());
    }
    data
}

/// Bytes to write at [`DATA`] so that `take` begins with code at this address, so many times.
pub(crate) fn order(target: u64, times: u64) -> [u8; 16] {
    let mut order = [0; 16];
    order[..8].copy_from_slice(&target.to_le_bytes());
    order[8..].copy_from_slice(&times.to_le_bytes());
    order
}

/// Address to write them to.
pub(crate) const ORDER: u64 = DATA + TARGET as u64;
/// Address of the ticks of the samples, 8 bytes each.
pub(crate) const SAMPLES: u64 = DATA + SAMPLES_AT as u64;
/// Location of the address by which each line of memory was reached last before a run.
pub(crate) const LAST_ADDRESSES: u64 = DATA + LINES_AT as u64;
/// The most that there is room for, with some for the stack.
pub(crate) const MAX_SAMPLES: usize = 256;

fn widths(uses: Uses) -> u32 {
    let has_avx = std::is_x86_feature_detected!("avx");
    let has_masks = std::is_x86_feature_detected!("avx512bw");
    [(uses.mmx, MMX), (has_avx, AVX), (has_avx && uses.ymm, YMM), (has_masks && uses.zmm, ZMM)]
        .into_iter()
        .filter_map(|(is_set, bit)| is_set.then_some(bit))
        .sum()
}
