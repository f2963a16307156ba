//! Variables that stay in memory, as in a build without optimisation, and values that stay in
//! registers without the optimiser knowing them: the two values of the parameter `variant`.

use crate::{Choice, Domain, Parameter};

/// The choice between the two, for workloads that have it.
pub(crate) const VARIANT: Parameter = Parameter {
    name: "variant",
    summary: "where loop counters and results are kept",
    default: "memory",
    domain: Domain::Choice(&[
        Choice {
            value: "memory",
            summary: "loaded and stored at every step, as in a build without optimisation",
        },
        Choice { value: "register", summary: "kept in registers, as in an optimised build" },
    ]),
};

/// A variable that is loaded at every [`get`](Self::get) and stored at every [`set`](Self::set).
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct InMemory<T: Copy>(T);

impl<T: Copy> InMemory<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(value)
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> T {
        // SAFETY: a reference is valid and aligned for reads, and `T` is `Copy`.
        unsafe { std::ptr::from_ref(&self.0).read_volatile() }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, value: T) {
        // SAFETY: an exclusive reference is valid and aligned for writes, and `T` has no drop.
        unsafe { std::ptr::from_mut(&mut self.0).write_volatile(value) }
    }
}

/// Returns `value`, which the optimiser from here on knows nothing about; costs no instruction.
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = value;
        // SAFETY: there is no instruction; the value stays in its register.
        unsafe {
            std::arch::asm!(
                "/* {value} */",
                value = inout(reg) value,
                options(nomem, nostack, preserves_flags)
            );
        }
        value
    }
    // Elsewhere the value may go through memory: `black_box` promises no more.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(value)
}
