//! Which workloads are meant: named ones, those with a tag, or all.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use corun_workload::{Suite, Tag, Workload, WorkloadError};

#[derive(Debug, Args)]
pub(super) struct TagArguments {
    /// Take the workloads that exercise this (repeatable; `corun bench list` shows the tags)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Choose from corun's own workloads, or from the rows of a published suite; workloads that are
    /// named are taken, too
    #[arg(long, value_name = "SUITE")]
    suite: Option<SuiteChoice>,
}

/// Which workloads to choose from.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum SuiteChoice {
    /// corun's own workloads
    Corun,
    /// LMbench: what the system's basic operations cost
    Lmbench,
    /// AIM9: one resource of the machine a test
    Aim9,
    /// corun's own workloads and every suite
    All,
}

impl TagArguments {
    /// The workloads of the suite, by default of `usual`: those with one of the tags, or all where no
    /// tag is given.
    ///
    /// # Errors
    /// If no workload could have such a tag, or none of the suite has it.
    pub(super) fn workloads(
        &self,
        usual: SuiteChoice,
    ) -> Result<Vec<&'static Workload>, WorkloadError> {
        let tags: Vec<Tag> =
            self.tags.iter().map(|tag| Tag::find(tag)).collect::<Result<_, _>>()?;
        let is_meant = |workload: &&'static Workload| {
            tags.is_empty() || workload.descriptor().tags.iter().any(|tag| tags.contains(tag))
        };
        let is_chosen = |workload: &&'static Workload| {
            let suite = workload.descriptor().row.map(|row| row.suite);
            match self.suite.unwrap_or(usual) {
                SuiteChoice::Corun => suite.is_none(),
                SuiteChoice::Lmbench => suite == Some(Suite::Lmbench),
                SuiteChoice::Aim9 => suite == Some(Suite::Aim9),
                SuiteChoice::All => true,
            }
        };
        let chosen: Vec<_> = corun_workload::all().filter(is_chosen).filter(is_meant).collect();
        if chosen.is_empty() {
            let suite = match self.suite.unwrap_or(usual) {
                SuiteChoice::Corun => "corun's own",
                SuiteChoice::Lmbench => "lmbench",
                SuiteChoice::Aim9 => "aim9",
                SuiteChoice::All => "all",
            };
            let tags = tags.into_iter().map(Tag::name).collect();
            return Err(WorkloadError::NoneTagged { suite, tags });
        }
        Ok(chosen)
    }

    /// The named workloads, then those of the suite or with one of the tags; all of corun's own where
    /// nothing is given.
    ///
    /// # Errors
    /// If there is no such workload or tag.
    pub(super) fn workloads_and(
        &self,
        names: &[String],
    ) -> Result<Vec<&'static Workload>, WorkloadError> {
        let mut meant: Vec<&'static Workload> =
            names.iter().map(|name| corun_workload::find(name)).collect::<Result<_, _>>()?;
        if names.is_empty() || !self.tags.is_empty() || self.suite.is_some() {
            let usual = if self.tags.is_empty() { SuiteChoice::Corun } else { SuiteChoice::All };
            meant.extend(self.workloads(usual)?);
        }
        let mut seen = BTreeSet::new();
        meant.retain(|workload| seen.insert(workload.descriptor().name));
        Ok(meant)
    }
}
