//! A run: a set of observations with everything they rest on.
//!
//! This is what `corun measure --json` writes. It carries a format and a version; the reader of
//! version n reads all versions below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Document;
use crate::observation::{Estimate, Metric, Observation};
use crate::placement::{Arm, PlacementNotPossible};
use crate::sample::Sample;

/// One experiment: what was run where and how, what was seen, and what follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Always `corun-run`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The version of corun that wrote it.
    pub corun_version: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Duration of the experiment, in seconds.
    pub elapsed_s: f64,
    /// Why it ended.
    pub ending: Ending,
    /// The work.
    pub workload: Workload,
    /// The machine that it was run on.
    pub machine: MachineSummary,
    /// Design of the experiment.
    pub design: Design,
    /// The arms, in table order.
    pub arms: Vec<Arm>,
    /// Placements that were not possible, with reasons.
    pub not_possible: Vec<PlacementNotPossible>,
    /// Observations that follow from the samples.
    pub observations: Vec<Observation>,
    /// The verdicts, the headline first.
    pub verdicts: Vec<Verdict>,
    /// Limits of trust, a sentence each.
    pub caveats: Vec<Caveat>,
    /// Every sample of every finished block.
    #[serde(deserialize_with = "crate::whole_list::read")]
    pub samples: Vec<Sample>,
}

impl Document for Run {
    const FORMAT: &str = "corun-run";
}

impl Ending {
    /// The end of what did all that was planned.
    pub fn completed() -> Self {
        Self { reason: EndReason::Completed, sentence: "completed".to_owned() }
    }

    /// The end by the user or the system.
    pub fn interrupted() -> Self {
        Self { reason: EndReason::Interrupted, sentence: "interrupted".to_owned() }
    }

    /// The end because the time allowed was used up.
    pub fn time_up(max_time: std::time::Duration) -> Self {
        let sentence = format!("the time allowed ({max_time:?}) was used up");
        Self { reason: EndReason::TimeUp, sentence }
    }

    /// The end of what could be interrupted and did all that was planned otherwise.
    pub fn of(is_interrupted: bool) -> Self {
        if is_interrupted { Self::interrupted() } else { Self::completed() }
    }

    /// True if the user or the system ended it.
    pub fn is_interrupted(&self) -> bool {
        self.reason == EndReason::Interrupted
    }
}

impl Run {
    /// The observation of `metric` for `arm`, whatever it is compared with.
    pub fn observation(&self, metric: crate::Metric, arm: &str) -> Option<&Observation> {
        self.observations.iter().find(|seen| seen.metric == metric && seen.arm == arm)
    }

    /// The arm with this id.
    pub fn arm(&self, id: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.id == id)
    }

    /// True if the experiment was cut short by the user, the system or a failure, or by a limit on time that
    /// left too few blocks for an answer.
    pub fn is_partial(&self) -> bool {
        matches!(self.ending.reason, EndReason::Interrupted | EndReason::Failed)
            || self.is_without_interval()
    }

    /// True if there are fewer blocks than an interval needs, so that no figure is given.
    pub fn is_without_interval(&self) -> bool {
        self.design.blocks < 2
    }
}

/// The caveats that all of these runs have: those of the machine and of the way to measure.
pub fn common_caveats(runs: &[Run]) -> Vec<Caveat> {
    let Some((first, rest)) = runs.split_first() else { return Vec::new() };
    let is_common = |caveat: &&Caveat| rest.iter().all(|run| run.caveats.contains(caveat));
    first.caveats.iter().filter(is_common).cloned().collect()
}

/// Why an experiment ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ending {
    /// The kind of reason.
    pub reason: EndReason,
    /// The reason as one sentence.
    pub sentence: String,
}

/// The kinds of reason to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The interval was as narrow as asked at an interim analysis.
    TargetReached,
    /// All that was planned was done.
    Completed,
    /// The planned number of blocks was done.
    BlocksDone,
    /// The time allowed was used up, or is too short for the fewest blocks; finished blocks are kept.
    TimeUp,
    /// The user or the system interrupted; finished blocks are kept.
    Interrupted,
    /// An arm failed; finished blocks are kept.
    Failed,
}

