//! Which workloads are meant: named ones, those with a tag, or all.

use std::collections::BTreeSet;

use clap::Args;
use corun_workload::{Tag, Workload, WorkloadError};

#[derive(Debug, Args)]
pub struct TagArguments {
    /// Take the workloads that exercise this (repeatable; `corun bench list` shows the tags)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

impl TagArguments {
    /// The workloads with one of the tags, or all where no tag is given.
    ///
    /// # Errors
    /// If no workload could have such a tag.
    pub fn workloads(&self) -> Result<Vec<&'static dyn Workload>, WorkloadError> {
        let tags: Vec<Tag> =
            self.tags.iter().map(|tag| Tag::find(tag)).collect::<Result<_, _>>()?;
        let is_meant = |workload: &&'static dyn Workload| {
            tags.is_empty() || workload.about().tags.iter().any(|tag| tags.contains(tag))
        };
        Ok(corun_workload::all().filter(is_meant).collect())
    }

    /// The named workloads, then those with one of the tags; all where nothing is given.
    ///
    /// # Errors
    /// If there is no such workload or tag.
    pub fn workloads_and(
        &self,
        names: &[String],
    ) -> Result<Vec<&'static dyn Workload>, WorkloadError> {
        let mut meant: Vec<&'static dyn Workload> =
            names.iter().map(|name| corun_workload::find(name)).collect::<Result<_, _>>()?;
        if names.is_empty() || !self.tags.is_empty() {
            meant.extend(self.workloads()?);
        }
        let mut seen = BTreeSet::new();
        meant.retain(|workload| seen.insert(workload.about().name));
        Ok(meant)
    }
}
