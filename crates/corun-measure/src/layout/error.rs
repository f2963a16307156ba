//! Why arms could not be laid out, and what the user can do about it.

use corun_machine::CpuSet;
use corun_record::{Actionable, Exit, Placement};

/// Why no layout could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// No CPU may be used.
    #[error("expected at least one online CPU that this process may use, found none")]
    NoCpu,
    /// Zero cores or copies were asked for.
    #[error("expected at least one worker, found 0")]
    NoWorker,
    /// More cores were asked for than there are.
    #[error(
        "expected at most {}, of {} each, found {wanted} asked for",
        count(*available, "core"),
        count(*width, "usable logical CPU")
    )]
    TooManyCores {
        /// Cores asked for.
        wanted: u32,
        /// Cores there are.
        available: u32,
        /// Usable logical CPUs on each of them.
        width: u32,
    },
    /// No core is of the wanted type.
    #[error("expected one of the core types {known}, found \"{wanted}\"")]
    UnknownCoreType {
        /// The type asked for.
        wanted: String,
        /// The types of this machine.
        known: String,
    },
    /// A listed logical CPU that workers may not use.
    #[error(
        "--arm {name}: expected logical CPUs that workers may use, found {cpu}, which is none of {usable}"
    )]
    NotUsable {
        /// The arm.
        name: String,
        /// The logical CPU.
        cpu: u32,
        /// Those that workers may use.
        usable: CpuSet,
    },
    /// No arm can run with SMT off.
    #[error(
        "expected an arm that can run with SMT off too (spread, stacked or free on logical CPUs that stay), found none"
    )]
    NothingWithSmtOff,
    /// A placement that was asked for by name is not possible.
    #[error("the placement {placement} is not possible here: {reason}")]
    Impossible {
        /// The placement.
        placement: Placement,
        /// Why not.
        reason: String,
    },
}

impl LayoutError {
    /// Error that no core is of this type, where those are of these.
    pub(crate) fn unknown_core_type(wanted: &str, known: &[Option<String>]) -> Self {
        let known: Vec<_> =
            known.iter().map(|known| known.as_deref().unwrap_or("(only one)")).collect();
        Self::UnknownCoreType { wanted: wanted.to_owned(), known: known.join(", ") }
    }
}

fn count(number: u32, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

impl Actionable for LayoutError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoWorker | Self::UnknownCoreType { .. } | Self::NotUsable { .. } => Exit::Usage,
            _ => Exit::NotPossible,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::NoCpu => "Run corun in a cpuset or with an affinity that has an online CPU.",
            Self::NothingWithSmtOff => {
                "Add one of them to --placement, or allow corun more logical CPUs."
            }
            Self::NoWorker => "Ask for one worker or more.",
            Self::TooManyCores { .. } => "Ask for fewer; `corun topo` shows the cores.",
            Self::UnknownCoreType { .. } => "Name one of these; `corun topo` shows them.",
            Self::NotUsable { .. } => "List others; `corun topo` shows them.",
            Self::Impossible { .. } => "Leave the placement out.",
        }
        .to_owned()
    }
}
