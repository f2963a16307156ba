//! The cores of a sweep: models, each with every combination of the values of some fields.

use corun_model::{host_core, suited};

use crate::{CoreVariant, PredictError, PredictRequestError};

use super::MOST_CELLS;

/// The values of a field: those between commas, but a list in brackets is one value.
pub fn values_of(text: &str) -> Vec<&str> {
    let mut lists = 0;
    let is_end = |it: char| {
        lists += i32::from(it == '[') - i32::from(it == ']');
        it == ',' && lists <= 0
    };
    text.split(is_end).map(str::trim).collect()
}

/// Each model with every combination of the values that fields have, written as `V1,V2`; `all` are all models that come with
/// corun, and no name is this host's own.
///
/// # Errors
/// If there is no model of this host's core, a value is empty, or there are more combinations than cells.
pub fn core_variants(
    models: &[String],
    fields: &[(String, String)],
) -> Result<Vec<CoreVariant>, PredictError> {
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (field, values) in fields {
        let values = values_of(values);
        if values.iter().any(|it| it.is_empty()) {
            let (field, found) = (field.clone(), values.join(","));
            return Err(PredictRequestError::EmptyValue { field, found }.into());
        }
        if combinations.len().saturating_mul(values.len()) > MOST_CELLS {
            return Err(PredictRequestError::Cells { most: MOST_CELLS }.into());
        }
        let with_each = |one: &Vec<(String, String)>| {
            values
                .iter()
                .map(|value| [one.clone(), vec![(field.clone(), (*value).to_owned())]].concat())
                .collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with_each).collect();
    }
    let of_model = |model: String| {
        combinations
            .iter()
            .map(move |settings| CoreVariant { model: model.clone(), settings: settings.clone() })
    };
    Ok(named(models)?.into_iter().flat_map(of_model).collect())
}

/// The models, each once; that of this host's core or of the nearest one, if none is named.
fn named(models: &[String]) -> Result<Vec<String>, PredictError> {
    if models.is_empty() {
        let host = host_core();
        let found = host.as_ref().map_or("none".to_owned(), ToString::to_string);
        let suited = host.as_ref().and_then(suited);
        let name = suited.map(|it| it.model.to_owned());
        return Ok(vec![name.ok_or(PredictRequestError::NoModel { found })?]);
    }
    let mut all: Vec<String> = Vec::new();
    for name in models {
        let named: Vec<String> = match name.as_str() {
            "all" => designs()?,
            name => vec![name.to_owned()],
        };
        for name in named {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    Ok(all)
}

/// The models that are no variants of others: one a design of a core.
fn designs() -> Result<Vec<String>, PredictError> {
    let models = corun_model::designs().map_err(PredictError::Model)?;
    Ok(models.into_iter().map(|it| it.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(field: &str, values: &str) -> (String, String) {
        (field.to_owned(), values.to_owned())
    }

    #[test]
    fn every_model_meets_every_combination() {
        let fields = [pair("rob.entries", "1, 2"), pair("main.nanoseconds", "60,70")];
        let found = core_variants(&["zen3".to_owned(), "zen4".to_owned()], &fields).unwrap();
        let line = |it: &CoreVariant| {
            let settings = it.settings.iter().map(|(field, value)| format!(" {field}={value}"));
            format!("{}{}", it.model, settings.collect::<String>())
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        assert_eq!(lines.len(), 8);
        assert_eq!(lines[0], "zen3 rob.entries=1 main.nanoseconds=60");
        assert_eq!(lines[7], "zen4 rob.entries=2 main.nanoseconds=70");
    }

    #[test]
    fn a_list_in_brackets_is_one_value() {
        assert_eq!(values_of("[0.9,1.0]"), ["[0.9,1.0]"]);
        assert_eq!(values_of("60, 70"), ["60", "70"]);
        assert_eq!(values_of("[0.9,1], [1,1]"), ["[0.9,1]", "[1,1]"]);
        assert_eq!(values_of("1],2"), ["1]", "2"]);
        assert_eq!(values_of(""), [""]);
    }

    #[test]
    fn all_are_all_designs_once() {
        let found = core_variants(&["zen4".to_owned(), "all".to_owned()], &[]).unwrap();
        assert_eq!(found.len(), corun_model::designs().unwrap().len());
        assert_eq!(found[0].model, "zen4");
    }

    #[test]
    fn too_many_combinations_and_empty_values_are_refused() {
        let many = (0..400).map(|it| it.to_string()).collect::<Vec<_>>().join(",");
        let fields = [pair("a", &many), pair("b", &many)];
        assert!(core_variants(&["zen4".to_owned()], &fields).is_err());
        let error = core_variants(&["zen4".to_owned()], &[pair("a", "1,,2")]).unwrap_err();
        assert!(error.to_string().contains("found an empty one"), "{error}");
    }
}
