//! The loops of the kernels, written once for every kind of vector. Passes are inside, so that an array of a few lines
//! costs no call a pass.

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
/// The arrays that the loop uses are valid and hold numbers, nothing else uses them meanwhile, and the
/// processor has the instructions that the loop is made of.
pub(super) type Loop = unsafe fn(&Arrays, u64) -> f64;

/// Formula of an element of the target.
pub(super) trait Formula {
    /// Number of arrays it reads.
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

/// Vectors of one round of a loop: enough to hide the loop's own instructions.
const UNROLLED: usize = 4;

/// # Safety
/// As for [`Loop`].
#[inline(always)]
pub(super) unsafe fn write<V: Vector, F: Formula, const STREAMING: bool>(
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
pub(super) unsafe fn read<V: Vector>(arrays: &Arrays, elements: u64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::stream::vector::Portable;
    #[cfg(target_arch = "x86_64")]
    use crate::registry::stream::x86::{self, Sse2};

    #[repr(align(64))]
    struct Numbers([f64; LENGTH]);

    const LENGTH: usize = 128 + 24;

    /// Every kind of vector that this processor has, and the one of other processors.
    #[allow(unused_mut, reason = "on other processors there is no other kind")]
    fn loops<F: Formula>() -> Vec<Loop> {
        let mut loops: Vec<Loop> = vec![write::<Portable, F, false>, write::<f64, F, true>];
        #[cfg(target_arch = "x86_64")]
        {
            loops.extend([write::<Sse2, F, false> as Loop, write::<Sse2, F, true>]);
            if is_x86_feature_detected!("avx") {
                loops.extend([x86::avx::<F, false> as Loop, x86::avx::<F, true>]);
            }
            if is_x86_feature_detected!("avx512f") {
                loops.extend([x86::avx512::<F, false> as Loop, x86::avx512::<F, true>]);
            }
        }
        loops
    }

    #[allow(unused_mut, reason = "on other processors there is no other kind")]
    fn readers() -> Vec<Loop> {
        let mut loops: Vec<Loop> = vec![read::<Portable>, read::<f64>];
        #[cfg(target_arch = "x86_64")]
        {
            loops.push(read::<Sse2>);
            if is_x86_feature_detected!("avx") {
                loops.push(x86::avx_read);
            }
            if is_x86_feature_detected!("avx512f") {
                loops.push(x86::avx512_read);
            }
        }
        loops
    }

    fn assert_all_write<F: Formula>(expected: impl Fn(f64) -> f64) {
        let first = Numbers(std::array::from_fn(|index| index as f64));
        let second = Numbers(std::array::from_fn(|index| 1000.0 * index as f64));
        for (number, run) in loops::<F>().into_iter().enumerate() {
            for elements in [0, 1, 7, 8, 63, 64, 65, LENGTH] {
                let mut target = Numbers([-1.0; LENGTH]);
                let arrays = Arrays {
                    target: target.0.as_mut_ptr(),
                    first: first.0.as_ptr(),
                    second: second.0.as_ptr(),
                    length: LENGTH,
                };
                // SAFETY: the arrays are that long and aligned; the processor was asked.
                unsafe { run(&arrays, elements as u64) };
                let (done, rest) = target.0.split_at(elements);
                let right = |(index, &found): (usize, &f64)| found == expected(index as f64);
                assert!(done.iter().enumerate().all(right), "loop {number}, {elements}");
                assert!(rest.iter().all(|&found| found == -1.0), "loop {number}, {elements}");
            }
        }
    }

    #[test]
    fn every_kind_of_vector_computes_the_same() {
        assert_all_write::<Copy>(|index| index);
        assert_all_write::<Scale>(|index| 3.0 * index);
        assert_all_write::<Add>(|index| 1001.0 * index);
        assert_all_write::<Triad>(|index| 3001.0 * index);
        assert_all_write::<Write>(|_| 1.0);
    }

    #[test]
    fn every_kind_of_vector_reads_the_same() {
        let first = Numbers(std::array::from_fn(|index| index as f64));
        let (target, second) = (std::ptr::null_mut(), std::ptr::null());
        let arrays = Arrays { target, first: first.0.as_ptr(), second, length: LENGTH };
        for run in readers() {
            for elements in [0, 1, 7, 64, 65, LENGTH, LENGTH + 9] {
                let expected: usize = (0..elements).map(|index| index % LENGTH).sum();
                // SAFETY: the array is that long and aligned; the processor was asked.
                assert_eq!(unsafe { run(&arrays, elements as u64) }, expected as f64);
            }
        }
    }
}
