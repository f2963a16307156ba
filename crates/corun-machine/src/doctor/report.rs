//! The report of `corun doctor`, as its JSON has it.
//!
//! Every check of the registry leaves one diagnosis, also where nothing is wrong and where it could
//! not be made: what is absent from the report was not checked.

use std::path::Path;
use std::time::Duration;

use corun_record::{Body, Caveat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registry;
use super::smt_vulnerabilities::{self, SmtVulnerability};
use super::system::System;
use super::watch::{Pause, Sleep, Watch};
use crate::{Machine, MachineError, RootFiles, SystemFiles};

/// Report on what would spoil a measurement on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The CPU model's name.
    pub cpu_model: Option<String>,
    /// The number of logical CPUs.
    pub logical_cpus: usize,
    /// The number of cores of which the siblings are known.
    pub cores: usize,
    /// Duration of the watch, in seconds; `null` in a captured tree.
    pub watched_s: Option<f64>,
    /// One for each check, what matters most first.
    pub diagnoses: Vec<Diagnosis>,
    /// The kernel's report on SMT among the processor's vulnerabilities.
    pub smt_vulnerabilities: Vec<SmtVulnerability>,
}

/// Diagnosis of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The check's name.
    pub check: String,
    /// Severity.
    pub severity: Severity,
    /// Finding, in one or two sentences.
    pub sentence: String,
    /// Why it matters for a comparison of placements, in one sentence.
    pub why: String,
    /// Evidence from the kernel.
    pub evidence: Vec<Evidence>,
    /// Advice; `null` where there is nothing to do.
    pub advice: Option<Advice>,
}

/// Severity of a finding for a comparison of placements.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A comparison made now would be wrong, or cannot be made.
    Spoils,
    /// A comparison made now has wider intervals, or is off by a little.
    Disturbs,
    /// The check could not be made: it says what is missing.
    Unknown,
    /// No harm to a comparison, but a condition under which its figures hold.
    Note,
    /// Checked, and as it should be.
    Fine,
}

/// Text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The file, below the root; `cpu*` stands for the folders of several CPUs.
    pub file: String,
    /// Text, or the part that matters, or what was counted in it while the machine was watched.
    pub text: String,
}

/// Advice to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The advice, in one or two sentences.
    pub sentence: String,
    /// Commands that do it, as one types them; none where no command can.
    pub commands: Vec<String>,
}

impl Report {
    /// Examines the machine below `root`: `/` is this one, which is watched for the time `watched`;
    /// any other is a captured tree.
    ///
    /// # Errors
    /// If the root cannot be opened, or no CPU is found below it.
    pub fn read(root: &Path, watched: Duration) -> Result<Self, MachineError> {
        let mut files = RootFiles::open(root)
            .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
        let live = files.affinity().is_some();
        let mut sleep = Sleep(watched);
        let pause = live.then_some(&mut sleep as &mut dyn Pause);
        Self::from_files(&mut files, pause).ok_or_else(|| MachineError::none_below(root))
    }

    /// Examines the machine that `files` describe, and watches it for one pause unless it is a
    /// captured one; `None` if there is no CPU.
    pub fn from_files(files: &mut impl SystemFiles, pause: Option<&mut dyn Pause>) -> Option<Self> {
        let machine = Machine::from_files(files)?;
        let watch = pause.map(|pause| Watch::take(files, &machine, pause));
        let mut system = System::new(files, &machine, watch.as_ref());
        let mut diagnoses: Vec<Diagnosis> =
            registry::ALL.iter().map(|check| check.diagnose(&mut system)).collect();
        // Stable: among equals the order of the registry stays.
        diagnoses.sort_by_key(|diagnosis| diagnosis.severity);
        Some(Self {
            smt_vulnerabilities: smt_vulnerabilities::read(&mut system),
            diagnoses,
            watched_s: watch.map(|watch| watch.seconds),
            logical_cpus: machine.logical_cpus.len(),
            cores: machine.cores.len(),
            cpu_model: machine.cpu_model,
        })
    }

    /// Caveats of the report: what would spoil a comparison made now.
    pub fn caveats(&self) -> Vec<Caveat> {
        self.spoiling().map(|found| Caveat::new(&found.check, &found.sentence)).collect()
    }

    /// Diagnoses that would spoil a comparison made now; every run reports them of itself.
    pub fn spoiling(&self) -> impl Iterator<Item = &Diagnosis> {
        self.diagnoses.iter().filter(|found| found.severity == Severity::Spoils)
    }

    /// Diagnosis of the check of this name.
    pub fn diagnosis(&self, check: &str) -> Option<&Diagnosis> {
        self.diagnoses.iter().find(|diagnosis| diagnosis.check == check)
    }
}

impl Body for Report {
    const FORMAT: &str = "corun-doctor";
}

impl Severity {
    /// All of them, what matters most first.
    pub const ALL: [Self; 5] =
        [Self::Spoils, Self::Disturbs, Self::Unknown, Self::Note, Self::Fine];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Spoils => "spoils",
            Self::Disturbs => "disturbs",
            Self::Unknown => "unknown",
            Self::Note => "note",
            Self::Fine => "fine",
        }
    }
}
