//! Agreement of two lists of cycles, in the figures that the literature on blocks gives.

/// Agreement of values with a reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Pairs.
    pub count: usize,
    /// The mean of the differences, each as a share of what it is compared with.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// Kendall's rank correlation, corrected for ties (tau-b); not a number if one side is constant.
    pub tau: f64,
}

/// Compares pairs of a value and what it ought to be, which is not 0; `None` if there are none.
pub fn agreement(pairs: &[(f64, f64)]) -> Option<Agreement> {
    let mut differences: Vec<f64> =
        pairs.iter().map(|(value, ought)| (value - ought).abs() / ought.abs()).collect();
    differences.sort_by(f64::total_cmp);
    let count = differences.len();
    let middle = (count.checked_sub(1)? / 2, count / 2);
    Some(Agreement {
        count,
        mean: differences.iter().sum::<f64>() / count as f64,
        median: f64::midpoint(differences[middle.0], differences[middle.1]),
        tau: tau(pairs),
    })
}

/// Kendall 1945, The treatment of ties in ranking problems.
fn tau(pairs: &[(f64, f64)]) -> f64 {
    let sign = |difference: f64| match difference {
        0.0 => 0.0,
        _ => difference.signum(),
    };
    let (mut together, mut first, mut second) = (0.0, 0.0, 0.0);
    for (index, one) in pairs.iter().enumerate() {
        for other in &pairs[..index] {
            let signs = (sign(one.0 - other.0), sign(one.1 - other.1));
            together += signs.0 * signs.1;
            first += signs.0.abs();
            second += signs.1.abs();
        }
    }
    together / f64::sqrt(first * second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shares_of_what_ought_to_be() {
        let found = agreement(&[(1.0, 2.0), (3.0, 3.0), (5.0, 4.0), (6.0, 8.0)]).unwrap();
        assert_eq!((found.count, found.mean, found.median, found.tau), (4, 0.25, 0.25, 1.0));
        assert_eq!(agreement(&[]), None);
    }

    #[test]
    fn ties_take_from_the_correlation() {
        // By hand: 4 pairs of 6 agree, none disagree, one is tied on each side.
        let found = agreement(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0), (4.0, 3.0)]).unwrap();
        assert_eq!(found.tau, 4.0 / 5.0);
        let reversed = agreement(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).unwrap();
        assert_eq!(reversed.tau, -1.0);
    }
}
