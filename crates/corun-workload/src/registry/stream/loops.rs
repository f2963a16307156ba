//! The loops of the kernels, written once for every kind of vector; what the processor has decides
//! which of them runs. Passes are inside, so that an array of a few lines costs no call a pass.

#[cfg(not(target_arch = "x86_64"))]
use super::vector::Portable;
use super::vector::Vector;
use crate::in_memory::opaque;

/// STREAM's factor.
pub(super) const SCALAR: f64 = 3.0;

/// The arrays of one worker, at multiples of 64 bytes; those that a loop does not use may be anywhere.
pub(super) struct Arrays {
    pub(super) target: *mut f64,
    pub(super) first: *const f64,
    pub(super) second: *const f64,
    /// Numbers of each.
    pub(super) length: usize,
}

/// Does a number of elements, starting again with the first one after the last; returns the sum of
/// what was read, or 0 if something was written.
///
/// # Safety
/// The arrays that the loop uses are valid and hold numbers, nobody else uses them meanwhile, and the
/// processor has the instructions that the loop is made of.
pub(super) type Loop = unsafe fn(&Arrays, u64) -> f64;

/// What an element of the target becomes.
pub(super) trait Formula {
    /// How many arrays it reads.
    const READS: usize;

    /// The element from those of the arrays read and from a factor: [`SCALAR`], or the number of the
    /// pass, from 1 on, where nothing is read.
    fn element<V: Vector>(first: V, second: V, factor: V) -> V;
}

pub(super) struct Copy;
pub(super) struct Scale;
pub(super) struct Add;
pub(super) struct Triad;
pub(super) struct Write;

impl Formula for Copy {
    const READS: usize = 1;

    #[inline(always)]
    fn element<V: Vector>(first: V, _: V, _: V) -> V {
        first
    }
}

impl Formula for Scale {
    const READS: usize = 1;

    #[inline(always)]
    fn element<V: Vector>(first: V, _: V, factor: V) -> V {
        factor.times(first)
    }
}

impl Formula for Add {
    const READS: usize = 2;

    #[inline(always)]
    fn element<V: Vector>(first: V, second: V, _: V) -> V {
        first.plus(second)
    }
}

impl Formula for Triad {
    const READS: usize = 2;

    #[inline(always)]
    fn element<V: Vector>(first: V, second: V, factor: V) -> V {
        first.plus(factor.times(second))
    }
}

impl Formula for Write {
    const READS: usize = 0;

    #[inline(always)]
    fn element<V: Vector>(_: V, _: V, factor: V) -> V {
        factor
    }
}

/// The best loop here that writes.
pub(super) fn writing<F: Formula>(streaming: bool) -> Loop {
    #[cfg(target_arch = "x86_64")]
    match (x86::widest(), streaming) {
        (x86::Widest::Avx512, false) => x86::avx512::<F, false>,
        (x86::Widest::Avx512, true) => x86::avx512::<F, true>,
        (x86::Widest::Avx, false) => x86::avx::<F, false>,
        (x86::Widest::Avx, true) => x86::avx::<F, true>,
        (x86::Widest::Sse2, false) => write::<super::vector::Sse2, F, false>,
        (x86::Widest::Sse2, true) => write::<super::vector::Sse2, F, true>,
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // Stable Rust has no streaming stores elsewhere.
        let _ = streaming;
        write::<Portable, F, false>
    }
}

/// The best loop here that only reads.
pub(super) fn reading() -> Loop {
    #[cfg(target_arch = "x86_64")]
    match x86::widest() {
        x86::Widest::Avx512 => x86::avx512_read,
        x86::Widest::Avx => x86::avx_read,
        x86::Widest::Sse2 => read::<super::vector::Sse2>,
    }
    #[cfg(not(target_arch = "x86_64"))]
    read::<Portable>
}

/// Vectors of one round of a loop: enough to hide the loop's own instructions.
const UNROLLED: usize = 4;

/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn write<V: Vector, F: Formula, const STREAMING: bool>(
    arrays: &Arrays,
    elements: u64,
) -> f64 {
    let mut left = elements;
    let mut pass = 0.0;
    while left > 0 {
        // Hidden, so that no pass can be seen to do again what the one before did.
        let count = opaque(left.min(arrays.length as u64)) as usize;
        pass += 1.0;
        let factor = if F::READS == 0 { pass } else { SCALAR };
        // SAFETY: the caller says so, and `count` is not above the length of the arrays.
        unsafe { write_pass::<V, F, STREAMING>(arrays, count, factor) };
        left -= count as u64;
    }
    if STREAMING {
        V::fence();
    }
    0.0
}

