//! Errors of the predicted and the measured column of a study against the published figures.

use corun_record::{ColumnError, DescribedFigure, Estimate, ModelRole, StudyColumn, StudyFigure};

/// The error of each column that has values; of predictions those count that nothing was fitted to.
pub(crate) fn errors(figures: &[StudyFigure]) -> Vec<ColumnError> {
    let of = |column, value: &dyn Fn(&StudyFigure) -> Option<f64>| {
        let pairs =
            figures.iter().filter_map(|it| Some((value(it)?, it.published.as_ref()?.value)));
        error(column, pairs)
    };
    let predicted =
        |it: &StudyFigure| it.predicted.filter(|_| counts(it.model_role)).map(|it| it.value);
    let says_something = |it: &Estimate| corun_stats::says_something(it.value, it.low, it.high);
    // Seconds and rates are those of another machine: how far they lie apart says nothing of the publication.
    let measured = |it: &StudyFigure| {
        it.measured.filter(says_something).filter(|_| it.unit == "1").map(|it| it.value)
    };
    [of(StudyColumn::Predicted, &predicted), of(StudyColumn::Measured, &measured)]
        .into_iter()
        .flatten()
        .collect()
}

/// The error of the predictions of a study that is not run.
pub(crate) fn of_predicted(figures: &[DescribedFigure]) -> Option<ColumnError> {
    let counted = figures.iter().filter(|it| counts(it.model_role));
    let pairs = counted.filter_map(|it| Some((it.predicted?.value, it.published.as_ref()?.value)));
    error(StudyColumn::Predicted, pairs)
}

fn counts(role: Option<ModelRole>) -> bool {
    role == Some(ModelRole::HeldOut)
}

fn error(column: StudyColumn, pairs: impl Iterator<Item = (f64, f64)>) -> Option<ColumnError> {
    let mut errors: Vec<f64> = pairs
        .map(|(value, published)| (value / published - 1.0).abs())
        .filter(|error| error.is_finite())
        .collect();
    errors.sort_by(f64::total_cmp);
    let figures = errors.len();
    let mean = errors.iter().sum::<f64>() / figures as f64;
    corun_stats::median(&errors).map(|median| ColumnError { column, figures, mean, median })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_figures_and_those_without_a_published_value_do_not_count() {
        let figure = |predicted: f64, published: Option<f64>, role: &str| -> StudyFigure {
            let range =
                |value: f64| serde_json::json!({ "value": value, "low": value, "high": value });
            let published = published.map(|value| {
                let mut published = range(value);
                published["computed"] = false.into();
                published
            });
            let mut estimate = range(predicted);
            estimate["level"] = 1.0.into();
            estimate["blocks"] = 1.into();
            serde_json::from_value(serde_json::json!({
                "id": "it", "experiment": null, "metric": "makespan", "arm": null, "against": null,
                "unit": "s", "published": published, "measured": null, "ratio": null,
                "predicted": estimate, "model_role": role, "not_possible": null, "run": null
            }))
            .expect("a figure")
        };
        let figures = [
            figure(2.0, Some(1.0), "held_out"),
            figure(0.9, Some(1.0), "held_out"),
            figure(50.0, Some(1.0), "fitted"),
            figure(50.0, None, "held_out"),
        ];
        let found = errors(&figures);
        assert_eq!(
            (found.len(), found[0].column, found[0].figures),
            (1, StudyColumn::Predicted, 2)
        );
        assert!((found[0].mean - 0.55).abs() < 1e-9 && (found[0].median - 0.55).abs() < 1e-9);
    }
}
