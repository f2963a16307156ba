//! How much the figures and policies that a model assumes decide a predicted yield: each is set otherwise, one at a time.

use std::path::Path;

use corun_model::CoreModel;
use corun_record::Tree;

use super::rows::{Listed, Ratio, Side};
use super::{Extent, simulated, simulated_yield};

/// A program on a core whose yield is predicted with other values of the model's assumed fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub model: String,
    pub program: String,
    /// How busy the other cores are.
    pub others: f64,
}

/// What other values do to the yield of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sensitivity {
    pub case: Case,
    pub shifts: Vec<Shift>,
}

/// What another value of an assumed figure or policy does to a yield.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shift {
    /// Its path in the model.
    pub field: String,
    pub value: String,
    /// The other value.
    pub other: String,
    /// What the yield changes by.
    pub change: f64,
}

/// Many figures are varied, so that little is simulated for each.
const SHORT: Extent = Extent { warm_up: "100k", counted: "100k", phases: "1", slice: "3" };

/// The rows of a list that models were tuned with and that compare siblings with true cores, and the programs that it names
/// for other cores. What is held out is not among them.
pub(super) fn cases(listed: &Listed) -> Vec<Case> {
    let tuned = listed.rows.iter().filter(|row| row.side == Side::Tuned);
    let rows = tuned.filter(|row| row.ratio == Ratio::FullToSpread).map(|row| Case {
        model: row.model.clone(),
        program: row.program.clone(),
        others: row.others,
    });
    let named = listed.varied.iter().flat_map(|varied| {
        let case = |program: &String| Case {
            model: varied.model.clone(),
            program: program.clone(),
            others: 1.0,
        };
        varied.programs.iter().map(case)
    });
    rows.chain(named).collect()
}

/// The shifts of a case.
///
/// # Errors
/// If there is no such model, or the trace cannot be simulated on it as it is.
pub(super) fn shifts(
    corun: &Path,
    case: &Case,
    trace: &Path,
    settings: &[String],
) -> Result<Vec<Shift>, String> {
    let model = corun_model::find(&case.model).map_err(|error| error.to_string())?;
    let others = [settings, &[format!("hierarchy.load_of_others={}", case.others)]].concat();
    let traces = [trace.to_owned()];
    let ratio = Ratio::FullToSpread;
    let with = |settings: &[String]| {
        simulated_yield(corun, &case.model, ratio, &traces, settings, SHORT).map(|it| it.mean)
    };
    let base = with(&others)?;
    let figures = alternatives(&model).into_iter().filter_map(|(field, value, other)| {
        let found = with(&[&others[..], &[format!("{field}={other}")]].concat()).ok()?;
        Some(Shift { field, value, other, change: found - base })
    });
    let mut shifts: Vec<Shift> = figures.collect();
    let placements =
        simulated(corun, &case.model, ratio, &traces, &others, SHORT, &["--resources"])?;
    for resource in placements.resources.into_iter().filter(|one| one.is_assumed) {
        shifts.extend(resource.smt_yield.into_iter().map(|(other, found)| Shift {
            field: format!("{}.policy", resource.resource),
            value: resource.policy.clone(),
            other,
            change: found - base,
        }));
    }
    Ok(shifts)
}

/// Each number that the model estimates at half and at double its value, each choice the other way; those that the model
/// may not have are left out.
fn alternatives(model: &CoreModel) -> Vec<(String, String, String)> {
    let is_estimated = |path: &str| {
        let mut estimates = model.estimates.keys();
        estimates.any(|it| {
            path.strip_prefix(it.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let is_in_list = |path: &str| path.split('.').any(|part| part.parse::<u32>().is_ok());
    let leaves = Tree::of(model).leaves().into_iter();
    let estimated = leaves.filter(|(path, _)| is_estimated(path) && !is_in_list(path));
    let all = estimated.flat_map(|(path, value)| {
        let others = otherwise(&value).into_iter();
        others.map(move |other| (path.clone(), value.clone(), other)).collect::<Vec<_>>()
    });
    all.filter(|(path, _, other)| model.clone().with(&[(path.clone(), other.clone())]).is_ok())
        .collect()
}

/// Other values of a figure.
fn otherwise(value: &str) -> Vec<String> {
    match (value, value.parse::<u64>(), value.parse::<f64>()) {
        // As `Tree` has flags.
        ("yes", ..) => vec!["false".to_owned()],
        ("no", ..) => vec!["true".to_owned()],
        (_, Ok(0), _) => vec!["1".to_owned()],
        (_, Ok(1), _) => vec!["0".to_owned(), "2".to_owned()],
        (_, Ok(number), _) => vec![(number / 2).to_string(), (number * 2).to_string()],
        (_, _, Ok(number)) => vec![(number / 2.0).to_string(), (number * 2.0).to_string()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimated_numbers_are_halved_and_doubled_and_choices_made_otherwise() {
        assert_eq!(otherwise("8"), ["4", "16"]);
        assert_eq!(otherwise("1.5"), ["0.75", "3"]);
        assert_eq!(otherwise("0"), ["1"]);
        assert_eq!(otherwise("yes"), ["false"]);
        assert!(otherwise("lru").is_empty());
        let model = corun_model::find("ivy-bridge").unwrap();
        let all = alternatives(&model);
        let has = |field: &str, other: &str| all.iter().any(|it| it.0 == field && it.2 == other);
        assert!(has("memory.forwarding.early_issue", "false"), "{all:?}");
        for (field, value, other) in &all {
            assert_ne!(value, other, "{field}");
        }
    }

    #[test]
    fn nothing_that_is_held_out_is_varied() {
        let listed = Listed::read().unwrap();
        let cases = cases(&listed);
        for model in ["zen2", "zen3", "zen4", "zen5", "ivy-bridge", "coffee-lake"] {
            assert!(cases.iter().any(|case| case.model == model), "{model}");
        }
        for Case { model, program, .. } in &cases {
            let is_it = |row: &&super::super::Row| row.model == *model && row.program == *program;
            let mut rows = listed.rows.iter().filter(is_it);
            assert!(rows.all(|row| row.side == Side::Tuned), "{program} on {model}");
            assert!(listed.program(program).is_some(), "{program}");
        }
        for varied in &listed.varied {
            let is_published = |program: &String| {
                listed.rows.iter().any(|row| row.model == varied.model && row.program == *program)
            };
            assert!(!varied.programs.iter().any(is_published), "{varied:?}");
        }
    }
}
