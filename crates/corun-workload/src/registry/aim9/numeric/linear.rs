//! Small matrices: points that are transformed, and systems of linear equations that are solved.

use super::super::descriptor;
use super::rounded;
use super::values::Fractions;
use crate::checksum::checksum;
use crate::in_memory::InMemory;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static MATRIX_RTNS: Workload = Workload {
    descriptor: &descriptor(
        "aim9/matrix_rtns",
        "points transformed by matrices of 4 by 4, and scaled to a screen",
        &[Tag::FloatLatency],
        ["a transformation", "transformations"],
        1.0,
        "transformations/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Points>,
};

pub(in super::super) static ARRAY_RTNS: Workload = Workload {
    descriptor: &descriptor(
        "aim9/array_rtns",
        "systems of 5 to 100 linear equations, by elimination",
        &[Tag::VectorThroughput],
        ["a system", "systems"],
        1.0,
        "systems/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Systems>,
};

/// The order of a transformation.
const ORDER: usize = 4;

/// The screen's width, height and depth.
const SCREEN: [f64; 3] = [1280.0, 1024.0, 8192.0];

struct Points {
    numbers: Fractions,
    sum: u64,
}

impl Default for Points {
    fn default() -> Self {
        Self { numbers: Fractions::fractions(), sum: 0 }
    }
}

impl Kernel for Points {
    fn reset(&mut self) {
        self.numbers.rewind();
        self.sum = 0;
    }

    fn run(&mut self, operations: u64) {
        self.numbers.rewind();
        self.sum = 0;
        let mut volume = 0.0;
        for _ in 0..operations {
            let [x, y, z] = transformed(&mut self.numbers);
            volume += x * y * z;
            let on_screen = [x * SCREEN[0], y * SCREEN[1], z * SCREEN[2]].map(|place| place as i32);
            let result = f64::from(on_screen.iter().sum::<i32>()) + volume;
            self.sum = self.sum.wrapping_mul(3).wrapping_add(result.to_bits());
        }
    }

    /// Of every result, to the last bit.
    fn check(&self) -> u64 {
        self.sum
    }
}

/// The first three coordinates of a point that was transformed, both made of the next numbers.
#[inline(always)]
fn transformed(numbers: &mut Fractions) -> [f64; 3] {
    let mut next = || InMemory::new(numbers.call_next());
    let point: [_; ORDER] = std::array::from_fn(|_| next());
    let matrix: [[_; ORDER]; ORDER] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
    let mut result = [InMemory::new(0.0); ORDER];
    for (sum, row) in result.iter_mut().zip(&matrix) {
        let products = point.iter().zip(row).map(|(place, factor)| place.get() * factor.get());
        sum.set(products.fold(0.0, |sum, product| sum + product));
    }
    [result[0].get(), result[1].get(), result[2].get()]
}

/// The orders of the systems: 5, 10 and so on up to this.
const LARGEST: usize = 100;
const STEP: usize = 5;

/// Systems in a call of the original, which begins with the smallest.
const PER_CALL: u64 = (LARGEST / STEP) as u64;

/// The coefficients of a system, row by row without gaps, each row followed by its right side.
///
/// In memory at every step, which no compiler makes vectors of: the original's did not.
type Equations = [InMemory<f64>; LARGEST * (LARGEST + 1)];

const NOTHING: InMemory<f64> = InMemory::new(0.0);

struct Systems {
    equations: Box<Equations>,
    copy: Box<Equations>,
    solution: [f64; LARGEST],
    right: u64,
    sum: u64,
}

impl Default for Systems {
    fn default() -> Self {
        let none = || Box::new([NOTHING; LARGEST * (LARGEST + 1)]);
        Self { equations: none(), copy: none(), solution: [0.0; LARGEST], right: 0, sum: 0 }
    }
}

impl Kernel for Systems {
    fn reset(&mut self) {
        self.equations.fill(NOTHING);
        self.copy.fill(NOTHING);
        (self.right, self.sum) = (0, 0);
    }

    fn run(&mut self, operations: u64) {
        (self.right, self.sum) = (0, 0);
        let mut coefficient = 1.0;
        for system in 0..operations {
            let place = system % PER_CALL;
            if place == 0 {
                self.equations.fill(NOTHING);
                self.copy.fill(NOTHING);
                coefficient = 1.0;
            }
            self.solve((place as usize + 1) * STEP, &mut coefficient);
        }
    }

    /// Of the solutions, rounded, and of how many equations they fulfil.
    fn check(&self) -> u64 {
        checksum([self.right, self.sum])
    }
}

impl Systems {
    /// Makes up a system of this order, solves it, and sees whether the solution fulfils it.
    fn solve(&mut self, order: usize, coefficient: &mut f64) {
        for place in &mut self.equations[..order * (order + 1)] {
            place.set(*coefficient);
            *coefficient = *coefficient * 1.00001 + 1.0;
        }
        self.copy.copy_from_slice(&self.equations[..]);
        let equations = &mut self.equations[..order * (order + 1)];
        eliminate(equations, order);
        let rows = equations.chunks_exact(order + 1);
        for (solution, row) in self.solution.iter_mut().zip(rows) {
            *solution = row[order].get();
        }
        self.right += fulfilled(&self.copy[..order * (order + 1)], &self.solution[..order]);
        let sum = self.solution[..order].iter().sum::<f64>();
        self.sum = self.sum.wrapping_mul(3).wrapping_add(rounded(sum));
    }
}

/// Makes the matrix that of ones in its diagonal, without looking for pivots (Gauss and Jordan).
fn eliminate(equations: &mut [InMemory<f64>], order: usize) {
    let width = order + 1;
    for pivot in 0..order {
        let scale = equations[pivot * width + pivot].get();
        for column in pivot..width {
            let place = &mut equations[pivot * width + column];
            place.set(place.get() / scale);
        }
        for row in pivot + 1..order {
            subtract(equations, width, pivot, row);
        }
    }
    for pivot in (1..order).rev() {
        for row in (0..pivot).rev() {
            subtract(equations, width, pivot, row);
        }
    }
}

/// Takes so much of the row `pivot` from another that nothing remains in its column.
#[inline(always)]
fn subtract(equations: &mut [InMemory<f64>], width: usize, pivot: usize, row: usize) {
    let factor = equations[row * width + pivot].get();
    let (before, after) = equations.split_at_mut(pivot.max(row) * width);
    let (earlier, later) = (&mut before[pivot.min(row) * width..][..width], &mut after[..width]);
    let (pivot, row) = if pivot < row { (earlier, later) } else { (later, earlier) };
    for (place, taken) in row.iter_mut().zip(pivot) {
        place.set(place.get() - factor * taken.get());
    }
}

/// Number of equations that hold.
fn fulfilled(equations: &[InMemory<f64>], solution: &[f64]) -> u64 {
    let holds = |row: &[InMemory<f64>]| {
        let left = row.iter().zip(solution).fold(0.0, |sum, (a, b)| sum + a.get() * b);
        (row[solution.len()].get() - left).abs() <= 0.5
    };
    equations.chunks_exact(solution.len() + 1).filter(|row| holds(row)).count() as u64
}
