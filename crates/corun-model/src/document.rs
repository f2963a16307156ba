//! Core models as the documents of `corun models`.

use corun_record::{
    DifferingFigure, ListedModel, ModelDescription, ModelDifference, ModelDifferences, Tree,
};

use crate::published::{Comparison, LEAST_PUBLISHED};
use crate::timing::TimingTable;
use crate::{CoreModel, Vendor};

/// How a model was checked against published figures of its core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// Whether it says how it was validated, enough published figures agree, and none differs.
    pub is_validated: bool,
    /// The same with the counts of figures, one line.
    pub sentence: String,
}

impl Validation {
    /// Of a model and its [`compare_published`](crate::compare_published).
    pub fn of(model: &CoreModel, compared: &[Comparison]) -> Self {
        let agreed = compared.iter().filter(|it| it.agrees()).count();
        let differing = compared.iter().filter(|it| it.differs()).count();
        match &model.validated {
            Some(how) if agreed >= LEAST_PUBLISHED && differing == 0 => Self {
                is_validated: true,
                sentence: format!("validated {how}: {agreed} of {} agree", compared.len()),
            },
            _ => Self {
                is_validated: false,
                sentence: match compared.is_empty() {
                    true => "unvalidated: no published figures to check it against".to_owned(),
                    false => {
                        format!("unvalidated: {agreed} published figures agree, {differing} differ")
                    }
                },
            },
        }
    }
}

/// A model as a line of the list.
pub fn listed(model: &CoreModel, compared: &[Comparison]) -> ListedModel {
    let Validation { is_validated, sentence } = Validation::of(model, compared);
    ListedModel {
        name: model.name.clone(),
        title: model.title.clone(),
        smt_width: model.smt_width,
        gigahertz: model.gigahertz,
        rob_entries: model.back.rob.entries,
        is_validated,
        validation: sentence,
    }
}

/// A model in full, with its timing table.
pub fn description(
    model: &CoreModel,
    compared: &[Comparison],
    timings: &TimingTable,
) -> ModelDescription {
    let Validation { is_validated, sentence } = Validation::of(model, compared);
    let differing = compared.iter().filter(|it| it.differs());
    let vendor = match model.vendor {
        Vendor::Amd => "amd",
        Vendor::Intel => "intel",
        Vendor::Generic => "generic",
    };
    ModelDescription {
        name: model.name.clone(),
        is_validated,
        validation: sentence,
        timing_rows: timings.rows().count(),
        inherited_rows: timings.inherited(),
        differing: differing
            .map(|it| DifferingFigure {
                figure: it.figure.clone(),
                published: it.published,
                modelled: it.modelled.unwrap_or_default(),
                source: it.source.clone(),
            })
            .collect(),
        title: model.title.clone(),
        vendor: vendor.to_owned(),
        smt_width: model.smt_width,
        gigahertz: model.gigahertz,
        timing: model.timing.clone(),
        overlays: model.overlays.clone(),
        validated: model.validated.clone(),
        sources: model.sources.clone(),
        estimates: model.estimates.clone(),
        front: Tree::of(&model.front),
        back: Tree::of(&model.back),
        memory: Tree::of(&model.memory),
        hierarchy: Tree::of(&model.hierarchy),
    }
}

/// Fields in which two models differ, each with both texts; none where a model lacks the field.
///
/// What is said of the models (titles, sources, estimates) is not compared.
pub fn differences(a: &CoreModel, b: &CoreModel) -> ModelDifferences {
    let [left, right] = [a, b].map(|model| {
        let mut leaves = Tree::of(model).leaves();
        leaves.retain(|(path, _)| is_compared(path));
        leaves
    });
    let of = |leaves: &[(String, String)], field: &str| {
        leaves.iter().find(|(path, _)| path == field).map(|(_, text)| text.clone())
    };
    let only_right = right.iter().filter(|(path, _)| of(&left, path).is_none());
    let differences = left
        .iter()
        .chain(only_right)
        .map(|(field, _)| ModelDifference {
            field: field.clone(),
            a: of(&left, field),
            b: of(&right, field),
        })
        .filter(|it| it.a != it.b)
        .collect();
    ModelDifferences { a: a.name.clone(), b: b.name.clone(), differences }
}

fn is_compared(path: &str) -> bool {
    const SHOWN_ELSEWHERE: [&str; 4] = ["title", "validated", "sources", "estimates"];
    let first = path.split('.').next().unwrap_or_default();
    !SHOWN_ELSEWHERE.contains(&first) && !path.ends_with(".source")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_published;

    fn zen4() -> CoreModel {
        crate::find("zen4").unwrap()
    }

    #[test]
    fn only_what_differs_is_compared() {
        let (model, mut other) = (zen4(), zen4());
        assert_eq!(differences(&model, &other).differences, []);
        other.title = "another".to_owned();
        other.back.rob.sharing.source = "elsewhere".to_owned();
        assert_eq!(differences(&model, &other).differences, []);
        other.back.rob.entries = 256;
        other.front.op_cache = None;
        let differences = differences(&model, &other).differences;
        let rob = differences.iter().find(|it| it.field == "back.rob.entries").unwrap();
        assert_eq!((rob.a.as_deref(), rob.b.as_deref()), (Some("320"), Some("256")));
        let rest = differences.iter().filter(|it| it.field != "back.rob.entries");
        assert!(rest.clone().all(|it| it.field.starts_with("front.op_cache.") && it.b.is_none()));
        assert!(rest.count() > 5);
    }

    #[test]
    fn a_model_is_validated_by_figures_that_agree_and_by_them_alone() {
        let mut model = zen4();
        let mut compared = compare_published(&model).unwrap();
        let is_validated = |model: &CoreModel, compared: &[Comparison]| {
            let Validation { is_validated, sentence } = Validation::of(model, compared);
            assert!(sentence.starts_with(if is_validated { "validated" } else { "unvalidated" }));
            is_validated
        };
        assert!(is_validated(&model, &compared));
        assert!(!is_validated(&model, &compared[..5]));
        assert!(!is_validated(&model, &[]));
        compared[0].modelled = Some(1.0);
        assert!(!is_validated(&model, &compared));
        model.validated = None;
        assert!(!is_validated(&model, &compare_published(&model).unwrap()));
    }

    #[test]
    fn every_field_of_a_model_is_in_its_description() {
        let model = zen4();
        let timings = TimingTable::of(&model).unwrap();
        let whole = Tree::of(&model);
        let described = Tree::of(&description(&model, &[], &timings));
        let Tree::Table(fields) = whole else { panic!("a model has fields") };
        for (name, field) in fields {
            assert_eq!(described.get(&name), Some(&field), "{name}");
        }
    }
}
