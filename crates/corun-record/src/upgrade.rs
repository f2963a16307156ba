//! Documents of older versions, brought to the fields of today before they are read.
//!
//! A field that was renamed is renamed here and nowhere else, so that the types of the data model
//! know one name for each.

use serde_json::{Value, json};

/// Renames the field `old` of an object to `new`; what has no such field stays as it is.
pub(crate) fn rename(json: &mut Value, old: &str, new: &str) {
    let Some(fields) = json.as_object_mut() else { return };
    if let Some(value) = fields.remove(old) {
        fields.insert(new.to_owned(), value);
    }
}

/// Changes every element of the list `field` of an object.
pub(crate) fn each(json: &mut Value, field: &str, change: impl FnMut(&mut Value)) {
    let elements = json.get_mut(field).and_then(Value::as_array_mut);
    elements.into_iter().flatten().for_each(change);
}

/// Turns the flag `interrupted` of version 1 into an `ending`.
pub(crate) fn interrupted_to_ending(json: &mut Value) {
    let Some(fields) = json.as_object_mut() else { return };
    let Some(was_interrupted) = fields.remove("interrupted") else { return };
    let ending = match was_interrupted {
        Value::Bool(true) => json!({ "reason": "interrupted", "sentence": "interrupted" }),
        Value::Bool(false) => json!({ "reason": "completed", "sentence": "completed" }),
        other => other,
    };
    fields.insert("ending".to_owned(), ending);
}

/// Turns the `warning` of version 1 and its caveats that are text alone into caveats with kinds.
pub(crate) fn warning_to_caveats(json: &mut Value) {
    let Some(fields) = json.as_object_mut() else { return };
    let warning = fields.remove("warning").filter(|it| !it.is_null());
    let others = fields.remove("caveats");
    let others = others.as_ref().and_then(Value::as_array).into_iter().flatten();
    let caveat = |kind: &str, sentence: &Value| match sentence {
        Value::String(_) => json!({ "kind": kind, "sentence": sentence }),
        other => other.clone(),
    };
    let all = warning.iter().map(|it| caveat("unvalidated-model", it));
    let all = all.chain(others.map(|it| caveat("simulation", it))).collect();
    fields.insert("caveats".to_owned(), Value::Array(all));
}

/// Turns the `model` and `settings` of versions 1 and 2 of simulations into a `core`. They have no title of
/// it, which the name stands for, and do not say which corun wrote them.
pub(crate) fn model_to_core(json: &mut Value) {
    let Some(fields) = json.as_object_mut() else { return };
    let Some(model) = fields.remove("model") else { return };
    let settings = fields.remove("settings").unwrap_or_else(|| json!({}));
    let core = json!({ "model": model, "title": model, "settings": settings });
    fields.insert("core".to_owned(), core);
    fields.insert("corun_version".to_owned(), "unknown".into());
}

/// Changes the value of a field of an object, where it has that field.
pub(crate) fn within(json: &mut Value, field: &str, change: impl FnOnce(&mut Value)) {
    if let Some(value) = json.get_mut(field) {
        change(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_version_1_get_their_names_of_today() {
        let mut old = json!({ "interrupted": true, "rows": [{ "a": 1 }, { "b": 2 }], "warning": "w",
                              "caveats": ["c"] });
        interrupted_to_ending(&mut old);
        each(&mut old, "rows", |row| rename(row, "a", "z"));
        warning_to_caveats(&mut old);
        let new = json!({ "ending": { "reason": "interrupted", "sentence": "interrupted" },
                          "rows": [{ "z": 1 }, { "b": 2 }],
                          "caveats": [{ "kind": "unvalidated-model", "sentence": "w" },
                                      { "kind": "simulation", "sentence": "c" }] });
        assert_eq!(old, new);
    }

    #[test]
    fn text_that_is_not_an_object_is_left_to_the_reader_to_refuse() {
        for mut odd in [json!(null), json!([1]), json!("x"), json!({ "interrupted": 3 })] {
            rename(&mut odd, "a", "b");
            each(&mut odd, "rows", |_| {});
            interrupted_to_ending(&mut odd);
            warning_to_caveats(&mut odd);
            model_to_core(&mut odd);
            within(&mut odd, "x", |_| {});
        }
    }
}