/// # Safety
/// As for [`Loop`], for the first `count` numbers of the arrays.
#[inline(always)]
unsafe fn write_pass<V: Vector, F: Formula, const STREAMING: bool>(
    arrays: &Arrays,
    count: usize,
    factor: f64,
) {
    let whole_rounds = count - count % (UNROLLED * V::LANES);
    let whole_vectors = count - count % V::LANES;
    let vector = V::splat(factor);
    // SAFETY: the caller says so; every index is below `count`, and vectors are at multiples of
    // their size.
    unsafe {
        let mut index = 0;
        while index < whole_rounds {
            for part in 0..UNROLLED {
                write_one::<V, F, STREAMING>(arrays, index + part * V::LANES, vector);
            }
            index += UNROLLED * V::LANES;
        }
        while index < whole_vectors {
            write_one::<V, F, STREAMING>(arrays, index, vector);
            index += V::LANES;
        }
        while index < count {
            write_one::<f64, F, false>(arrays, index, factor);
            index += 1;
        }
    }
}

/// # Safety
/// As for [`Loop`], for the vector from number `index` on.
#[inline(always)]
unsafe fn write_one<V: Vector, F: Formula, const STREAMING: bool>(
    arrays: &Arrays,
    index: usize,
    factor: V,
) {
    // SAFETY: the caller says so; what the formula does not read is not loaded.
    unsafe {
        let first = if F::READS > 0 { V::load(arrays.first.add(index)) } else { factor };
        let second = if F::READS > 1 { V::load(arrays.second.add(index)) } else { factor };
        let element = F::element(first, second, factor);
        if STREAMING {
            element.stream(arrays.target.add(index));
        } else {
            element.store(arrays.target.add(index));
        }
    }
}

/// Sums that do not wait for one another: as many as hide the latency of an addition.
const SUMS: usize = 8;

/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn read<V: Vector>(arrays: &Arrays, elements: u64) -> f64 {
    let mut sums = [V::splat(0.0); SUMS];
    let mut rest = 0.0;
    let mut left = elements;
    while left > 0 {
        let count = opaque(left.min(arrays.length as u64)) as usize;
        let whole_rounds = count - count % (SUMS * V::LANES);
        let mut index = 0;
        // SAFETY: the caller says so; every index is below `count`, and vectors are at multiples of
        // their size.
        unsafe {
            while index < whole_rounds {
                for (part, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.plus(V::load(arrays.first.add(index + part * V::LANES)));
                }
                index += SUMS * V::LANES;
            }
            while index < count {
                rest += arrays.first.add(index).read();
                index += 1;
            }
        }
        left -= count as u64;
    }
    sums.into_iter().fold(rest, |total, sum| total + sum.sum())
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The loops with the instructions of newer processors.

    use super::{Arrays, Formula, read, write};
    use crate::registry::stream::vector::{Avx, Avx512};

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
    /// As for [`Loop`](super::Loop).
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512<F: Formula, const STREAMING: bool>(
        arrays: &Arrays,
        elements: u64,
    ) -> f64 {
        // SAFETY: the caller says so.
        unsafe { write::<Avx512, F, STREAMING>(arrays, elements) }
    }

    /// # Safety
    /// As for [`Loop`](super::Loop).
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn avx<F: Formula, const STREAMING: bool>(
        arrays: &Arrays,
        elements: u64,
    ) -> f64 {
        // SAFETY: the caller says so.
        unsafe { write::<Avx, F, STREAMING>(arrays, elements) }
    }

    /// # Safety
    /// As for [`Loop`](super::Loop).
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512_read(arrays: &Arrays, elements: u64) -> f64 {
        // SAFETY: the caller says so.
        unsafe { read::<Avx512>(arrays, elements) }
    }

    /// # Safety
    /// As for [`Loop`](super::Loop).
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn avx_read(arrays: &Arrays, elements: u64) -> f64 {
        // SAFETY: the caller says so.
        unsafe { read::<Avx>(arrays, elements) }
    }
}
