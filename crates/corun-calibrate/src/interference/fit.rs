//! From what rings take to the fields of a model with which they take as long.

use corun_model::CoreModel;
use corun_record::CalibratedField;

use super::{InterferenceReading, ProbeRings};
use crate::curve::median;

/// Times that each field is set, since what one takes hangs on the others.
const ROUNDS: usize = 3;
/// Steps in which what others bring is found between these GB a second.
const STEPS: usize = 8;
const OTHERS: [f64; 2] = [0.01, 40.0];
/// Times as much around it, by which it is found more exactly.
const AROUND: [f64; 7] = [0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15];
/// GB a second that no memory is slower than.
const SLOWEST: f64 = 0.1;

/// The fields of the model with which rings take what was seen; none if nothing was. A virtual machine's pages have an
/// entry in its hypervisor's tables, too.
pub fn fit_memory(
    model: &CoreModel,
    rings: ProbeRings,
    seen: &[InterferenceReading],
    is_virtual: bool,
) -> Option<Vec<CalibratedField>> {
    // Others come in bursts, which are to count in what was seen as they do in the runs that a prediction stands beside: on
    // the log scale. What is the machine's own hangs on where pages lie and is the quickest of a look, as most looks have it.
    let mean = |of: fn(&InterferenceReading) -> f64| {
        let sum: f64 = seen.iter().map(|it| of(it).ln()).sum();
        (sum / seen.len() as f64).exp()
    };
    let usual =
        |of: fn(&InterferenceReading) -> f64| median(&seen.iter().map(of).collect::<Vec<_>>());
    if seen.is_empty() {
        return None;
    }
    let mut model = model.clone();
    model.hierarchy.walk.nested = is_virtual.into();
    model.hierarchy.main.gigabytes_a_second = mean(|it| it.gigabytes_a_second);
    let (last_level, pages) = (usual(|it| it.last_level), usual(|it| it.pages));
    for _ in 0..ROUNDS {
        // The quickest of a look found nobody else.
        let more = pages - rings.pages.cycles(&with_others(&model, 0.0));
        add(&mut model.hierarchy.walk.cycles, more);
        let more = last_level - rings.last_level.cycles(&with_others(&model, 0.0));
        add(&mut model.hierarchy.l2.miss, more);
        let more = mean(|it| it.main) - rings.main.cycles(&model);
        let nanoseconds = model.hierarchy.main.nanoseconds + more / model.gigahertz;
        model.hierarchy.main.nanoseconds = nanoseconds.max(1.0);
        let contended = mean(|it| it.contended);
        let others =
            brought(|others| rings.contended.cycles(&with_others(&model, others)) / contended);
        model = with_others(&model, others);
    }
    let hierarchy = &model.hierarchy;
    let field = |path: &str, value: f64, digits: i32| {
        let unit = 10_f64.powi(digits);
        CalibratedField { field: format!("hierarchy.{path}"), value: (value * unit).round() / unit }
    };
    let mut found = vec![
        field("l2.miss", hierarchy.l2.miss.into(), 0),
        field("l3.background_fills", hierarchy.l3.as_ref()?.background_fills, 2),
        field("main.nanoseconds", hierarchy.main.nanoseconds, 0),
        field("main.gigabytes_a_second", hierarchy.main.gigabytes_a_second.max(SLOWEST), 1),
        field("walk.cycles", hierarchy.walk.cycles.into(), 0),
    ];
    found.extend(is_virtual.then(|| field("walk.nested", hierarchy.walk.nested.into(), 0)));
    Some(found)
}

/// Adds to whole cycles, of which there are none below 0.
fn add(cycles: &mut u32, more: f64) {
    *cycles = (f64::from(*cycles) + more).round().max(0.0) as u32;
}

/// The same with others that bring so many GB a second.
fn with_others(model: &CoreModel, others: f64) -> CoreModel {
    let mut model = model.clone();
    if let Some(l3) = &mut model.hierarchy.l3 {
        l3.background_fills = others;
    }
    model
}

