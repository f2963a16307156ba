//! The product of two matrices: what numerical programs spend their time on, and the work that the
//! vector units of a core are built for.
//!
//! One thread can keep them busy all the time, so a sibling has little to gain; advice to leave SMT
//! off for numerical work comes from such code. The product itself is the crate `matrixmultiply`,
//! blocked for caches and registers as in Goto and van de Geijn 2008 and in BLIS; it looks for
//! AVX-512, AVX2 and FMA, or NEON, at run time.

use std::num::NonZeroUsize;

use crate::checksum::checksum;
use crate::generated::Random;
use crate::memory::{Memory, Pages, map_each};
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "matmul",
    summary: "matrix product C = C + A B of 64-bit floating-point numbers",
    tags: &[Tag::VectorThroughput, Tag::CacheCapacity],
    parameters: &[SIZE],
    operation: "a floating-point operation",
    counted: "flop",
    ..Descriptor::PLAIN
};

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "rows and columns of each of the three matrices",
    default: "512",
    domain: Domain::Count { unit: "rows", least: 1, most: 1 << 14 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let size = parameters.number(&SIZE)?;
    let bytes = 3 * size * size * size_of::<f64>() as u64;
    let memories = map_each(ABOUT.name, workers, bytes, Pages::Huge)?;
    let kernel = |matrices| MatmulKernel { size: size as usize, matrices };
    Ok(Job::of(memories.into_iter().map(kernel)))
}

/// A, B and C one after the other, each of them row by row.
struct MatmulKernel {
    size: usize,
    matrices: Memory,
}

impl Kernel for MatmulKernel {
    /// Small whole numbers, whose sums of products are exact up to 2^53.
    fn reset(&mut self) {
        let mut random = Random::new(4);
        let numbers_of_a_and_b = 2 * self.size * self.size;
        let (a_and_b, c) = self.numbers().split_at_mut(numbers_of_a_and_b);
        a_and_b.fill_with(|| random.below(8) as f64);
        c.fill(0.0);
    }

    /// Each multiplication comes with its addition, so an odd last operation counts as two. What is
    /// left after whole products goes to whole rows of C, then to elements of the next row, then
    /// to the first part of the sum that the next element is.
    fn run(&mut self, operations: u64) {
        let (n, size) = (self.size, self.size as u64);
        let pairs = operations.div_ceil(2);
        for _ in 0..pairs / size.pow(3) {
            self.add_product(0, 0, [n, n, n]);
        }
        let row = (pairs / size.pow(2) % size) as usize;
        let column = (pairs / size % size) as usize;
        let depth = (pairs % size) as usize;
        self.add_product(0, 0, [row, n, n]);
        self.add_product(row, 0, [1, column, n]);
        self.add_product(row, column, [1, 1, depth]);
    }

    fn check(&self) -> u64 {
        // SAFETY: any eight bytes are a floating-point number.
        let numbers: &[f64] = unsafe { self.matrices.align_to().1 };
        let c = &numbers[2 * self.size * self.size..];
        checksum(c.iter().map(|&number| number as u64))
    }

    fn memory(&mut self) -> &mut [u8] {
        &mut self.matrices
    }
}

impl MatmulKernel {
    fn numbers(&mut self) -> &mut [f64] {
        // SAFETY: any eight bytes are a floating-point number.
        unsafe { self.matrices.align_to_mut().1 }
    }

    /// Adds to the block of C that starts at `row` and `column` the product of the same rows of A
    /// and the same columns of B, both cut off after `depth`.
    fn add_product(&mut self, row: usize, column: usize, [rows, columns, depth]: [usize; 3]) {
        let n = self.size;
        if rows == 0 || columns == 0 || depth == 0 {
            return;
        }
        assert!(row + rows <= n && column + columns <= n && depth <= n);
        let (a_and_b, c) = self.numbers().split_at_mut(2 * n * n);
        let (a, b) = a_and_b.split_at(n * n);
        let (a, b, c) = (&a[row * n..], &b[column..], &mut c[row * n + column..]);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let stride = n as isize;
        // SAFETY: each matrix has n rows of n numbers, and the blocks lie inside, as asserted.
        unsafe {
            matrixmultiply::dgemm(
                rows, depth, columns, 1.0, a, stride, 1, b, stride, 1, 1.0, c, stride, 1,
            );
        }
    }
}
