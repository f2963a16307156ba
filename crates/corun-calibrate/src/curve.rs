//! Step of a measured curve: the size of what was filled until it was full.
//!
//! Pure functions of points, so that made curves with known answers test them.

use crate::Spread;

/// A curve that goes from one level up to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The last place on the lower level.
    pub last: u32,
    /// The first on the upper level.
    pub first: u32,
    /// The lower level.
    pub low: f64,
    /// The upper level.
    pub high: f64,
}

impl Step {
    /// Middle between the levels.
    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// The last place on the lower level, and how far it may be from there.
    pub fn place(self) -> Spread {
        let (median, p90) = (self.last.into(), self.first.into());
        Spread { median, p10: median, p90, samples: 1 }
    }
}

/// The one step of a curve whose upper level is at least so many times the lower one; none if it keeps to
/// one level. Where the two levels are cut so that the points are nearest to them decides (least absolute
/// deviations, which single wrong points do not move).
pub fn step(points: &[(u32, f64)], least_ratio: f64) -> Option<Step> {
    let cost = |values: &[f64]| {
        let middle = median(values);
        values.iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let split = |cut: usize| cost(&values[..cut]) + cost(&values[cut..]);
    let cut = (1..points.len()).min_by(|&one, &other| split(one).total_cmp(&split(other)))?;
    let (low, high) = (median(&values[..cut]), median(&values[cut..]));
    if high < least_ratio * low {
        return None;
    }
    let (last, first) = edge(points, f64::midpoint(low, high))?;
    Some(Step { last, first, low, high })
}

/// The neighbours between which a rising curve crosses a threshold, with the fewest points on the wrong
/// side; none if it stays on one side.
pub fn edge(points: &[(u32, f64)], threshold: f64) -> Option<(u32, u32)> {
    let is_above: Vec<bool> = points.iter().map(|point| point.1 > threshold).collect();
    let wrong = |cut: usize| {
        let before = is_above[..cut].iter().filter(|&&is_above| is_above).count();
        before + is_above[cut..].iter().filter(|&&is_above| !is_above).count()
    };
    let cut = (0..=points.len()).min_by_key(|&cut| wrong(cut))?;
    let last = cut.checked_sub(1)?;
    Some((points[last].0, points.get(cut)?.0))
}

/// The step of a curve that is measured where it is asked for: first over all places, then between the
/// two that it lies between, until they are neighbours at this distance. A step that a second
/// measurement on both sides does not confirm is searched for once more, over all places; if none is confirmed, there is none.
///
/// # Errors
/// Result of measuring.
pub fn find_step<E>(
    places: &[u32],
    resolution: u32,
    least_ratio: f64,
    mut measure: impl FnMut(u32) -> Result<f64, E>,
) -> Result<Option<Step>, E> {
    const TIMES: usize = 4;
    for _ in 0..TIMES {
        let Some(found) = search(places, resolution, least_ratio, &mut measure)? else { continue };
        if is_there(found, resolution, &mut measure)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn search<E>(
    places: &[u32],
    resolution: u32,
    least_ratio: f64,
    measure: &mut impl FnMut(u32) -> Result<f64, E>,
) -> Result<Option<Step>, E> {
    let mut points = Vec::with_capacity(places.len());
    for &place in places {
        points.push((place, measure(place)?));
    }
    let Some(mut found) = step(&points, least_ratio) else { return Ok(None) };
    while found.first - found.last > resolution {
        // Far beyond either end too: wrong points may have put the edge beside its place.
        let width = found.first - found.last;
        let begin = found.last.saturating_sub(2 * width).max(1);
        let end = found.first + 2 * width;
        let stride = (width / 4).max(resolution) as usize;
        let mut near = Vec::new();
        for place in (begin..=end).step_by(stride) {
            near.push((place, measure(place)?));
        }
        match edge(&near, found.middle()) {
            Some((last, first)) if first - last < width => {
                (found.last, found.first) = (last, first);
            }
            _ => break,
        }
    }
    Ok(Some(found))
}

/// Checks that places below the step are on the lower level, and those above it on the upper, but for one.
fn is_there<E>(
    found: Step,
    resolution: u32,
    measure: &mut impl FnMut(u32) -> Result<f64, E>,
) -> Result<bool, E> {
    const EACH: u32 = 3;
    let apart = (found.last / 16).max(2 * resolution);
    let mut right = 0;
    for times in 1..=EACH {
        let below = found.last.saturating_sub(times * apart).max(1);
        right += u32::from(measure(below)? <= found.middle());
        right += u32::from(measure(found.first + times * apart)? > found.middle());
    }
    Ok(right + 1 >= 2 * EACH)
}

/// The median; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    corun_stats::median(values).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// 20 cycles up to the size, 35 beyond, and a slope.
    fn curve(size: u32) -> impl Fn(u32) -> f64 {
        move |place| if place <= size { 20.0 } else { 35.0 } + f64::from(place) * 0.002
    }

    proptest! {
        #[test]
        fn a_step_is_found_where_it_is(size in 48u32..448, noise in 0u64..1000) {
            let clean = curve(size);
            // Every eleventh measurement is wrong by far, all others by up to a tenth.
            let mut count = noise;
            let found = find_step(&(8..=512).step_by(8).collect::<Vec<_>>(), 1, 1.3, |place| {
                count += 1;
                let wrong = if count % 11 == 0 { 2.0 } else { 1.0 };
                let shake = 1.0 + 0.1 * ((count * 7919 % 1000) as f64 / 1000.0 - 0.5);
                Ok::<_, Infallible>(clean(place) * wrong * shake)
            });
            let found = found.unwrap().unwrap();
            prop_assert!(found.last.abs_diff(size) <= 4, "{found:?}");
        }

        #[test]
        fn a_clean_step_is_found_exactly(size in 10u32..500) {
            let clean = curve(size);
            let found = find_step(&(8..=512).step_by(24).collect::<Vec<_>>(), 1, 1.3, |place| {
                Ok::<_, Infallible>(clean(place))
            });
            let found = found.unwrap().unwrap();
            prop_assert_eq!((found.last, found.first), (size, size + 1));
        }
    }

    #[test]
    fn a_step_that_is_not_found_again_is_none() {
        // High from 100 on, and only the first time that it is measured.
        let mut count = 0;
        let found = find_step(&(8..=512).step_by(8).collect::<Vec<_>>(), 1, 1.3, |place| {
            count += 1;
            Ok::<_, Infallible>(if place > 100 && count <= 90 { 2.0 } else { 1.0 })
        });
        assert_eq!(found.unwrap(), None);
    }

    #[test]
    fn a_curve_on_one_level_has_no_step() {
        let flat: Vec<(u32, f64)> =
            (1..50).map(|it| (it, 20.0 + f64::from(it % 7) * 0.3)).collect();
        assert_eq!(step(&flat, 1.2), None);
        assert_eq!(step(&[], 1.2), None);
        assert_eq!(edge(&flat, 100.0), None);
        assert_eq!(edge(&flat, 1.0), None);
    }

    #[test]
    fn one_wrong_point_moves_no_edge() {
        let mut points: Vec<(u32, f64)> =
            (0..40).map(|it| (it, if it < 25 { 4.0 } else { 12.0 })).collect();
        points[6].1 = 30.0;
        points[33].1 = 4.0;
        let found = step(&points, 1.5).unwrap();
        assert_eq!((found.last, found.first, found.low, found.high), (24, 25, 4.0, 12.0));
    }
}
