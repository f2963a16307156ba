//! Single fields of a model set otherwise, so that one can ask what a core would do with another policy.
//!
//! A field is named by the end of its path, without `sharing` and numbers of a list: `rob.policy`,
//! `schedulers.entries`, `front.queue.entries`; `*` stands for any one name.

use std::collections::BTreeSet;

use corun_record::{Tree, nearest_listed};
use serde_json::Value;

use super::error::ModelError;
use super::places::Places;
use super::{CoreModel, Policy, check};

/// The most fields that are listed where several were found.
const SHOWN: usize = 6;

impl CoreModel {
    /// The core with some fields set otherwise: names and values as text.
    ///
    /// # Errors
    /// [`ModelError::Setting`] if a name means no field or several, or the value is not allowed there.
    pub fn with(self, settings: &[(String, String)]) -> Result<Self, ModelError> {
        let one = |(name, value): &(String, String)| format!("{name}={value}");
        let changed =
            settings.iter().try_fold(self, |model, (name, value)| model.with_one(name, value))?;
        // Together: one of them alone may not be possible.
        match check::faults(&changed, &Places::all()).first() {
            Some((path, sentence)) if !settings.is_empty() => Err(ModelError::Setting {
                setting: settings.iter().map(one).collect::<Vec<_>>().join(" "),
                sentence: format!("`{path}`: {sentence}"),
            }),
            _ => Ok(changed),
        }
    }

    fn with_one(self, name: &str, value: &str) -> Result<Self, ModelError> {
        let refused =
            |sentence: String| ModelError::Setting { setting: format!("{name}={value}"), sentence };
        let unreadable = |error: serde_json::Error| refused(error.to_string());
        let mut fields = serde_json::to_value(&self).map_err(unreadable)?;
        let mut paths = Vec::new();
        leaves(&fields, String::new(), &mut paths);
        let found: Vec<&String> = paths.iter().filter(|path| is_meant(path, name)).collect();
        let mut kinds: Vec<String> = found.iter().map(|path| short(path)).collect();
        kinds.sort();
        kinds.dedup();
        match kinds.as_slice() {
            [] => {
                let known: BTreeSet<String> = paths.iter().map(|path| short(path)).collect();
                let expected = nearest_listed(name, known);
                return Err(refused(format!("expected a field, as {expected}, found \"{name}\"")));
            }
            [_] => {}
            _ if name.split('.').any(|part| part == "*") => {}
            several => {
                let shown = &several[..several.len().min(SHOWN)];
                let sentence = format!("expected one field, found several: {}", shown.join(", "));
                return Err(refused(sentence));
            }
        }
        for path in found {
            if let Some(field) = fields.pointer_mut(path) {
                let new = read(value);
                if !is_of_kind(&new, field) {
                    let sentence = format!("expected a value such as {field}, found {new}");
                    return Err(refused(sentence));
                }
                *field = new;
            }
            // A cap belongs to the policy that it stands beside.
            if let Some(sharing) = path.strip_suffix("/policy")
                && value != Policy::Shared.name()
                && let Some(cap) = fields.pointer_mut(&format!("{sharing}/cap"))
            {
                *cap = Value::Null;
            }
        }
        let changed: Self =
            Tree::of(&fields).read().map_err(|error| refused(error.sentence().to_owned()))?;
        Ok(Self { name: self.name, folder: self.folder, base: self.base, ..changed })
    }
}

/// The value that a text means.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// True if a value may stand where another one stood, as far as their types show; the type of an absent value is not known.
fn is_of_kind(new: &Value, old: &Value) -> bool {
    let is_absent = new.is_null() || old.is_null();
    is_absent || std::mem::discriminant(new) == std::mem::discriminant(old)
}

/// The pointers to all plain values.
fn leaves(value: &Value, path: String, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, format!("{path}/{name}"), all);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (index, value) in values.iter().enumerate() {
                leaves(value, format!("{path}/{index}"), all);
            }
        }
        _ => all.push(path),
    }
}

/// The names on the way to a field that are not left out.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let is_said = |name: &&str| *name != "sharing" && name.parse::<u32>().is_err();
    path.split('/').filter(|name| !name.is_empty()).filter(is_said)
}