/// How much others bring, in GB a second, where they make rings take as long: `taken` tells how many times as long.
///
/// What a ring takes hangs on chance a little, so that a straight line through what it takes around the place decides.
fn brought(mut taken: impl FnMut(f64) -> f64) -> f64 {
    let [mut low, mut high] = OTHERS;
    if taken(low) >= 1.0 {
        return 0.0;
    }
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if taken(middle) < 1.0 { low = middle } else { high = middle }
    }
    let seen: Vec<[f64; 2]> = AROUND.map(|part| [(low * part).ln(), taken(low * part).ln()]).into();
    let mean = |at: usize| seen.iter().map(|it| it[at]).sum::<f64>() / seen.len() as f64;
    let [others, excess] = [mean(0), mean(1)];
    let sum = |of: fn(f64, f64) -> f64| {
        seen.iter().map(|it| of(it[0] - others, it[1] - excess)).sum::<f64>()
    };
    let slope = sum(|others, excess| others * excess) / sum(|others, _| others * others);
    let found = (others - excess / slope).exp();
    // A line that is nearly level leads nowhere.
    let [least, most] = [AROUND[0] * low, AROUND[AROUND.len() - 1] * low];
    if slope > 0.0 { found.clamp(least, most) } else { low }
}

#[cfg(test)]
mod tests {
    use corun_model::find;

    use super::*;

    #[test]
    fn what_others_bring_is_found_beside_chance() {
        for others in [0.05, 0.9, 3.0, 20.0] {
            let taken = |with: f64| (with / others).sqrt();
            assert!((brought(taken) / others - 1.0).abs() < 1e-3, "{others}");
            let by_chance = |with: f64| taken(with) * (1.0 + 0.02 * (1e4 * with).sin());
            assert!((brought(by_chance) / others - 1.0).abs() < 0.05, "{others}");
        }
        assert_eq!(brought(|_| 1.5), 0.0, "slower without any");
        assert!(brought(|_| 0.5) > 30.0, "no more than is looked for");
    }

    #[test]
    fn a_model_is_found_again_by_what_its_circles_take() {
        let mut machine = find("zen4").unwrap();
        let hierarchy = &mut machine.hierarchy;
        (hierarchy.l2.miss, hierarchy.walk.cycles, hierarchy.walk.nested) = (45, 80, 1);
        hierarchy.main.nanoseconds = 150.0;
        let base = find("zen4").unwrap();
        let rings = ProbeRings::of(&base).unwrap();
        let seen = |others: f64| {
            let machine = with_others(&machine, others);
            InterferenceReading {
                last_level: rings.last_level.cycles(&machine),
                contended: rings.contended.cycles(&machine),
                main: rings.main.cycles(&machine),
                pages: rings.pages.cycles(&machine),
                gigabytes_a_second: 21.0,
            }
        };
        // Twice nobody else was there; rings take what they do with 1 GB a second on average, of factors.
        let [calm, some] = [seen(0.0), seen(1.0)];
        let third = |some: f64, calm: f64| some.powi(3) / calm.powi(2);
        let busy = InterferenceReading {
            contended: third(some.contended, calm.contended),
            main: third(some.main, calm.main),
            ..seen(2.0)
        };
        let found = fit_memory(&base, rings, &[calm, busy, calm], true).unwrap();
        let settings: Vec<_> = found.iter().map(CalibratedField::setting).collect();
        let hierarchy = base.clone().with(&settings).unwrap().hierarchy;
        assert!(hierarchy.l2.miss.abs_diff(45) <= 1, "{found:?}");
        assert!(hierarchy.walk.cycles.abs_diff(80) <= 1, "{found:?}");
        assert!((hierarchy.main.nanoseconds / 150.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!((hierarchy.l3.unwrap().background_fills - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(hierarchy.main.gigabytes_a_second, 21.0);
        assert_eq!(hierarchy.walk.nested, 1);
        assert_eq!(fit_memory(&base, rings, &[], true), None);
    }
}
