//! The product of two matrices: what numerical programs spend their time on, and the work that the
//! vector units of a core are built for.
//!
//! One thread can keep them busy all the time, so a sibling has little to gain; advice to leave SMT
//! off for numerical work comes from such code. The product itself is the crate `matrixmultiply`,
//! blocked for caches and registers as in Goto and van de Geijn 2008 and in BLIS; it looks for
//! AVX-512, AVX2 and FMA, or NEON, at run time.

use std::num::NonZeroUsize;

use memmap2::MmapMut;

use crate::checksum::checksum;
use crate::generated::Random;
use crate::{
    About, Domain, Job, Kernel, Mode, Parameter, Parameters, Tag, Usual, Workload, WorkloadError,
    memory,
};

pub(super) struct Matmul;

static ABOUT: About = About {
    name: "matmul",
    summary: "matrix product C = C + A B of 64-bit floating-point numbers",
    tags: &[Tag::VectorThroughput, Tag::CacheCapacity],
    parameters: &[SIZE],
    operation: "a floating-point operation",
    default_mode: Mode::Copies,
    usual: Usual::Siblings,
    line_sharing: None,
};

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "rows and columns of each of the three matrices",
    default: "512",
    domain: Domain::Count { unit: "rows", least: 1, most: 1 << 14 },
};

impl Workload for Matmul {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(
        &self,
        parameters: &Parameters,
        workers: NonZeroUsize,
    ) -> Result<Job, WorkloadError> {
        let size = parameters.number(&SIZE)?;
        let matrix = || memory::map(ABOUT.name, size * size * size_of::<f64>() as u64);
        (0..workers.get())
            .map(|_| {
                let (a, b, c) = (matrix()?, matrix()?, matrix()?);
                Ok(Box::new(MatmulKernel { size: size as usize, a, b, c }) as Box<dyn Kernel>)
            })
            .collect::<Result<_, _>>()
            .map(Job::Kernels)
    }
}

/// Three square matrices, row by row.
struct MatmulKernel {
    size: usize,
    a: MmapMut,
    b: MmapMut,
    c: MmapMut,
}

impl Kernel for MatmulKernel {
    /// Small whole numbers, whose sums of products are exact up to 2^53.
    fn reset(&mut self) {
        let mut random = Random::new(4);
        for matrix in [&mut self.a, &mut self.b] {
            numbers_mut(matrix).fill_with(|| random.below(8) as f64);
        }
        numbers_mut(&mut self.c).fill(0.0);
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
        let (_, numbers, _) = unsafe { self.c.align_to::<f64>() };
        checksum(numbers.iter().map(|&number| number as u64))
    }
}

impl MatmulKernel {
    /// Adds to the block of C that starts at `row` and `column` the product of the same rows of A
    /// and the same columns of B, both cut off after `depth`.
    fn add_product(&mut self, row: usize, column: usize, [rows, columns, depth]: [usize; 3]) {
        let n = self.size;
        if rows == 0 || columns == 0 || depth == 0 {
            return;
        }
        assert!(row + rows <= n && column + columns <= n && depth <= n);
        let a = self.a.as_ptr().cast::<f64>();
        let b = self.b.as_ptr().cast::<f64>();
        let c = self.c.as_mut_ptr().cast::<f64>();
        let stride = n as isize;
        // SAFETY: each matrix has n rows of n numbers, and the blocks lie inside, as asserted; C is
        // memory of its own.
        unsafe {
            let (a, b, c) = (a.add(row * n), b.add(column), c.add(row * n + column));
            matrixmultiply::dgemm(
                rows, depth, columns, 1.0, a, stride, 1, b, stride, 1, 1.0, c, stride, 1,
            );
        }
    }
}

fn numbers_mut(matrix: &mut MmapMut) -> &mut [f64] {
    // SAFETY: any eight bytes are a floating-point number.
    unsafe { matrix.align_to_mut::<f64>().1 }
}
