//! A scaling curve through a few runs: from it a sweep sees where the best number of workers may lie.
//!
//! The universal scalability law (Gunther 2007) has the time of a fixed amount of work as `a/n + b + c n` of `n` workers:
//! work that is divided, work that is not (Amdahl 1967), and what each pair of workers costs. Linear scaling is `a/n`.

use super::grid::Point;

/// Parameters of the law.
const PARAMETERS: usize = 3;
/// The law is used from so many numbers of workers on: one more than it has parameters says whether it holds.
const FEWEST: usize = PARAMETERS + 1;

type Vector = [f64; PARAMETERS];

/// A point of the curve: the mean of its log scores, and how many runs that is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Observed {
    /// The number of workers.
    pub workers: u32,
    /// The natural logarithm of the work done in a second.
    pub log: f64,
    /// The runs.
    pub runs: u32,
}

/// A fitted curve.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    coefficients: Vector,
    /// The log score that the fit calls 0.
    origin: f64,
    /// The covariance of the coefficients where one run has a standard deviation of 1.
    covariance: [Vector; PARAMETERS],
    /// The standard deviation of a run about the curve, on the log scale.
    pub deviation: f64,
}

impl Curve {
    /// The curve nearest to what was observed, in relative error; `None` where that is too little to say that the law
    /// holds.
    pub(crate) fn fit(observed: &[Observed]) -> Option<Self> {
        if observed.len() < FEWEST {
            return None;
        }
        let origin = observed.iter().map(|it| it.log).fold(f64::NEG_INFINITY, f64::max);
        // Each row over the time seen, so that the right-hand side is 1 and residuals are relative.
        let rows: Vec<(Vector, f64)> = observed
            .iter()
            .map(|it| {
                let time = (origin - it.log).exp();
                (basis(it.workers).map(|value| value / time), f64::from(it.runs))
            })
            .collect();
        let used = |set: usize| std::array::from_fn(|parameter| set >> parameter & 1 == 1);
        let fits = (1..1 << PARAMETERS).filter_map(|set| {
            let coefficients = least_squares(&rows, used(set))?;
            coefficients.iter().all(|&it| it >= 0.0).then_some(coefficients)
        });
        let error = |coefficients: &Vector| {
            let squares =
                rows.iter().map(|(row, weight)| weight * (dot(row, coefficients) - 1.0).powi(2));
            squares.sum::<f64>()
        };
        let coefficients = fits.min_by(|one, other| error(one).total_cmp(&error(other)))?;
        let freedom = (observed.len() - PARAMETERS) as f64;
        Some(Self {
            coefficients,
            origin,
            covariance: inverse(normal(&rows))?,
            deviation: (error(&coefficients) / freedom).sqrt(),
        })
    }

    /// The log score of a number of workers.
    pub(crate) fn log(&self, workers: u32) -> f64 {
        self.origin - dot(&basis(workers), &self.coefficients).ln()
    }

    /// The standard error of the difference between two numbers of workers, where a run has this standard deviation.
    pub(crate) fn standard_error(&self, one: u32, other: u32, deviation: f64) -> f64 {
        let slope = |workers: u32| {
            let time = dot(&basis(workers), &self.coefficients);
            basis(workers).map(|value| value / time)
        };
        let (one, other) = (slope(one), slope(other));
        let difference: Vector = std::array::from_fn(|index| one[index] - other[index]);
        let spread = self.covariance.map(|row| dot(&row, &difference));
        deviation * dot(&spread, &difference).max(0.0).sqrt()
    }
}

/// True if the point may lie on a scaling curve: a worker on each core, pinned.
pub(crate) fn may_be_on_curve(point: Point, cores: u32) -> bool {
    point.family == super::grid::Family::Dealt && point.workers <= cores
}

fn basis(workers: u32) -> Vector {
    let workers = f64::from(workers);
    [1.0 / workers, 1.0, workers]
}

fn dot(one: &Vector, other: &Vector) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The normal matrix of weighted rows.
fn normal(rows: &[(Vector, f64)]) -> [Vector; PARAMETERS] {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            rows.iter().map(|(values, weight)| weight * values[row] * values[column]).sum()
        })
    })
}

