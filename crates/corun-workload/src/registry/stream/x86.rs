//! The vectors of x86-64, and the loops with the instructions of newer processors.

use std::arch::x86_64::*;

use super::loops::{Arrays, Formula, read, write};
use super::vector::Vector;

pub(super) enum Widest {
    Avx512,
    Avx,
    Sse2,
}

/// The widest vectors of this processor.
pub(super) fn widest() -> Widest {
    if is_x86_feature_detected!("avx512f") {
        Widest::Avx512
    } else if is_x86_feature_detected!("avx") {
        Widest::Avx
    } else {
        Widest::Sse2
    }
}

/// # Safety
/// As for [`Loop`](super::loops::Loop).
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512<F: Formula, const STREAMING: bool>(
    arrays: &Arrays,
    elements: u64,
) -> f64 {
    // SAFETY: the caller says so.
    unsafe { write::<Avx512, F, STREAMING>(arrays, elements) }
}

/// # Safety
/// As for [`Loop`](super::loops::Loop).
#[target_feature(enable = "avx")]
pub(super) unsafe fn avx<F: Formula, const STREAMING: bool>(arrays: &Arrays, elements: u64) -> f64 {
    // SAFETY: the caller says so.
    unsafe { write::<Avx, F, STREAMING>(arrays, elements) }
}

/// # Safety
/// As for [`Loop`](super::loops::Loop).
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn avx512_read(arrays: &Arrays, elements: u64) -> f64 {
    // SAFETY: the caller says so.
    unsafe { read::<Avx512>(arrays, elements) }
}

/// # Safety
/// As for [`Loop`](super::loops::Loop).
#[target_feature(enable = "avx")]
pub(super) unsafe fn avx_read(arrays: &Arrays, elements: u64) -> f64 {
    // SAFETY: the caller says so.
    unsafe { read::<Avx>(arrays, elements) }
}

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