/// The work that was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// The built-in workload's name, or the command's file name.
    pub name: String,
    /// The command as given; empty for a built-in kernel.
    pub command: Vec<String>,
    /// The parameters of a built-in workload.
    pub parameters: BTreeMap<String, String>,
    /// Kind of the workers.
    pub mode: Mode,
    /// Unit that throughput counts: `runs`, a workload's operation, or what the command reported.
    pub operation: String,
    /// Operations that one worker does in one run.
    pub operations: f64,
    /// True if copies were restarted until all had finished a counted window.
    pub steady: bool,
    /// Load generator of the command, where that is a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<ServiceLoad>,
    /// The program's own file when the run began; absent for a built-in kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<FileContent>,
    /// Standard input of the program; absent where that was empty or a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<FileContent>,
    /// The command that was run before each sample, outside of its time; empty without one, absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Vec<String>>,
}

impl Workload {
    /// Unit of an observation of this work, as people read it: a rate counts the work's own operations, such as `runs/s`.
    pub fn unit_of(&self, seen: &Observation) -> String {
        match seen.metric {
            Metric::Throughput if seen.unit == OPERATIONS_A_SECOND => {
                format!("{}/s", self.operation)
            }
            _ => seen.unit.clone(),
        }
    }

    /// Title of the work: a command as a shell takes it, or a workload's name.
    pub fn title(&self) -> String {
        match self.command.is_empty() {
            true => self.name.clone(),
            false => shell_words::join(&self.command),
        }
    }

    /// Label of the work on one line: a command, or a workload with its parameters.
    pub fn label(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
        self.title() + &parameters.collect::<String>()
    }
}

/// Unit of a throughput in documents, whatever the operations are.
const OPERATIONS_A_SECOND: &str = "operations/s";

/// Length and digest of a file: enough to notice that it was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContent {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of its first 64 MiB, in hexadecimal digits.
    pub sha256: String,
}

/// The load generator of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLoad {
    /// Command of the load generator, with the arguments that corun added.
    pub command: Vec<String>,
    /// The command that asked before it in each sample and was not counted; empty without one.
    pub warmup: Vec<String>,
    /// Logical CPUs of the load generator, which the service does not use; empty where it had none of its own.
    pub cpus: Vec<u32>,
}

/// Kind of the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A process copy for each worker.
    Copies,
    /// One process with a thread for each worker, doing a fixed total: X = 1/T.
    WorkersTotal,
    /// One process with a thread for each worker, each doing its own share: X = N/T.
    WorkersPerWorker,
    /// A server, all of whose processes and threads share the arm's CPUs, asked by a load generator on
    /// other CPUs: X is what the generator reports.
    Service,
}

/// Machine of the experiment, in the few facts a table needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSummary {
    /// The host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The CPU model's name.
    pub cpu_model: Option<String>,
    /// The hypervisor's name, in a virtual machine.
    pub hypervisor: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Online logical CPUs.
    pub online_cpus: u32,
    /// Logical CPUs that this process was allowed to use.
    pub allowed_cpus: u32,
    /// Cores with at least one online CPU that this process was allowed to use.
    pub cores: u32,
    /// The largest number of online siblings of a core.
    pub smt_width: u32,
    /// The sizes of a cache of each level, in bytes, by `L1d`, `L1i`, `L2`, ...: several on a hybrid machine. Empty where the
    /// kernel reports none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, Vec<u64>>,
    /// The kernel's `smt/control`.
    pub smt_control: Option<String>,
    /// The kernel's `smt/active`.
    pub smt_active: Option<bool>,
    /// Frequency governors in use.
    pub governors: Vec<String>,
    /// The drivers that set the clock, for instance `intel_pstate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frequency_drivers: Vec<String>,
    /// True if clocks above the nominal one are enabled; absent where the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// The revision of the microcode; absent where the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// The kernel's report on each vulnerability of the processor; empty where it says nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vulnerabilities: BTreeMap<String, String>,
}