/// The coefficients nearest to a right-hand side of 1, where only some may differ from 0.
fn least_squares(rows: &[(Vector, f64)], used: [bool; PARAMETERS]) -> Option<Vector> {
    let mut matrix = normal(rows);
    let mut right: Vector = std::array::from_fn(|index| {
        rows.iter().map(|(values, weight)| weight * values[index]).sum()
    });
    for index in (0..PARAMETERS).filter(|&index| !used[index]) {
        for row in &mut matrix {
            row[index] = 0.0;
        }
        matrix[index] = [0.0; PARAMETERS];
        matrix[index][index] = 1.0;
        right[index] = 0.0;
    }
    Some(inverse(matrix)?.map(|row| dot(&row, &right)))
}

/// The inverse of a symmetric matrix by Gauss and Jordan; `None` where it has none.
fn inverse(matrix: [Vector; PARAMETERS]) -> Option<[Vector; PARAMETERS]> {
    // Columns differ by orders of magnitude: scaled to a diagonal of 1.
    let scale: Vector = std::array::from_fn(|index| matrix[index][index].sqrt());
    if scale.iter().any(|it| !it.is_normal()) {
        return None;
    }
    let mut left = matrix;
    let mut right = [[0.0; PARAMETERS]; PARAMETERS];
    for row in 0..PARAMETERS {
        for column in 0..PARAMETERS {
            left[row][column] /= scale[row] * scale[column];
        }
        right[row][row] = 1.0;
    }
    for pivot in 0..PARAMETERS {
        let divisor = left[pivot][pivot];
        if divisor.abs() < 1e-12 {
            return None;
        }
        left[pivot] = left[pivot].map(|it| it / divisor);
        right[pivot] = right[pivot].map(|it| it / divisor);
        for row in (0..PARAMETERS).filter(|&row| row != pivot) {
            let factor = left[row][pivot];
            for column in 0..PARAMETERS {
                left[row][column] -= factor * left[pivot][column];
                right[row][column] -= factor * right[pivot][column];
            }
        }
    }
    for row in 0..PARAMETERS {
        for column in 0..PARAMETERS {
            right[row][column] /= scale[row] * scale[column];
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(time: impl Fn(f64) -> f64) -> Vec<Observed> {
        let at = |workers: u32| Observed { workers, log: -time(f64::from(workers)).ln(), runs: 1 };
        [1, 2, 4, 8, 16, 32, 64].map(at).to_vec()
    }

    #[test]
    fn each_law_is_found_again_between_and_beyond_the_numbers_seen() {
        let laws: [fn(f64) -> f64; 5] =
            [|n| 64.0 / n, |n| 0.2 + 0.8 / n, |_| 3.0, |n| 0.05 + 1.0 / n + 0.001 * n, |n| n];
        for (index, law) in laws.into_iter().enumerate() {
            let curve = Curve::fit(&observed(law)).unwrap();
            assert!(curve.deviation < 1e-6, "{index}: {curve:?}");
            for workers in [3, 12, 48, 96] {
                let error = curve.log(workers) + law(f64::from(workers)).ln();
                assert!(error.abs() < 1e-6, "{index}: {workers}: {error}");
            }
        }
    }

    #[test]
    fn a_step_is_no_law_and_three_numbers_tell_nothing() {
        let step = Curve::fit(&observed(|n| if n < 16.0 { 2.0 } else { 0.5 })).unwrap();
        assert!(step.deviation > 0.1, "{step:?}");
        assert_eq!(Curve::fit(&observed(|n| n)[..3]), None);
    }

    #[test]
    fn the_error_of_a_difference_is_that_of_many_fits() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let law = |n: f64| 0.3 + 0.7 / n + 0.002 * n;
        let truth = (law(4.0) / law(32.0)).ln();
        let mut squares = 0.0;
        for _ in 0..2000 {
            let mut noisy = observed(law);
            for it in &mut noisy {
                let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
                it.log += (sum - 6.0) * 0.01;
            }
            let curve = Curve::fit(&noisy).unwrap();
            squares += (curve.log(32) - curve.log(4) - truth).powi(2);
        }
        let seen = (squares / 2000.0).sqrt();
        let said = Curve::fit(&observed(law)).unwrap().standard_error(32, 4, 0.01);
        assert!((seen / said - 1.0).abs() < 0.1, "{seen} {said}");
    }
}
