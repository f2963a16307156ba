//! A yield that was measured on hardware, beside what was predicted of it.
//!
//! `corun predict --record` and `corun-accuracy --record-yields` write such documents, and docs/accuracy.md is made
//! from them. They are meant to be given away: a test holds the set of their fields, none of which is personal.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::beside::SiblingEvidence;
use crate::json::Document;
use crate::observation::Estimate;
use crate::placement::Placement;

/// Document that `corun predict --record` writes: a yield that was measured on siblings, and the core that they are of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct YieldRecord {
    /// Always `corun-yield`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// The core.
    pub core: RecordedCore,
    /// Evidence that the logical CPUs are siblings.
    pub siblings: SiblingEvidence,
    /// The program.
    pub program: RecordedProgram,
    /// The program on the other logical CPU; absent for copies of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<RecordedProgram>,
    /// The placement, whose work is compared with that of `spread`.
    pub placement: Placement,
    /// Workers on the core.
    pub threads: u32,
    /// The measured SMT yield.
    pub measured: Estimate,
    /// The predicted one; absent where it was measured alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Estimate>,
    /// The core model of the prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A core as its vendor numbers it, and what runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedCore {
    /// The vendor's twelve letters, such as `AuthenticAMD`.
    pub vendor: String,
    /// The vendor's number of the family.
    pub family: u32,
    /// The model within the family.
    pub model: u32,
    /// The stepping of the model.
    pub stepping: u32,
    /// The revision of the microcode; absent where the kernel does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// The version of the kernel, without what its builder added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Logical CPUs of the core.
    pub smt_width: u32,
    /// True if it is the core of a virtual machine.
    pub is_virtual: bool,
}

/// A program without its folder and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RecordedProgram {
    /// The name of its file, or of the built-in workload.
    pub name: String,
    /// True if it is a built-in workload.
    pub is_built_in: bool,
    /// The parameters of a built-in workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

impl RecordedProgram {
    /// A program by the first word of its command line, whose folder is left out, as are all other words.
    pub fn of_command(first_word: &str) -> Self {
        let name = first_word.rsplit('/').next().unwrap_or_default().to_owned();
        Self { name, is_built_in: false, parameters: BTreeMap::new() }
    }

    /// A built-in workload.
    pub fn of_workload(name: &str, parameters: &BTreeMap<String, String>) -> Self {
        Self { name: name.to_owned(), is_built_in: true, parameters: parameters.clone() }
    }
}

impl RecordedCore {
    /// The leading numbers of a kernel's release, `6.8.0` of `6.8.0-45-generic`: the rest may name who built it.
    pub fn kernel_version(release: &str) -> Option<String> {
        let is_number = |character: char| character.is_ascii_digit() || character == '.';
        let end = release.find(|character| !is_number(character)).unwrap_or(release.len());
        let version = release[..end].trim_matches('.');
        (!version.is_empty()).then(|| version.to_owned())
    }
}

impl YieldRecord {
    /// The name of its file: what was measured on which core, and a number that follows from all that it says, so that no
    /// record replaces another one.
    pub fn file_name(&self) -> String {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._".contains(it);
        let plain = |text: &str| -> String {
            text.chars().map(|it| if is_plain(it) { it } else { '-' }).collect()
        };
        let mut hasher = DefaultHasher::new();
        self.to_json().hash(&mut hasher);
        let programs = match &self.beside {
            Some(beside) => format!("{}-{}", plain(&self.program.name), plain(&beside.name)),
            None => plain(&self.program.name),
        };
        let placement = plain(&self.placement.to_string());
        let RecordedCore { family, model, .. } = self.core;
        format!("{programs}-{placement}-{family}-{model}-{:016x}.json", hasher.finish())
    }
}

impl Document for YieldRecord {
    const FORMAT: &str = "corun-yield";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn record() -> YieldRecord {
        let estimate = Estimate { value: 1.3, low: 1.25, high: 1.35, level: 0.95, blocks: 9 };
        let parameters = [("size".to_owned(), "4K".to_owned())].into();
        YieldRecord {
            format: YieldRecord::FORMAT.to_owned(),
            version: YieldRecord::VERSION,
            corun_version: "1.0.0".to_owned(),
            core: RecordedCore {
                vendor: "AuthenticAMD".to_owned(),
                family: 25,
                model: 97,
                stepping: 2,
                microcode: Some("0xa601206".to_owned()),
                kernel: RecordedCore::kernel_version("6.8.0-45-somebody"),
                smt_width: 2,
                is_virtual: false,
            },
            siblings: SiblingEvidence::Topology,
            program: RecordedProgram::of_command("/home/somebody/solver"),
            beside: Some(RecordedProgram::of_workload("chase", &parameters)),
            placement: Placement::Full(None),
            threads: 2,
            measured: estimate,
            predicted: Some(estimate),
            model: Some("zen4".to_owned()),
        }
    }

    /// Every key of a document, nested ones with the name of what they are in.
    fn keys(of: &Value, within: &str, all: &mut BTreeSet<String>) {
        let Some(fields) = of.as_object() else { return };
        for (name, value) in fields {
            let name = format!("{within}{name}");
            keys(value, &format!("{name}."), all);
            all.insert(name);
        }
    }

    #[test]
    fn a_record_has_these_fields_and_nothing_personal() {
        let text = record().to_json();
        let mut all = BTreeSet::new();
        keys(&serde_json::from_str(&text).unwrap(), "", &mut all);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        insta::assert_snapshot!(all.join("\n"), @"
        beside
        beside.is_built_in
        beside.name
        beside.parameters
        beside.parameters.size
        core
        core.family
        core.is_virtual
        core.kernel
        core.microcode
        core.model
        core.smt_width
        core.stepping
        core.vendor
        corun_version
        format
        measured
        measured.blocks
        measured.high
        measured.level
        measured.low
        measured.value
        model
        placement
        predicted
        predicted.blocks
        predicted.high
        predicted.level
        predicted.low
        predicted.value
        program
        program.is_built_in
        program.name
        siblings
        threads
        version
        ");
        assert!(!text.contains("somebody"), "{text}");
        assert_eq!(YieldRecord::from_json(&text).unwrap(), record());
    }

    #[test]
    fn the_name_of_a_file_follows_from_what_it_holds() {
        let name = record().file_name();
        assert!(name.starts_with("solver-chase-full-25-97-"), "{name}");
        assert_eq!(name, record().file_name());
        let program = RecordedProgram::of_command("/x/a b\u{1b}/..c d");
        let other = YieldRecord { program, beside: None, ..record() }.file_name();
        assert!(other.starts_with("..c-d-full-25-97-"), "{other}");
    }

    #[test]
    fn of_a_kernel_its_version_is_kept() {
        let version = |release| RecordedCore::kernel_version(release);
        assert_eq!(version("6.8.0-45-generic").as_deref(), Some("6.8.0"));
        assert_eq!(version("6.12.1").as_deref(), Some("6.12.1"));
        assert_eq!(version("5.10.0.-x").as_deref(), Some("5.10.0"));
        assert_eq!(version("-custom"), None);
    }
}
