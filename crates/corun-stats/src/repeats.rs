//! Several runs of the same thing on each of several sources, as one value for each source.

use crate::between_runs::RunValue;

/// The runs of each source, as one value each.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// The mean of each source, with its error: from the variance within runs and that between runs of one source.
    pub values: Vec<RunValue>,
    /// The deviation of runs of one source beyond what their own blocks explain, on the log scale; absent where no source
    /// has two runs.
    pub between_runs: Option<f64>,
}

/// The runs of each source as one value: sources without runs are left out.
///
/// The variance between runs of one source is estimated from all sources with several runs (one-way analysis of variance):
/// two or three runs of one source are too few to estimate it. Where no source has several, the variance between runs is
/// part of the variance between sources.
pub fn repeats(sources: &[Vec<RunValue>]) -> Repeats {
    let runs = || sources.iter().flatten();
    let freedom: usize = sources.iter().map(|it| it.len().saturating_sub(1)).sum();
    let squares: f64 = sources.iter().map(|it| squares(it)).sum();
    let own = runs().map(RunValue::variance).sum::<f64>() / runs().count().max(1) as f64;
    let beyond = (freedom > 0).then(|| (squares / freedom as f64 - own).max(0.0));
    let value = |runs: &Vec<RunValue>| {
        let count = runs.len() as f64;
        let own = runs.iter().map(RunValue::variance).sum::<f64>() / count;
        let blocks = runs.iter().map(RunValue::freedom).sum::<f64>();
        // The error is known as well as the less certain of its two parts.
        let known = match beyond {
            Some(beyond) if beyond > own => blocks.min(freedom as f64),
            _ => blocks,
        };
        RunValue {
            log: runs.iter().map(|run| run.log).sum::<f64>() / count,
            standard_error: ((own + beyond.unwrap_or(0.0)) / count).sqrt(),
            // The conversion saturates.
            blocks: (known as u32).max(1).saturating_add(1),
        }
    };
    Repeats {
        values: sources.iter().filter(|runs| !runs.is_empty()).map(value).collect(),
        between_runs: beyond.map(f64::sqrt),
    }
}

fn squares(runs: &[RunValue]) -> f64 {
    let mean = runs.iter().map(|run| run.log).sum::<f64>() / runs.len().max(1) as f64;
    runs.iter().map(|run| (run.log - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(log: f64) -> RunValue {
        RunValue { log, standard_error: 0.1, blocks: 10 }
    }

    #[test]
    fn one_run_of_a_source_is_its_value() {
        let found = repeats(&[vec![run(1.0)], vec![], vec![run(2.0)]]);
        assert_eq!(found.between_runs, None);
        assert_eq!(found.values, [run(1.0), run(2.0)]);
    }

    #[test]
    fn what_runs_differ_by_is_estimated_from_all_sources() {
        // Variance of runs 0.02 and 0.08, mean 0.05, of which their blocks explain 0.01.
        let sources = [vec![run(1.0), run(1.2)], vec![run(2.0), run(2.4)], vec![run(3.0)]];
        let found = repeats(&sources);
        assert!((found.between_runs.unwrap().powi(2) - 0.04).abs() < 1e-12);
        let errors = found.values.iter().map(|it| it.standard_error.powi(2));
        let expected = [0.05 / 2.0, 0.05 / 2.0, 0.05];
        assert!(errors.zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
        // Two degrees of freedom.
        assert!(found.values.iter().all(|it| it.blocks == 3), "{found:?}");
    }

    #[test]
    fn runs_that_agree_add_nothing_to_their_own_errors() {
        let found = repeats(&[vec![run(1.0), run(1.0)], vec![run(2.0), run(2.0)]]);
        assert_eq!(found.between_runs, Some(0.0));
        assert!((found.values[0].standard_error - 0.1 / 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!(found.values[0].blocks, 19);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(repeats(&[]), Repeats { values: vec![], between_runs: None });
    }
}
