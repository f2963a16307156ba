//! The two loops: one wants all ports that multiply, the other one result at a time.
//!
//! Multiplications that wait for nothing fill every port that can multiply, so that two such loops
//! on one core halve each other. A chain of them leaves those ports idle two cycles of three, so
//! that siblings do not notice each other's; they are the control that distinguishes siblings from time slices.

/// A loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loop {
    /// Independent multiplications.
    Ports,
    /// Dependent multiplications.
    Chain,
}

/// Multiplications in one step of a loop.
pub(crate) const STEP: u32 = 16;
/// Loops begin at a multiple of 2 to the power of this, so that none lies on two pages: an emulator that
/// translates page by page (QEMU without KVM) leaves its translation at each step of one that does.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const ALIGN: u32 = 7;
/// Instructions have four bytes at most, and what counts steps is no longer than two of them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const _: () = assert!(4 * (STEP + 2) <= 1 << ALIGN);

impl Loop {
    pub(super) const ALL: [Self; 2] = [Self::Ports, Self::Chain];

    /// Multiplies `STEP * steps` times; `steps` is at least 1.
    ///
    /// There is one copy of each loop, so that how long it takes does not depend on who calls it.
    #[inline(never)]
    pub(crate) fn run(self, steps: u32) {
        match self {
            Self::Ports => independent(steps),
            Self::Chain => dependent(steps),
        }
    }
}

/// Copies of an instruction, so many at a step, then what counts steps down and goes back: on registers only, at least one step.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! repeated {
    ($copies:ident, $steps:expr, [$($line:literal),*], $($operands:tt)*) => {
        // SAFETY: registers only.
        unsafe {
            std::arch::asm!(
                ".p2align {align}",
                "2:",
                ".rept {step}",
                $($line,)*
                align = const $crate::probe::loops::ALIGN,
                step = const $copies,
                left = inout(reg) $steps => _,
                $($operands)*,
                options(nomem, nostack)
            )
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use repeated;

/// Each product is of the same unchanging factors, so that none waits for another.
#[cfg(target_arch = "x86_64")]
fn independent(steps: u32) {
    repeated!(STEP, steps, ["imul {product}, {factor}, 3", ".endr", "dec {left:e}", "jnz 2b"], product = out(reg) _, factor = in(reg) 3_u64);
}

/// Each product is a factor of the next.
#[cfg(target_arch = "x86_64")]
fn dependent(steps: u32) {
    repeated!(STEP, steps, ["imul {value}, {value}", ".endr", "dec {left:e}", "jnz 2b"], value = inout(reg) 3_u64 => _);
}

/// Each product is of the same unchanging factors, so that none waits for another.
#[cfg(target_arch = "aarch64")]
fn independent(steps: u32) {
    repeated!(STEP, steps, ["mul {product}, {factor}, {factor}", ".endr", "subs {left:w}, {left:w}, #1", "b.ne 2b"], product = out(reg) _, factor = in(reg) 3_u64);
}

/// Each product is a factor of the next.
#[cfg(target_arch = "aarch64")]
fn dependent(steps: u32) {
    repeated!(STEP, steps, ["mul {value}, {value}, {value}", ".endr", "subs {left:w}, {left:w}, #1", "b.ne 2b"], value = inout(reg) 3_u64 => _);
}

/// As many chains as a core can keep going at once.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn independent(steps: u32) {
    let mut values = std::hint::black_box([3_u64; STEP as usize]);
    for _ in 0..steps {
        for value in &mut values {
            *value = value.wrapping_mul(5);
        }
    }
    std::hint::black_box(values);
}

/// Each product is a factor of the next.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn dependent(steps: u32) {
    let mut value = std::hint::black_box(3_u64);
    for _ in 0..steps * STEP {
        value = std::hint::black_box(value.wrapping_mul(value));
    }
}
