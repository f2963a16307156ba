//! The modelled figures against the published ones: how far those are off that nothing was fitted to.

use std::collections::BTreeMap;

use corun_study::{Quantity, Study, Value};

/// Studies whose figures are modelled.
const STUDIES: [&str; 4] = ["ht-aware-scheduler-2002", "ibm-chat", "ibm-dbench", "ibm-tbench"];

/// A figure that was published and modelled.
struct Pair {
    id: String,
    is_fitted: bool,
    /// In percent: points of a gain, or of the published time.
    published: f64,
    modelled: f64,
    error: f64,
    /// Of who guesses the mean of the fitted figures of its column or experiment.
    error_of_mean: f64,
}

fn pairs(study: &Study) -> Vec<Pair> {
    let model = study.model.as_ref().expect("a model");
    let modelled = model.estimates(&study.figures);
    let is_typed = |id: &str| matches!(study.figure(id).unwrap().value, Value::Number(_));
    let number = |id: &str| study.published(study.figure(id).unwrap()).unwrap().value;
    let typed: BTreeMap<&String, f64> = modelled
        .iter()
        .filter(|(id, _)| is_typed(id) && !id.starts_with("mean/"))
        .filter(|(id, _)| !model.left_out.contains_key(*id))
        .map(|(id, estimate)| (id, estimate.value))
        .collect();
    // Of a table the same column, else the same experiment, else the study.
    let column = |id: &str| id.split_once('/').map(|(_, column)| column.to_owned());
    let guess = |id: &str| {
        let experiment = study.figure(id).unwrap().experiment;
        let is_near = |fitted: &&String| match column(id) {
            Some(of_id) => column(fitted) == Some(of_id),
            None => study.figure(fitted).unwrap().experiment == experiment,
        };
        let near: Vec<f64> = model.fitted.iter().filter(is_near).map(|id| number(id)).collect();
        near.iter().sum::<f64>() / near.len() as f64
    };
    let pair = |(id, modelled): (&&String, &f64)| {
        let published = number(id);
        let is_gain = study.figure(id).unwrap().quantity == Quantity::Percent;
        let scale = if is_gain { 100.0 } else { 100.0 / published };
        Pair {
            id: (*id).clone(),
            is_fitted: model.fitted.contains(id),
            published,
            modelled: *modelled,
            error: (modelled - published).abs() * scale,
            error_of_mean: (guess(id) - published).abs() * scale,
        }
    };
    typed.iter().map(pair).collect()
}

fn mean<'a>(pairs: impl Iterator<Item = &'a Pair>, of: impl Fn(&Pair) -> f64) -> f64 {
    let values: Vec<f64> = pairs.map(of).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// The figures of docs/scheduling.md: `cargo test -p corun-study --test it modelled -- --nocapture`.
#[test]
fn held_out_figures_are_within_five_points_on_average() {
    let mut all = Vec::new();
    for name in STUDIES {
        let pairs = pairs(&corun_study::find(name).unwrap());
        println!("{name}");
        for Pair { id, is_fitted, published, modelled, error, error_of_mean } in &pairs {
            let mark = if *is_fitted { "fitted" } else { "held out" };
            println!(
                "  {id:<20} {mark:<9} {published:>8.3} {modelled:>8.3} {error:>6.1} {error_of_mean:>6.1}"
            );
        }
        for (what, is_fitted) in [("fitted", true), ("held out", false)] {
            let of = || pairs.iter().filter(|it| it.is_fitted == is_fitted);
            println!(
                "  {what}: {} figures, {:.1} points off on average; the mean of the fitted {:.1}",
                of().count(),
                mean(of(), |it| it.error),
                mean(of(), |it| it.error_of_mean)
            );
        }
        all.extend(pairs);
    }
    let held_out = || all.iter().filter(|it| !it.is_fitted);
    let (error, of_mean) =
        (mean(held_out(), |it| it.error), mean(held_out(), |it| it.error_of_mean));
    println!("all held out: {error:.1} points, the mean of the fitted {of_mean:.1}");
    assert!(error < 5.0 && error < of_mean, "{error} against {of_mean}");
}
