//! The conclusions of a publication, and which of them hold on this machine: by ratios alone, since seconds of another
//! machine say nothing here.

use corun_record::{ConclusionAnswer, Estimate, StudyConclusion, StudyFigure};
use serde::Deserialize;

use crate::computation::geometric_mean;
use crate::figure::{By, Figure};
use crate::modelled::{ROW, row};
use crate::quantity::Quantity;

/// A conclusion that the published figures support, as limits of a ratio.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// Name, unique in the study.
    pub id: String,
    /// Conclusion, as a sentence.
    pub claim: String,
    /// Ratios, of which the first that was measured decides; `{row}` in one stands for all rows of a table, whose geometric
    /// mean decides.
    pub figures: Vec<String>,
    /// The ratio is at least this.
    pub above: Option<f64>,
    /// The ratio is at most this.
    pub below: Option<f64>,
}

/// The ratio that decides, with what it is called.
struct Deciding {
    name: String,
    estimate: Estimate,
}

impl Conclusion {
    /// # Errors
    /// The field, what was expected and found.
    pub(crate) fn checked(self, figures: &[Figure]) -> Result<Self, String> {
        let named = |sentence: String| format!("conclusion \"{}\": {sentence}", self.id);
        let limits = [self.above, self.below];
        let is_limit = |limit: &f64| limit.is_finite() && *limit > 0.0;
        if !limits.iter().flatten().all(is_limit) || limits.iter().all(Option::is_none) {
            return Err(named(
                "expected `above`, `below` or both, a positive number each".to_owned(),
            ));
        }
        if self.figures.is_empty() {
            return Err(named("`figures`: expected at least one, found none".to_owned()));
        }
        for pattern in &self.figures {
            let members: Vec<&Figure> =
                figures.iter().filter(|it| row(pattern, &it.id).is_some()).collect();
            let is_ratio =
                |it: &&Figure| matches!(it.quantity, Quantity::Ratio | Quantity::Percent);
            if members.is_empty() || !members.iter().all(is_ratio) {
                return Err(named(format!("`figures`: expected ratios, found \"{pattern}\"")));
            }
            let published: Vec<f64> = members
                .iter()
                .filter_map(|it| it.range(figures, By::Makespan))
                .map(|it| it.value)
                .collect();
            let mean = geometric_mean(published.iter().copied());
            if !published.is_empty() && !self.holds_of([mean, mean]) {
                return Err(named(format!(
                    "expected limits that the published {pattern} keeps, found that it is {mean:.3}"
                )));
            }
        }
        Ok(self)
    }

    fn holds_of(&self, [low, high]: [f64; 2]) -> bool {
        self.above.is_none_or(|above| low >= above) && self.below.is_none_or(|below| high <= below)
    }

    fn fails_of(&self, [low, high]: [f64; 2]) -> bool {
        self.above.is_some_and(|above| high < above) || self.below.is_some_and(|below| low > below)
    }

    /// The answer from the figures that were reported; none if none of its figures is among them.
    pub(crate) fn answered(&self, figures: &[StudyFigure]) -> Option<StudyConclusion> {
        let is_named =
            |it: &&StudyFigure| self.figures.iter().any(|pattern| row(pattern, &it.id).is_some());
        let first = figures.iter().find(is_named)?;
        let found = self.figures.iter().find_map(|pattern| deciding(pattern, figures));
        let answer = match &found {
            None => ConclusionAnswer::NotMeasured,
            Some(Deciding { estimate: Estimate { value, low, high, .. }, .. }) => {
                match corun_stats::says_something(*value, *low, *high) {
                    true if self.holds_of([*low, *high]) => ConclusionAnswer::Holds,
                    true if self.fails_of([*low, *high]) => ConclusionAnswer::DoesNotHold,
                    _ => ConclusionAnswer::Undecided,
                }
            }
        };
        let reason = match found {
            None => first.not_possible.clone().unwrap_or_else(|| "no reason is known".to_owned()),
            Some(Deciding { name, estimate: Estimate { value, low, high, .. } }) => {
                match corun_stats::says_something(value, low, high) {
                    true => format!("{name} is {value:.2} here ({low:.2} to {high:.2})"),
                    false => format!("{name} is {}", corun_stats::TOO_UNCERTAIN),
                }
            }
        };
        Some(StudyConclusion { id: self.id.clone(), claim: self.claim.clone(), answer, reason })
    }
}