impl MachineSummary {
    /// Hardware, firmware and kernel as names with values, absent where they are not known: what may differ between
    /// machines that look alike. The host's name is not among them.
    pub fn settings(&self) -> Vec<(String, Option<String>)> {
        let text = |texts: &[String]| (!texts.is_empty()).then(|| texts.join(", "));
        let word = |is_on| if is_on { "on" } else { "off" }.to_owned();
        let mitigations = self.vulnerabilities.iter();
        let mitigations =
            mitigations.map(|(name, state)| (format!("mitigation of {name}"), Some(state.clone())));
        let first = [
            ("CPU", self.cpu_model.clone()),
            ("hypervisor", self.hypervisor.clone()),
            ("kernel", self.kernel.clone()),
            ("microcode", self.microcode.clone()),
        ];
        let last = [
            ("frequency driver", text(&self.frequency_drivers)),
            ("governor", text(&self.governors)),
            ("turbo", self.turbo.map(word)),
            ("SMT", self.smt_active.map(word)),
            ("SMT width", Some(self.smt_width.to_string())),
            ("cores", Some(self.cores.to_string())),
            ("online CPUs", Some(self.online_cpus.to_string())),
            ("allowed CPUs", Some(self.allowed_cpus.to_string())),
        ];
        let named = |(name, value): (&str, Option<String>)| (name.to_owned(), value);
        first.into_iter().map(named).chain(mitigations).chain(last.into_iter().map(named)).collect()
    }
}

/// Design of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// The seed of every random order.
    pub seed: u64,
    /// Finished blocks.
    pub blocks: u32,
    /// Runs of each arm before the first block, not counted.
    pub warmup: u32,
    /// C: cores chosen, by core type (`all` where there is one type).
    pub cores: BTreeMap<String, Vec<u32>>,
    /// The wanted half-width of the headline's interval, as a fraction.
    pub target: f64,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The planned interim analyses.
    pub interim_analyses: Vec<PlannedAnalysis>,
    /// The time allowed, in seconds.
    pub max_time_s: f64,
}

/// A planned interim analysis of the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedAnalysis {
    /// After this many blocks.
    pub blocks: u32,
    /// The confidence level used at this analysis, adjusted for there being several.
    pub level: f64,
}

/// A plain answer about one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The metric judged.
    pub metric: crate::Metric,
    /// The arm it is said of.
    pub arm: String,
    /// The arm it is compared with.
    pub against: String,
    /// The answer.
    pub answer: Answer,
    /// The answer as one plain sentence.
    pub sentence: String,
    /// The noise floor used, as a fraction.
    pub noise_floor: Option<f64>,
    /// The interval compared with the practical bound.
    pub equivalence: Option<Estimate>,
}

/// The answers a verdict can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The effect is a gain, larger than the practical bound and the noise floor.
    Helps,
    /// The effect is a loss, larger than the practical bound and the noise floor.
    Hurts,
    /// The effect is shown to lie inside the practical bound.
    NoPracticalEffect,
    /// The data do not decide.
    Inconclusive,
}

impl Answer {
    /// Every answer: helps, hurts, no practical effect, inconclusive.
    pub const ALL: [Self; 4] =
        [Self::Helps, Self::Hurts, Self::NoPracticalEffect, Self::Inconclusive];

    /// The answer in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Helps => "helps",
            Self::Hurts => "hurts",
            Self::NoPracticalEffect => "no practical effect",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Something that limits how far the result can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caveat {
    /// A short name for programs, for instance `different-clocks`.
    pub kind: String,
    /// Observation and its meaning, as one sentence.
    pub sentence: String,
}

impl Caveat {
    /// A caveat of this kind.
    pub fn new(kind: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { kind: kind.into(), sentence: sentence.into() }
    }

    /// True if the figures beside it are not of the work that was asked for: the program failed, or what was recorded of it
    /// is damaged. They are not compared.
    pub fn spoils(&self) -> bool {
        ["failed-runs", "damaged-trace"].contains(&self.kind.as_str())
    }

    /// True if it says that something beside the program may have made its figures what they are: it goes with them into
    /// every comparison.
    pub fn disturbs(&self) -> bool {
        const DISTURBING: [&str; 12] = [
            "different-clocks",
            "disturbed-samples",
            "drift",
            "exit-code",
            "foreign-load",
            "identical-arms-differ",
            "implausible",
            "load-saturated",
            "load-shares-cpus",
            "steal",
            "unknown-foreign-load",
            "unsteady-clock",
        ];
        DISTURBING.contains(&self.kind.as_str())
    }
}
