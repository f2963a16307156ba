//! A check, and what it can answer.
//!
//! A check that lacks a text or a number ends with [`CheckUnavailable`] by way of `?`, so that none
//! passes silently because of what it could not read.

use super::report::{Advice, Diagnosis, Evidence, Severity};
use super::system::System;

/// One thing that is checked.
pub(super) struct Check {
    /// Name in reports.
    pub(super) name: &'static str,
    /// Why it matters for a comparison of placements: one sentence.
    pub(super) why: &'static str,
    /// Checks it.
    pub(super) examine: fn(&mut System<'_>) -> Result<Answer, CheckUnavailable>,
}

/// Answer of a check.
#[derive(Debug)]
pub(super) struct Answer {
    severity: Severity,
    sentence: String,
    evidence: Vec<Evidence>,
    advice: Option<Advice>,
}

/// Why a check could not be made.
#[derive(Debug)]
pub(super) struct CheckUnavailable {
    pub(super) sentence: String,
    pub(super) evidence: Vec<Evidence>,
}

impl Check {
    pub(super) fn diagnose(&self, system: &mut System<'_>) -> Diagnosis {
        let answer = (self.examine)(system).unwrap_or_else(Answer::from);
        let Answer { severity, sentence, evidence, advice } = answer;
        let (check, why) = (self.name.to_owned(), self.why.to_owned());
        Diagnosis { check, severity, sentence, why, evidence, advice }
    }
}

impl Answer {
    pub(super) fn new(severity: Severity, sentence: impl Into<String>) -> Self {
        Self { severity, sentence: sentence.into(), evidence: Vec::new(), advice: None }
    }

    pub(super) fn spoils(sentence: impl Into<String>) -> Self {
        Self::new(Severity::Spoils, sentence)
    }

    pub(super) fn disturbs(sentence: impl Into<String>) -> Self {
        Self::new(Severity::Disturbs, sentence)
    }

    pub(super) fn note(sentence: impl Into<String>) -> Self {
        Self::new(Severity::Note, sentence)
    }

    pub(super) fn fine(sentence: impl Into<String>) -> Self {
        Self::new(Severity::Fine, sentence)
    }

    /// Adds what the kernel said.
    pub(super) fn seen(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Adds what to do.
    pub(super) fn advise(
        mut self,
        sentence: impl Into<String>,
        commands: impl IntoIterator<Item = String>,
    ) -> Self {
        let commands = commands.into_iter().collect();
        self.advice = Some(Advice { sentence: sentence.into(), commands });
        self
    }
}

impl CheckUnavailable {
    pub(super) fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), evidence: Vec::new() }
    }
}

impl From<CheckUnavailable> for Answer {
    fn from(CheckUnavailable { sentence, evidence }: CheckUnavailable) -> Self {
        Self { severity: Severity::Unknown, sentence, evidence, advice: None }
    }
}