/// The measured ratio of a pattern: its figure's own, or the geometric mean of the rows that were measured.
fn deciding(pattern: &str, figures: &[StudyFigure]) -> Option<Deciding> {
    let of_pattern = || figures.iter().filter(|it| row(pattern, &it.id).is_some());
    let measured: Vec<Estimate> = of_pattern().filter_map(|it| it.measured).collect();
    let first = *measured.first()?;
    if !pattern.contains(ROW) {
        return Some(Deciding { name: pattern.to_owned(), estimate: first });
    }
    let count = measured.len();
    let of = |part: fn(&Estimate) -> f64| geometric_mean(measured.iter().map(part));
    // Half-widths of independent rows add as the sides of right angles, on the log scale.
    let squares: f64 = measured.iter().map(|it| ((it.high / it.low).ln() / 2.0).powi(2)).sum();
    let half = squares.sqrt() / count as f64;
    let value = of(|it| it.value);
    let estimate =
        Estimate { value, low: value * (-half).exp(), high: value * half.exp(), ..first };
    let name = format!(
        "the mean of {} over {count} of {} rows",
        pattern.replace("{row}/", ""),
        of_pattern().count()
    );
    Some(Deciding { name, estimate })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(id: &str, measured: Option<[f64; 3]>) -> StudyFigure {
        let measured = measured.map(|[value, low, high]| {
            serde_json::json!({ "value": value, "low": low, "high": high, "level": 0.95, "blocks": 5 })
        });
        serde_json::from_value(serde_json::json!({
            "id": id, "experiment": null, "metric": "smt_yield", "arm": null, "against": null,
            "unit": "1", "published": null, "measured": measured, "ratio": null, "predicted": null,
            "not_possible": measured.is_none().then_some("there are no siblings"), "run": null
        }))
        .expect("a figure")
    }

    fn conclusion(figures: &[&str], above: Option<f64>, below: Option<f64>) -> Conclusion {
        let figures = figures.iter().map(|it| (*it).to_owned()).collect();
        Conclusion { id: "it".to_owned(), claim: "It gains.".to_owned(), figures, above, below }
    }

    #[test]
    fn a_conclusion_holds_where_the_whole_interval_keeps_its_limits() {
        let answer = |measured, above, below| {
            let figures = [figure("gain", measured)];
            conclusion(&["gain"], above, below).answered(&figures).expect("an answer").answer
        };
        let seen = |value: f64| Some([value, value - 0.05, value + 0.05]);
        assert_eq!(answer(seen(1.2), Some(1.0), None), ConclusionAnswer::Holds);
        assert_eq!(answer(seen(1.02), Some(1.0), None), ConclusionAnswer::Undecided);
        assert_eq!(answer(seen(0.9), Some(1.0), None), ConclusionAnswer::DoesNotHold);
        assert_eq!(answer(seen(1.2), Some(0.97), Some(1.03)), ConclusionAnswer::DoesNotHold);
        assert_eq!(answer(Some([2.0, 0.2, 20.0]), Some(1.0), None), ConclusionAnswer::Undecided);
        assert_eq!(answer(None, Some(1.0), None), ConclusionAnswer::NotMeasured);
        assert!(conclusion(&["other"], Some(1.0), None).answered(&[]).is_none(), "not asked for");
    }

    #[test]
    fn the_first_figure_that_was_measured_decides_and_rows_by_their_mean() {
        let figures = [
            figure("off", None),
            figure("idle", Some([1.5, 1.4, 1.6])),
            figure("a/gain", Some([1.1, 1.0, 1.2])),
            figure("b/gain", Some([0.9, 0.8, 1.0])),
            figure("c/gain", None),
        ];
        let reason = |names: &[&str]| {
            conclusion(names, Some(0.5), None).answered(&figures).expect("an answer").reason
        };
        assert_eq!(reason(&["off", "idle"]), "idle is 1.50 here (1.40 to 1.60)");
        assert_eq!(
            reason(&["{row}/gain"]),
            "the mean of gain over 2 of 3 rows is 0.99 here (0.93 to 1.07)"
        );
        assert_eq!(reason(&["off"]), "there are no siblings");
    }
}
