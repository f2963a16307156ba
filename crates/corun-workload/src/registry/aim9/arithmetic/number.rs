//! The five types of number, and how to keep the optimiser from knowing a value or from making
//! something else of an instruction.

use std::num::Wrapping;

/// A type that a row computes with.
pub(in super::super) trait Number: Copy + Send + 'static {
    /// Returns `self`, which the optimiser from here on knows nothing about; costs no instruction.
    fn opaque(self) -> Self;

    /// The sum, modulo the type's range where that is finite.
    fn plus(self, other: Self) -> Self;

    /// The product, modulo the type's range where that is finite.
    fn times(self, other: Self) -> Self;

    /// The quotient; integers are rounded towards zero and `other` is neither 0 nor -1.
    fn over(self, other: Self) -> Self;

    /// A number that differs wherever two values do.
    fn bits(self) -> u64;
}

macro_rules! opaque {
    ($class:ident, $template:literal) => {
        #[inline(always)]
        fn opaque(self) -> Self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            {
                let mut value = self;
                // SAFETY: there is no instruction; the value stays in its register.
                unsafe {
                    std::arch::asm!(
                        $template,
                        value = inout($class) value,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                value
            }
            // Elsewhere the value may go through memory: `black_box` promises no more.
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            std::hint::black_box(self)
        }
    };
}

macro_rules! float {
    ($type:ty) => {
        impl Number for $type {
            #[cfg(target_arch = "x86_64")]
            opaque!(xmm_reg, "/* {value} */");
            #[cfg(not(target_arch = "x86_64"))]
            opaque!(vreg, "/* {value:v} */");

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    };
}

float!(f64);
float!(f32);

macro_rules! integer {
    ($type:ty, $bits:ty, $template:literal, divide in $wide:ty: $divide:literal) => {
        impl Number for $type {
            opaque!(reg, $template);

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                (Wrapping(self) + Wrapping(other)).0
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                (Wrapping(self) * Wrapping(other)).0
            }

            /// Given the choice, the optimiser tests for small numbers and divides these by another
            /// instruction.
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                #[cfg(target_arch = "x86_64")]
                {
                    let quotient: $wide;
                    // SAFETY: by the trait's contract the quotient fits and the divisor is not 0.
                    unsafe {
                        std::arch::asm!(
                            $divide,
                            divisor = in(reg) <$wide>::from(other),
                            inout("rax") <$wide>::from(self) => quotient,
                            out("rdx") _,
                            options(pure, nomem, nostack)
                        );
                    }
                    quotient as Self
                }
                #[cfg(not(target_arch = "x86_64"))]
                self.wrapping_div(other)
            }

            fn bits(self) -> u64 {
                (self as $bits).into()
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod integers {
    use super::{Number, Wrapping};

    integer!(i64, u64, "/* {value} */", divide in i64: "cqo\nidiv {divisor}");
    integer!(i32, u32, "/* {value:e} */", divide in i32: "cdq\nidiv {divisor:e}");
    // As compilers do it: a quotient of 16 bits is one of 32.
    integer!(i16, u16, "/* {value:x} */", divide in i32: "cdq\nidiv {divisor:e}");
}

#[cfg(not(target_arch = "x86_64"))]
mod integers {
    use super::{Number, Wrapping};

    integer!(i64, u64, "/* {value:x} */", divide in i64: "");
    integer!(i32, u32, "/* {value:w} */", divide in i32: "");
    integer!(i16, u16, "/* {value:w} */", divide in i32: "");
}
