//! Vectors of numbers as each processor has them, behind one trait, so that a loop is written once.
//!
//! Every method is inlined into a loop that has the instructions; outside of one it must not be called.

/// Some numbers that are worked on at once.
pub(super) trait Vector: Copy {
    /// How many they are.
    const LANES: usize;

    /// The same number in every lane.
    fn splat(number: f64) -> Self;

    /// # Safety
    /// `from` is at a multiple of the vector's size and valid for reading one.
    unsafe fn load(from: *const f64) -> Self;

    /// # Safety
    /// `to` is at a multiple of the vector's size and valid for writing one.
    unsafe fn store(self, to: *mut f64);

    /// Stores past the caches, where the processor can.
    ///
    /// # Safety
    /// As for [`store`](Self::store); what was written is ordered by [`fence`](Self::fence) only.
    unsafe fn stream(self, to: *mut f64);

    /// Ends what was streamed.
    fn fence();

    fn plus(self, other: Self) -> Self;

    fn times(self, other: Self) -> Self;

    /// The sum of its lanes.
    fn sum(self) -> f64;
}

/// A vector that the compiler makes the best of.
#[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "for other processors"))]
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Portable([f64; 8]);

impl Vector for Portable {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(number: f64) -> Self {
        Self([number; 8])
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller says so.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self.0.iter().sum()
    }
}

/// What is left where no whole vector fits.
impl Vector for f64 {
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(number: f64) -> Self {
        number
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller says so.
        unsafe { from.read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.write(self) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        // SAFETY: the caller says so.
        unsafe { to.write(self) }
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx, Avx512, Sse2};

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The vectors of x86-64.

    use std::arch::x86_64::*;

    use super::Vector;

    macro_rules! vector {
        ($name:ident, $vector:ty, $lanes:literal, $documentation:literal, $splat:ident, $load:ident,
         $store:ident, $stream:ident, $plus:ident, $times:ident) => {
            #[doc = $documentation]
            #[derive(Clone, Copy)]
            pub(crate) struct $name($vector);

            // SAFETY of all: a loop is only chosen where the processor has these instructions, and
            // the addresses are as the trait asks.
            #[allow(clippy::undocumented_unsafe_blocks, reason = "one reason, given above")]
            impl Vector for $name {
                const LANES: usize = $lanes;

                #[inline(always)]
                fn splat(number: f64) -> Self {
                    Self(unsafe { $splat(number) })
                }

                #[inline(always)]
                unsafe fn load(from: *const f64) -> Self {
                    Self(unsafe { $load(from) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut f64) {
                    unsafe { $store(to, self.0) }
                }

                #[inline(always)]
                unsafe fn stream(self, to: *mut f64) {
                    unsafe { $stream(to, self.0) }
                }

                #[inline(always)]
                fn fence() {
                    unsafe { _mm_sfence() };
                }

                #[inline(always)]
                fn plus(self, other: Self) -> Self {
                    Self(unsafe { $plus(self.0, other.0) })
                }

                #[inline(always)]
                fn times(self, other: Self) -> Self {
                    Self(unsafe { $times(self.0, other.0) })
                }

                #[inline(always)]
                fn sum(self) -> f64 {
                    let mut lanes = [0.0; $lanes];
                    unsafe { std::ptr::from_mut(&mut lanes).cast::<Self>().write_unaligned(self) };
                    lanes.iter().sum()
                }
            }
        };
    }

    #[rustfmt::skip]
    vector!(
        Avx512, __m512d, 8, "Eight numbers, with AVX-512F.", _mm512_set1_pd, _mm512_load_pd,
        _mm512_store_pd, _mm512_stream_pd, _mm512_add_pd, _mm512_mul_pd
    );
    #[rustfmt::skip]
    vector!(
        Avx, __m256d, 4, "Four numbers, with AVX.", _mm256_set1_pd, _mm256_load_pd,
        _mm256_store_pd, _mm256_stream_pd, _mm256_add_pd, _mm256_mul_pd
    );
    #[rustfmt::skip]
    vector!(
        Sse2, __m128d, 2, "Two numbers, with SSE2, which every x86-64 has.", _mm_set1_pd,
        _mm_load_pd, _mm_store_pd, _mm_stream_pd, _mm_add_pd, _mm_mul_pd
    );
}
