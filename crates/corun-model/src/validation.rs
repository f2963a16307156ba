//! Validation of a core model against the published figures of its core.
//!
//! The status is counted from the published figures, never written by hand: a figure counts as checked only
//! if its row names the place in the source where it was read.

use std::fmt;

use corun_record::{Caveat, PublishedFigures, on_one_line};

use super::CoreModel;
use super::published::{Comparison, PublishedError, compare_published};

/// Checked figures that a model must have at least to count as validated.
pub const MIN_CHECKED: usize = 20;

/// Validation of a model, counted over the published figures of its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validation(pub PublishedFigures);

impl Validation {
    /// Counts the figures.
    pub fn of(compared: &[Comparison]) -> Self {
        let count = |is_so: fn(&Comparison) -> bool| compared.iter().filter(|it| is_so(it)).count();
        let checked = count(Comparison::is_checked);
        Self(PublishedFigures {
            published: compared.len(),
            agree: count(Comparison::agrees),
            differ: count(Comparison::differs),
            checked,
            unchecked: compared.len() - checked,
        })
    }

    /// True if the model agrees with every published figure, and enough of them were read in their source.
    pub fn is_validated(&self) -> bool {
        self.0.agree == self.0.published && self.0.checked >= MIN_CHECKED
    }

    /// `validated` or `unvalidated`.
    pub fn status(&self) -> &'static str {
        if self.is_validated() { "validated" } else { "unvalidated" }
    }
}

/// The caveat that goes with every result of a model: how many of its published figures agree, and how many were not
/// checked against their source. None only if all agree and all were.
///
/// # Errors
/// If the file of published figures is wrong.
pub fn validation_caveat(model: &CoreModel) -> Result<Option<Caveat>, PublishedError> {
    let validation = Validation::of(&compare_published(model)?);
    let kind = match validation.is_validated() {
        true if validation.0.unchecked == 0 => return Ok(None),
        true => "unchecked-figures",
        false => "unvalidated-model",
    };
    let sentence = format!("The core model {} is {validation}.", on_one_line(&model.name));
    Ok(Some(Caveat::new(kind, sentence)))
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishedFigures { published, agree, differ, checked, unchecked } = &self.0;
        let status = self.status();
        if *published == 0 {
            return write!(f, "{status}: no published figures to check it against");
        }
        write!(f, "{status}: it agrees with {agree} of {published} published figures")?;
        match differ {
            0 => {}
            1 => f.write_str(" and differs from 1")?,
            _ => write!(f, " and differs from {differ}")?,
        }
        write!(f, "; {checked} of {published} checked against their source, {unchecked} unchecked")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(modelled: f64, place: Option<&str>) -> Comparison {
        Comparison {
            figure: "back.rob.entries".to_owned(),
            published: 100.0,
            modelled: Some(modelled),
            tolerance: 0.0,
            source: "a guide".to_owned(),
            place: place.map(str::to_owned),
            difference: None,
        }
    }

    #[test]
    fn a_model_is_validated_by_enough_checked_figures_that_all_agree() {
        let checked = vec![figure(100.0, Some("table 1")); MIN_CHECKED];
        assert!(Validation::of(&checked).is_validated());
        assert!(!Validation::of(&checked[1..]).is_validated());
        assert!(!Validation::of(&[]).is_validated());
        let with = |more| Validation::of(&[checked.clone(), vec![more]].concat());
        assert!(with(figure(100.0, None)).is_validated());
        assert!(!with(figure(101.0, Some("table 1"))).is_validated());
        assert!(!with(Comparison { modelled: None, ..figure(0.0, None) }).is_validated());
        assert!(!Validation::of(&vec![figure(100.0, None); 99]).is_validated());
    }

    #[test]
    fn the_sentence_has_every_number() {
        let figures = [figure(100.0, Some("table 1")), figure(100.0, None), figure(90.0, None)];
        let all = Validation::of(&figures).to_string();
        assert_eq!(
            all,
            "unvalidated: it agrees with 2 of 3 published figures and differs from 1; \
             1 of 3 checked against their source, 2 unchecked"
        );
        assert!(Validation::of(&[]).to_string().starts_with("unvalidated: no published figures"));
    }
}
