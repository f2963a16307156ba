//! How many blocks an interval of a wanted width will take.
//!
//! A prediction for the progress display and for choosing a plan; it never decides by itself when
//! to stop. (Stein 1945 sizes a second sample from the variance of a first in the same way.)

use super::estimate::{Estimate, student_t};

/// The fewest blocks whose interval is expected to reach at most `half_width` to each side, on the
/// log scale, at the level of `pilot` and with its standard deviation.
///
/// At least 2. `None` unless `half_width` > 0, or if more than `u32::MAX` blocks are needed.
pub fn blocks_needed(pilot: &Estimate, half_width: f64) -> Option<u32> {
    let deviation = pilot.standard_deviation();
    let suffices = |blocks: u32| {
        student_t(pilot.level, blocks)
            .is_some_and(|reach| reach * deviation / f64::from(blocks).sqrt() <= half_width)
    };
    if half_width.is_nan() || half_width <= 0.0 || !suffices(u32::MAX) {
        return None;
    }
    // The reach falls with every block, so halving finds the first number that suffices.
    let (mut too_few, mut enough) = (1, u32::MAX);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        *(if suffices(middle) { &mut enough } else { &mut too_few }) = middle;
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::paired;
    use super::*;

    #[test]
    fn the_textbook_number() {
        // Deviation 0.02, half-width 0.01: (1.96 * 2)^2 = 15.4 for a known deviation, 18 for t.
        let pilot = paired(&[-0.02, 0.02], 0.95).unwrap();
        let pilot = Estimate { standard_error: 0.02 / 2_f64.sqrt(), ..pilot };
        assert_eq!(blocks_needed(&pilot, 0.01), Some(18));
    }

    #[test]
    fn the_ends() {
        let quiet = paired(&[0.1; 5], 0.95).unwrap();
        assert_eq!(blocks_needed(&quiet, 0.01), Some(2));
        let loud = paired(&[-1e6, 1e6], 0.95).unwrap();
        assert_eq!(blocks_needed(&loud, 1e-3), None);
        for impossible in [0.0, -0.01, f64::NAN] {
            assert_eq!(blocks_needed(&quiet, impossible), None);
        }
    }

    proptest! {
        #[test]
        fn it_is_the_fewest(deviation in 0.001..1.0_f64, half_width in 0.001..0.1_f64) {
            let pilot = paired(&[-deviation, deviation, -deviation, deviation], 0.95).unwrap();
            let blocks = blocks_needed(&pilot, half_width).unwrap();
            let reach = |blocks: u32| {
                student_t(0.95, blocks).unwrap() * pilot.standard_deviation()
                    / f64::from(blocks).sqrt()
            };
            prop_assert!(reach(blocks) <= half_width);
            prop_assert!(blocks == 2 || reach(blocks - 1) > half_width);
        }
    }
}
