//! How far the predicted and the measured column of a study lie from what was published.

use corun_record::{ColumnError, DescribedFigure, ModelRole, StudyColumn, StudyFigure};

/// The error of each column that has values; of predictions those count that nothing was fitted to.
pub(crate) fn errors(figures: &[StudyFigure]) -> Vec<ColumnError> {
    let of = |column, value: fn(&StudyFigure) -> Option<f64>| {
        let pairs =
            figures.iter().filter_map(|it| Some((value(it)?, it.published.as_ref()?.value)));
        error(column, pairs)
    };
    let predicted =
        |it: &StudyFigure| it.predicted.filter(|_| counts(it.model_role)).map(|it| it.value);
    let measured = |it: &StudyFigure| it.measured.map(|it| it.value);
    [of(StudyColumn::Predicted, predicted), of(StudyColumn::Measured, measured)]
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