/// Short name of a field.
fn short(path: &str) -> String {
    names(path).collect::<Vec<_>>().join(".")
}

/// True if a setting of this name is of this field, of which it may leave out the beginning.
pub fn is_setting_of(name: &str, path: &str) -> bool {
    is_meant(&path.replace('.', "/"), name)
}

/// True if a name is the end of a field's path.
fn is_meant(path: &str, name: &str) -> bool {
    let names: Vec<&str> = names(path).collect();
    let mut names = names.iter().rev();
    name.rsplit('.').all(|wanted| names.next().is_some_and(|it| wanted == "*" || *it == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, find};

    fn with(settings: &[(&str, &str)]) -> Result<CoreModel, ModelError> {
        let owned = settings.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        find("zen4").unwrap().with(&owned.collect::<Vec<_>>())
    }

    #[test]
    fn a_name_may_leave_out_the_beginning_of_a_field() {
        let is_it = |name| is_setting_of(name, "hierarchy.main.nanoseconds");
        assert!(
            is_it("nanoseconds")
                && is_it("main.nanoseconds")
                && is_it("hierarchy.main.nanoseconds")
        );
        assert!(!is_it("main") && !is_it("main.gigabytes_a_second") && !is_it("other.nanoseconds"));
    }

    #[test]
    fn a_value_of_another_type_is_reported_beside_one_that_is_possible() {
        for (name, value, sentence) in [
            ("indirect.histories", "9", "expected a value such as [4,8,16,32], found 9"),
            ("rob.entries", "many", "expected a value such as 320, found \"many\""),
            ("rob.policy", "3", "expected a value such as \"partitioned\", found 3"),
        ] {
            let error = with(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(sentence), "{error}");
        }
    }

    #[test]
    fn a_field_is_found_by_the_end_of_its_path() {
        let model = with(&[("rob.policy", "shared"), ("rob.cap", "200"), ("l1d.kib", "48")]);
        let error = model.unwrap_err().to_string();
        assert!(error.contains("l1d.kib=48"), "48 KiB of eight ways is no power of two: {error}");
        let model = with(&[("rob.policy", "shared"), ("rob.cap", "200")]).unwrap();
        assert_eq!(model.back.rob.sharing.policy, Policy::Shared);
        assert_eq!(model.back.rob.sharing.cap, Some(200));
        assert_eq!(model.name, "zen4");
    }

    #[test]
    fn settings_may_be_possible_only_together() {
        let [size, ways] = [("l1d.kib", "48"), ("l1d.ways", "12")];
        for one in [size, ways] {
            let error = with(&[one]).unwrap_err().to_string();
            assert!(error.contains(one.0) && error.contains("l1d"), "{error}");
        }
        for order in [[size, ways], [ways, size]] {
            assert_eq!(with(&order).unwrap().memory.l1d.kib, 48);
        }
    }

    #[test]
    fn all_schedulers_are_meant_and_any_name_with_an_asterisk() {
        let model = with(&[("schedulers.policy", "replicated")]).unwrap();
        let mut policies = model.back.schedulers.iter().map(|it| it.sharing.policy);
        assert!(policies.all(|it| it == Policy::Replicated));
        let small = find("little-smt4").unwrap();
        assert!(small.back.schedulers.iter().any(|it| it.sharing.cap.is_some()));
        let own = small.with(&[("schedulers.policy".to_owned(), "replicated".to_owned())]).unwrap();
        assert!(own.back.schedulers.iter().all(|it| it.sharing.cap.is_none()), "it has gone");
        let model = with(&[("*.policy", "replicated")]).unwrap();
        assert!(model.sharings().iter().all(|(_, it)| it.policy == Policy::Replicated));
    }

    #[test]
    fn what_is_wrong_is_reported() {
        for (name, value, expected) in [
            ("robb.policy", "shared", "rob.policy"),
            ("policy", "shared", "several"),
            ("rob.policy", "mine", "unknown variant `mine`"),
            ("rob.entries", "0", "expected a number from 1"),
        ] {
            let error = with(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(name), "{error}");
        }
    }
}
