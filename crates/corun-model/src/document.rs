//! Core models as the documents of `corun models`.

use corun_record::{
    CheckedModel, DifferingFigure, ListedModel, ModelDescription, ModelDifference,
    ModelDifferences, Tree, UncheckedFigure, on_one_line, shortened,
};

use crate::published::{Comparison, compare_published};
use crate::timing::{Provenance, TableError, TimingTable};
use crate::validation::Validation;
use crate::{CoreModel, ModelError, Vendor};

/// A model as a line of the list.
pub fn listed(model: &CoreModel, compared: &[Comparison]) -> ListedModel {
    let validation = Validation::of(compared);
    ListedModel {
        name: model.name.clone(),
        title: model.title.clone(),
        smt_width: model.smt_width,
        gigahertz: model.gigahertz,
        rob_entries: model.back.rob.entries,
        is_validated: validation.is_validated(),
        validation: validation.to_string(),
        figures: validation.0,
    }
}

/// A model in full, with its timing table.
pub fn description(
    model: &CoreModel,
    compared: &[Comparison],
    timings: &TimingTable,
) -> ModelDescription {
    let validation = Validation::of(compared);
    let differing = compared.iter().filter(|it| it.differs());
    let unchecked = compared.iter().filter(|it| !it.is_checked());
    let vendor = match model.vendor {
        Vendor::Amd => "amd",
        Vendor::Intel => "intel",
        Vendor::Generic => "generic",
    };
    ModelDescription {
        name: model.name.clone(),
        is_validated: validation.is_validated(),
        validation: validation.to_string(),
        figures: validation.0,
        timing_rows: timings.rows().count(),
        inherited_rows: timings.rows_of(Provenance::Inherited),
        derived_rows: timings.rows_of(Provenance::Derived),
        differing: differing
            .map(|it| DifferingFigure {
                figure: it.figure.clone(),
                published: it.published,
                modelled: it.modelled.unwrap_or_default(),
                source: it.source.clone(),
                reason: it.difference.clone(),
            })
            .collect(),
        unchecked: unchecked
            .map(|it| UncheckedFigure {
                figure: it.figure.clone(),
                published: it.published,
                source: it.source.clone(),
            })
            .collect(),
        title: model.title.clone(),
        vendor: vendor.to_owned(),
        smt_width: model.smt_width,
        gigahertz: model.gigahertz,
        timing: model.timing.clone(),
        overlays: model.overlays.clone(),
        sources: model.sources.clone(),
        estimates: model.estimates.clone(),
        clock: model.clock.as_ref().map_or(Tree::Absent, Tree::of),
        front: Tree::of(&model.front),
        back: Tree::of(&model.back),
        memory: Tree::of(&model.memory),
        hierarchy: Tree::of(&model.hierarchy),
    }
}

/// A model file, or a model by its name, read and found right or wrong.
///
/// # Errors
/// If there is no such model, or its file cannot be read.
pub fn checked(file: &str) -> Result<CheckedModel, ModelError> {
    let faults = match crate::find(file) {
        Ok(model) => match faults_of_timings(&model) {
            faults if faults.is_empty() => match compare_published(&model) {
                Ok(compared) => {
                    let validation = Validation::of(&compared);
                    let sentence = format!("{}: right; {validation}", on_one_line(file));
                    let file = file.to_owned();
                    return Ok(CheckedModel { file, is_right: true, sentences: vec![sentence] });
                }
                Err(error) => vec![error.to_string()],
            },
            faults => faults,
        },
        Err(ModelError::Invalid { file: name, faults }) => {
            faults.iter().map(|fault| format!("{name}, {fault}")).collect()
        }
        Err(error) => return Err(error),
    };
    Ok(CheckedModel { file: file.to_owned(), is_right: false, sentences: faults })
}

/// The most characters of a fault that is reported.
const MAX_FAULT: usize = 1000;

fn faults_of_timings(model: &CoreModel) -> Vec<String> {
    let reported =
        |fault: TableError| shortened(&on_one_line(&fault.to_string()), MAX_FAULT).into_owned();
    match TimingTable::unchecked(model) {
        Err(error) => vec![reported(error)],
        Ok(timings) => {
            timings.implausible().iter().map(|it| reported(timings.refusal(it))).collect()
        }
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
    const SHOWN_ELSEWHERE: [&str; 3] = ["title", "sources", "estimates"];
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
    fn a_figure_that_differs_or_was_not_checked_is_described() {
        let model = zen4();
        let mut compared = compare_published(&model).unwrap();
        compared.truncate(2);
        (compared[0].modelled, compared[0].difference) = (Some(1.0), Some("for a test".to_owned()));
        compared[1].place = None;
        let described = description(&model, &compared, &TimingTable::of(&model).unwrap());
        let [differing] = &described.differing[..] else { panic!("{:?}", described.differing) };
        assert_eq!((differing.modelled, differing.reason.as_deref()), (1.0, Some("for a test")));
        let unchecked: Vec<&str> =
            described.unchecked.iter().map(|it| it.figure.as_str()).collect();
        assert!(unchecked.contains(&compared[1].figure.as_str()), "{unchecked:?}");
        assert!((described.figures.differ, described.figures.published) == (1, 2));
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
