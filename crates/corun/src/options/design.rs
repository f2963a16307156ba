//! The design of a measurement or simulation: its time, cores, repetitions and seed.

use std::time::{Duration, SystemTime};

use clap::Args;
use corun_machine::{Affinity, CpuSet};

use crate::problem::Problem;
use crate::values;

/// Defaults of `--max-time`, by minutes.
const MINUTES: [&str; 6] = ["", "1m", "2m", "3m", "4m", "5m"];
/// Defaults of `--blocks`.
const COUNTS: [&str; 6] = ["0", "1", "2", "3", "4", "5"];

/// The wording of `--max-time`.
const MAX_TIME: &str = "The time allowed, such as 30s or 5m";
/// The wording of `--cores`.
pub(crate) const CORES: &str =
    "Use C cores (of each type) [default: all that this process may use]";
/// The wording of `--warmup`.
pub(crate) const WARMUP: &str = "Run every arm this often before the first block, not counted";
/// The wording of `--timeout`.
pub(crate) const TIMEOUT: &str = "Give up a program or workload when one run of it takes longer";
/// The wording of `--sample-time`.
pub(crate) const SAMPLE_TIME: &str = "How long one run of a built-in kernel should take";
/// The wording of `--seed`, where no seed means a fresh one.
pub(crate) const SEED: &str = "The seed of everything random [default: a fresh one, recorded]";
/// The wording of `--seed`, where the same seed is the default.
pub(crate) const FIXED_SEED: &str = "The seed of everything random";

/// `--max-time`, so many minutes by default.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MaxTime<const DEFAULT: usize> {
    #[arg(long, value_name = "TIME", default_value = MINUTES[DEFAULT], help = MAX_TIME)]
    #[arg(value_parser = values::duration)]
    pub(crate) max_time: Duration,
}

/// The design of a measurement in blocks, of so many minutes by default.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DesignArguments<const MAX_MINUTES: usize> {
    #[arg(long, value_name = "TIME", default_value = MINUTES[MAX_MINUTES], help = MAX_TIME)]
    #[arg(value_parser = values::duration)]
    pub(crate) max_time: Duration,
    #[arg(long, value_name = "N", default_value_t = 1, help = WARMUP)]
    pub(crate) warmup: u32,
    #[arg(long, value_name = "N", help = SEED)]
    pub(crate) seed: Option<u64>,
    #[arg(long, value_name = "TIME", default_value = "200ms", help = SAMPLE_TIME)]
    #[arg(value_parser = values::duration, conflicts_with = "command")]
    pub(crate) sample_time: Duration,
}

/// `--seed` of what has no other such option.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SeedArguments {
    #[arg(long, value_name = "N", help = SEED)]
    pub(crate) seed: Option<u64>,
}

impl SeedArguments {
    /// The seed asked for, or a fresh one.
    pub(crate) fn or_fresh(self) -> u64 {
        self.seed.unwrap_or_else(|| corun_stats::fresh_seed(SystemTime::now()))
    }
}

/// `--seed` of a simulation, which gives the same answer each time unless another seed is asked for.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FixedSeedArguments {
    #[arg(long, value_name = "N", default_value_t = 1, help = FIXED_SEED)]
    pub(crate) seed: u64,
}

/// `--blocks` of a measurement that otherwise decides itself when it has enough.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BlockArguments {
    /// Run this many blocks (each arm twice a block) [default: as many as interim analyses need]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) blocks: Option<u32>,
}

/// `--blocks` of a measurement of many things, so many of each by default.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BlockCount<const DEFAULT: usize> {
    /// Run this many blocks (each arm twice a block)
    #[arg(long, value_name = "N", default_value = COUNTS[DEFAULT])]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) blocks: u32,
}

/// The cores that may be used.
#[derive(Debug, Clone, Args)]
pub(crate) struct CoreArguments {
    #[arg(long, value_name = "C", help = CORES)]
    pub(crate) cores: Option<u32>,
    /// Use cores of this type only, on a machine that has several
    #[arg(long, value_name = "TYPE")]
    pub(crate) core_type: Option<String>,
    /// Use these logical CPUs only, as taskset does: 1,4 or 0-3
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    cpus: Option<CpuSet>,
}

/// The logical CPUs that may be used.
#[derive(Debug, Clone, Args)]
pub(crate) struct CpuArguments {
    /// Use these logical CPUs only, as taskset does: 1,4 or 0-3
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    cpus: Option<CpuSet>,
}

impl CoreArguments {
    /// Keeps this process, and all that it starts, on the CPUs that were named.
    ///
    /// # Errors
    /// If it may not use one of them.
    pub(crate) fn confine(&self) -> Result<(), Problem> {
        CpuArguments { cpus: self.cpus.clone() }.confine()
    }
}

impl CpuArguments {
    /// Keeps this process, and all that it starts, on the CPUs that were named.
    ///
    /// # Errors
    /// If it may not use one of them.
    pub(crate) fn confine(&self) -> Result<(), Problem> {
        let Some(wanted) = &self.cpus else { return Ok(()) };
        let refused = |found: String| {
            Problem::usage(
                format!("--cpus: expected logical CPUs that this process may use, found {found}"),
                "`corun topo` lists them.",
            )
        };
        let allowed = Affinity::of(0).map_err(|error| refused(error.to_string()))?.cpus();
        if let Some(other) = wanted.iter().find(|cpu| !allowed.contains(*cpu)) {
            return Err(refused(format!("{other}, which is none of {allowed}")));
        }
        match Affinity::new(wanted).apply_and_verify(0) {
            Ok(kept) if kept == *wanted => Ok(()),
            Ok(kept) => Err(refused(format!("that the kernel allows {kept} alone"))),
            Err(error) => Err(refused(format!("{wanted}: {error}"))),
        }
    }
}

/// `--practical`: the smallest effect that matters.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PracticalArguments {
    /// Call an effect practical from this size on
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    pub(crate) practical: f64,
}
