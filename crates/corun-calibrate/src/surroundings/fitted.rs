//! From what circles take to the fields of a model with which they take as long.

use corun_sim::model::CoreModel;

use super::{Circles, Seen};

/// What of the model's memory was set, and to what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// `hierarchy.l2.miss`, in cycles.
    pub last_level: u32,
    /// `hierarchy.l3.others`, in GB a second.
    pub others: f64,
    /// `hierarchy.main.nanoseconds`, by the model's clock.
    pub nanoseconds: f64,
    /// `hierarchy.main.gigabytes_a_second`.
    pub gigabytes_a_second: f64,
    /// `hierarchy.walk.cycles`.
    pub walk: u32,
}

/// Times that each field is set, since what one takes hangs on the others.
const ROUNDS: usize = 2;
/// Steps in which what others bring is found between these GB a second.
const STEPS: usize = 8;
const OTHERS: [f64; 2] = [0.01, 40.0];

/// The fields with which circles take what was seen; none if nothing was.
pub fn fitted(model: &CoreModel, circles: Circles, seen: &[Seen]) -> Option<Fitted> {
    // Others come and go; what a program meets is their mean, and what is the machine's own is the least of what was
    // seen.
    let mean = |of: fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / seen.len() as f64;
    let least = |of: fn(&Seen) -> f64| seen.iter().map(of).min_by(f64::total_cmp);
    let mut model = model.clone();
    model.hierarchy.main.gigabytes_a_second = mean(|it| it.gigabytes_a_second);
    let (last_level, pages) = (least(|it| it.last_level)?, least(|it| it.pages)?);
    for _ in 0..ROUNDS {
        let more = pages - circles.pages.cycles(&model);
        add(&mut model.hierarchy.walk.cycles, more);
        let more = last_level - circles.last_level.cycles(&model);
        add(&mut model.hierarchy.l2.miss, more);
        let more = mean(|it| it.main) - circles.main.cycles(&model);
        let nanoseconds = model.hierarchy.main.nanoseconds + more / model.gigahertz;
        model.hierarchy.main.nanoseconds = nanoseconds.max(1.0);
        let contested = mean(|it| it.contested);
        let others = brought(&model, |model| circles.contested.cycles(model) < contested);
        model.hierarchy.l3.as_mut()?.others = others;
    }
    let hierarchy = &model.hierarchy;
    Some(Fitted {
        last_level: hierarchy.l2.miss,
        others: hierarchy.l3.as_ref()?.others,
        nanoseconds: hierarchy.main.nanoseconds,
        gigabytes_a_second: hierarchy.main.gigabytes_a_second,
        walk: hierarchy.walk.cycles,
    })
}

/// Adds to whole cycles, of which there are none below 0.
fn add(cycles: &mut u32, more: f64) {
    *cycles = (f64::from(*cycles) + more).round().max(0.0) as u32;
}

/// How much others bring, in GB a second: the most with which it is too fast still, or nothing.
fn brought(model: &CoreModel, mut is_too_fast: impl FnMut(&CoreModel) -> bool) -> f64 {
    let mut model = model.clone();
    let mut with = |others: f64| {
        if let Some(l3) = &mut model.hierarchy.l3 {
            l3.others = others;
        }
        is_too_fast(&model)
    };
    let [mut low, mut high] = OTHERS;
    if !with(low) {
        return 0.0;
    }
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if with(middle) { low = middle } else { high = middle }
    }
    low
}

impl Fitted {
    /// The fields and their values, as `--set` takes them.
    pub fn settings(&self) -> Vec<(String, String)> {
        let field = |path: &str, value: String| (format!("hierarchy.{path}"), value);
        vec![
            field("l2.miss", self.last_level.to_string()),
            field("l3.others", format!("{:.2}", self.others)),
            field("main.nanoseconds", format!("{:.0}", self.nanoseconds)),
            field("main.gigabytes_a_second", format!("{:.1}", self.gigabytes_a_second)),
            field("walk.cycles", self.walk.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use corun_sim::model::find;

    use super::*;

    #[test]
    fn a_model_is_found_again_by_what_its_circles_take() {
        let mut machine = find("zen4").unwrap();
        let hierarchy = &mut machine.hierarchy;
        (hierarchy.l2.miss, hierarchy.walk.cycles) = (45, 80);
        hierarchy.main.nanoseconds = 150.0;
        hierarchy.l3.as_mut().unwrap().others = 1.0;
        let base = find("zen4").unwrap();
        let circles = Circles::of(&base).unwrap();
        let seen = Seen {
            last_level: circles.last_level.cycles(&machine),
            contested: circles.contested.cycles(&machine),
            main: circles.main.cycles(&machine),
            pages: circles.pages.cycles(&machine),
            gigabytes_a_second: 21.0,
        };
        let found = fitted(&base, circles, &[seen]).unwrap();
        assert!(found.last_level.abs_diff(45) <= 1 && found.walk.abs_diff(80) <= 1, "{found:?}");
        assert!((found.nanoseconds / 150.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.others - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(found.gigabytes_a_second, 21.0);
        assert_eq!(fitted(&base, circles, &[]), None);
    }

    #[test]
    fn settings_are_fields_of_a_model() {
        let found = Fitted {
            last_level: 45,
            others: 0.5,
            nanoseconds: 150.0,
            gigabytes_a_second: 21.0,
            walk: 80,
        };
        let model = find("zen4").unwrap().with(&found.settings()).unwrap();
        assert_eq!((model.hierarchy.l2.miss, model.hierarchy.walk.cycles), (45, 80));
        assert_eq!(model.hierarchy.l3.unwrap().others, 0.5);
    }
}
