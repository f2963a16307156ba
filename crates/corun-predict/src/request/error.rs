//! Requests that are not valid, or that this machine cannot fulfil.

use corun_record::{Actionable, Exit, Placement, SiblingEvidence};

/// A request that cannot be predicted as it stands.
#[derive(Debug, thiserror::Error)]
pub enum PredictRequestError {
    /// There is no model of this host's core, nor of one near it.
    #[error("expected a core by AMD or Intel that there is a model for, found {found}")]
    NoModel {
        /// The host's core.
        found: String,
    },
    /// A placement that is not predicted.
    #[error("expected spread, full, full@K, packed or stacked, found {0}")]
    Placement(Placement),
    /// A core without siblings.
    #[error("expected a core with siblings, found {model} with one hardware thread")]
    OneThread {
        /// The model.
        model: String,
    },
    /// More or fewer threads than siblings of a core.
    #[error("expected {} on a core of {model}, found full@{found}", allowed(*most))]
    Threads {
        /// The model.
        model: String,
        /// Number of its hardware threads.
        most: u32,
        /// The threads asked for.
        found: u32,
    },
    /// Another program runs on one sibling, and nowhere else.
    #[error("expected the placements spread and full with --beside, found others")]
    BesideElsewhere,
    /// Threads of one program, and processes beside it.
    #[error("expected the threads of one program with {{workers}}, found --beside or stacked")]
    ThreadsBeside,
    /// A share for each worker of a command without workers.
    #[error("expected {{workers}} in the command with --work per-worker, found none")]
    NoWorkers,
    /// Siblings are predicted on a changed core, and no sibling is asked for.
    #[error("expected a placement with a busy sibling for --what-if, found none")]
    NothingToChange,
    /// Siblings are measured, and none is asked for.
    #[error("expected a placement with a busy sibling to measure, found none")]
    NothingToMeasure,
    /// This host's memory is only known from measuring.
    #[error("expected to measure where memory is to be this host's, found --no-measure")]
    MemoryNotMeasured,
    /// A record is of the model as it is.
    #[error("expected the model as it is for --record, found --set or --load-of-others")]
    RecordOfChanged,
    /// A record is of this host's own core.
    #[error("expected the model of this machine's own core for --record, found others")]
    RecordOfOther,
    /// A record is of this host's own core, which has no model.
    #[error("expected a model of this machine's own core for --record, found none")]
    NothingToRecord,
    /// There are no siblings to measure on.
    #[error("expected siblings to measure on, found none: {why}")]
    NoSiblings {
        /// Why, as the end of a sentence.
        why: String,
        /// Evidence for that.
        evidence: SiblingEvidence,
    },
    /// A field has no value in one of the cells.
    #[error("expected values of {field}, found an empty one in \"{found}\"")]
    EmptyValue {
        /// The field.
        field: String,
        /// The values as they were written.
        found: String,
    },
    /// A sweep has more cells than anybody waits for.
    #[error("expected at most {most} cells, found more")]
    Cells {
        /// The most that are allowed.
        most: usize,
    },
    /// A sweep measures nothing, and keeps no trace.
    #[error(
        "expected one prediction with --measure, --record, --keep or --memory host, found a sweep"
    )]
    MeasuredSweep,
    /// An earlier sweep is of other predictions.
    #[error("expected a sweep with the options {expected:?}, found one with {found:?}")]
    OtherOptions {
        /// The options of this one, as a line.
        expected: String,
        /// Those of the earlier one.
        found: String,
    },
    /// A pipe can be read once, and the call is looked for in a run before.
    #[error(
        "expected a program that can run twice for --from-call, found a pipe on standard input"
    )]
    PipeBeforeCall,
    /// A pipe can be read once.
    #[error("expected a program that can run several times, found a pipe on standard input")]
    Pipe,
}

fn allowed(most: u32) -> String {
    match most {
        2 => "full@2".to_owned(),
        _ => format!("full@2 to full@{most}"),
    }
}

impl Actionable for PredictRequestError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoModel { .. } | Self::NothingToRecord | Self::NoSiblings { .. } => {
                Exit::NotPossible
            }
            _ => Exit::Usage,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::NoModel { .. } => "Name the core with --model; `corun models list` has them.",
            Self::Placement(_) => "`corun simulate --placement` has the others, for a trace.",
            Self::OneThread { .. } => "Predict the program alone: --placement spread.",
            Self::Threads { .. } => {
                "`corun models show` says how many hardware threads a core has."
            }
            Self::BesideElsewhere | Self::NothingToMeasure => "Leave --placement out.",
            Self::ThreadsBeside => {
                "Write a number of threads into the command: copies of the program are predicted then."
            }
            Self::NoWorkers => "Write {workers} where the command takes its number of threads.",
            Self::NothingToChange => {
                "Leave --placement out, or change the core alone with --set."
            }
            Self::MemoryNotMeasured => "Leave one of the two out.",
            Self::RecordOfChanged => {
                "Leave one of the two out; --measure compares with a changed model, too."
            }
            Self::RecordOfOther => "Leave --model out; `corun models list` has all.",
            Self::NothingToRecord => {
                "`corun models list` has the cores; --measure compares with the model of another one."
            }
            Self::NoSiblings { evidence: SiblingEvidence::Topology, .. } => {
                "Run it on a machine with SMT on (`corun smt status` shows it), or leave --measure and --record out: a \
                 prediction needs no siblings."
            }
            Self::NoSiblings { evidence: SiblingEvidence::Probe, .. } => {
                "Run it on hardware with SMT on; or again later, since a hypervisor moves CPUs (`corun topo --probe` shows \
                 what they share); or leave --measure and --record out: a prediction needs no siblings."
            }
            Self::EmptyValue { field, .. } => {
                return format!("Write them with commas between: {field}=224,512");
            }
            Self::Cells { .. } => "Name fewer programs, models or values.",
            Self::MeasuredSweep => {
                "Leave these out, or `--model all`, several values, programs, --jobs, --csv, --resume and --slurm."
            }
            Self::OtherOptions { .. } => {
                "Resume it with the options that it was begun with, or leave --resume out."
            }
            Self::PipeBeforeCall => "Give the input as a file: corun predict ... < FILE",
            Self::Pipe => {
                "Give the input as a file: corun predict ... < FILE; or run it once only, with --whole --no-measure."
            }
        }
        .to_owned()
    }
}
