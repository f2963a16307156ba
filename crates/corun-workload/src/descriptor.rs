//! Descriptor of a workload, so that help, reports and the checking of parameters all read the same
//! words, and so that a new workload needs no change anywhere else.

use std::fmt;

use corun_record::{DefaultMode as Mode, DefaultPlacement};

use crate::quantity;

/// A workload's description of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Descriptor {
    /// The name a user types; unique in the registry.
    pub name: &'static str,
    /// Summary in one line below 80 characters.
    pub summary: &'static str,
    /// Resources that it exercises: with its default parameters first, then what its parameters can add.
    pub tags: &'static [Tag],
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Name of one operation, as a singular noun with its article.
    pub operation: &'static str,
    /// Unit of its rate: a short plural noun.
    pub counted: &'static str,
    /// Kind of its workers unless the user says otherwise.
    pub default_mode: Mode,
    /// Placement that shows what it is about.
    pub default_placement: DefaultPlacement,
    /// Parameters that make two workers share a cache line, if that is possible.
    pub line_sharing: Option<LineSharing>,
    /// The most that each of its workers writes below `$TMPDIR`, in bytes; 0 if it writes no files.
    pub disk_bytes: u64,
    /// Fewer operations of a worker than these are not like the work it stands for: the beginning of a
    /// run would decide. A caller may make a run shorter all the same.
    pub least_operations: u64,
    /// The row of a published suite that it is; `None` for a workload of corun's own.
    pub row: Option<Row>,
    /// Tallies of its kernels while they work, beside operations; at most [`MAX_TALLIES`].
    pub tallies: &'static [Tally],
    /// Name of a kernel's [`overhead`](crate::Kernel::overhead), which is subtracted from its time.
    pub subtracts: Option<&'static str>,
}

impl Descriptor {
    /// A workload of corun's own without parameters: a process a worker, its siblings idle and at work.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        summary: "",
        tags: &[],
        parameters: &[],
        operation: "",
        counted: "",
        default_mode: Mode::Copies,
        default_placement: DefaultPlacement::Siblings,
        line_sharing: None,
        disk_bytes: 0,
        least_operations: 1,
        row: None,
        tallies: &[],
        subtracts: None,
    };
}

/// The most tallies of a workload.
pub const MAX_TALLIES: usize = 4;

/// Another count of the same work, for instance bytes beside requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Unit that is counted: a short plural noun.
    pub counted: &'static str,
}

/// A published suite of small tests, of which corun has its own implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suite {
    /// LMbench (McVoy and Staelin 1996): what the system's basic operations cost.
    Lmbench,
    /// AIM Independent Resource Benchmark, Suite IX: one resource of the machine a test.
    Aim9,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Self; 2] = [Self::Lmbench, Self::Aim9];

    /// The suite as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lmbench => "lmbench",
            Self::Aim9 => "aim9",
        }
    }
}

/// A row of a suite's table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The suite.
    pub suite: Suite,
    /// Name in the table.
    pub name: &'static str,
    /// Meaning of its figure.
    pub figure: Figure,
    /// Operations that the original counts for each that it does: 1 where it counts rightly.
    pub credit: f64,
}

/// Form of a workload's speed in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Microseconds for one operation.
    Microseconds,
    /// Operations per second, divided by `per`.
    Rate {
        /// Operations of one unit, for instance 1000 where thousands are given.
        per: f64,
        /// The unit, for instance `1000 additions/s` or `KB/s`.
        unit: &'static str,
    },
}

impl Figure {
    /// The figure of so many operations per second.
    pub fn of_rate(self, per_second: f64) -> f64 {
        match self {
            Self::Microseconds => 1e6 / per_second,
            Self::Rate { per, .. } => per_second / per,
        }
    }

    /// The unit of the figure.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Rate { unit, .. } => unit,
        }
    }
}

/// The part of a machine that a workload keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// A chain of integer operations, each waiting for the one before.
    IntegerLatency,
    /// A chain of floating-point operations, each waiting for the one before.
    FloatLatency,
    /// Loads that wait for the value of a recent store.
    StoreForwarding,
    /// Stores, as many as the core takes.
    StoreThroughput,
    /// The size of caches and, beyond them, the way to memory.
    CacheCapacity,
    /// Cache lines that travel between cores.
    Coherence,
    /// An interpreter: much code, unpredictable branches, small allocations.
    Interpreter,
    /// Integer operations that do not wait for one another.
    IntegerThroughput,
    /// Vector instructions, most of them multiplications and additions of floating-point numbers.
    VectorThroughput,
    /// Bytes from and to memory, as many as it gives.
    MemoryBandwidth,
    /// Loads from memory, each waiting for the one before.
    MemoryLatency,
    /// Loads from memory, as many at once as the core keeps under way.
    MemoryParallelism,
    /// Translations of addresses to pages.
    Tlb,
    /// Branches that cannot be predicted.
    BranchPrediction,
    /// More code than the instruction caches hold.
    InstructionFetch,
    /// System calls: the way into the kernel and back.
    SystemCalls,
    /// The kernel's switching from one task to another.
    ContextSwitch,
    /// Who runs when there are more workers than logical CPUs.
    Scheduling,
    /// The allocator.
    Allocation,
    /// Locks, taken and released.
    Locking,
    /// Waiting in a loop.
    Waiting,
    /// Addresses that differ and yet are taken for the same.
    Aliasing,
}

impl Tag {
    /// Every tag, in the order that lists show them.
    pub const ALL: [Self; 22] = [
        Self::IntegerLatency,
        Self::FloatLatency,
        Self::IntegerThroughput,
        Self::VectorThroughput,
        Self::StoreForwarding,
        Self::StoreThroughput,
        Self::CacheCapacity,
        Self::MemoryLatency,
        Self::MemoryParallelism,
        Self::MemoryBandwidth,
        Self::Tlb,
        Self::Aliasing,
        Self::Coherence,
        Self::Locking,
        Self::Waiting,
        Self::BranchPrediction,
        Self::InstructionFetch,
        Self::Interpreter,
        Self::Allocation,
        Self::SystemCalls,
        Self::ContextSwitch,
        Self::Scheduling,
    ];

    /// The tag as users see and type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::IntegerLatency => "integer-latency",
            Self::FloatLatency => "float-latency",
            Self::StoreForwarding => "store-forwarding",
            Self::StoreThroughput => "store-throughput",
            Self::CacheCapacity => "cache-capacity",
            Self::Coherence => "coherence",
            Self::Interpreter => "interpreter",
            Self::IntegerThroughput => "integer-throughput",
            Self::VectorThroughput => "vector-throughput",
            Self::MemoryBandwidth => "memory-bandwidth",
            Self::MemoryLatency => "memory-latency",
            Self::MemoryParallelism => "memory-parallelism",
            Self::Tlb => "tlb",
            Self::BranchPrediction => "branch-prediction",
            Self::InstructionFetch => "instruction-fetch",
            Self::SystemCalls => "system-calls",
            Self::ContextSwitch => "context-switch",
            Self::Scheduling => "scheduling",
            Self::Allocation => "allocation",
            Self::Locking => "locking",
            Self::Waiting => "waiting",
            Self::Aliasing => "aliasing",
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// One thing about a workload that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name before the equals sign.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// The value it has unless set, as a user would type it.
    pub default: &'static str,
    /// The values it takes.
    pub domain: Domain,
}

impl Parameter {
    /// The unit of its numbers; `None` for a choice.
    pub fn unit(&self) -> Option<&'static str> {
        match self.domain {
            Domain::Choice(_) | Domain::File => None,
            Domain::Count { unit, .. } => Some(unit),
            Domain::Size { .. } => Some("bytes"),
        }
    }
}

/// The values that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// One of these.
    Choice(&'static [Choice]),
    /// The path of a file; the default is no path, but a name for what comes with corun.
    File,
    /// A whole number: `300000`, `300_000`, `3e5`.
    Count {
        /// Unit that is counted, as a plural noun.
        unit: &'static str,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// A number of bytes: `4096`, `4K`, `4KiB`, or in caches of the machine, `4xL3`.
    Size {
        /// The smallest value, in bytes.
        least: u64,
        /// The largest value, in bytes.
        most: u64,
        /// Every value is a multiple of this many bytes.
        multiple_of: u64,
    },
}

/// One value of a [`Domain::Choice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The value a user types.
    pub value: &'static str,
    /// Meaning in one line.
    pub summary: &'static str,
}

/// Text of an error for the expected values.
impl fmt::Display for Domain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Choice(choices) => {
                let values: Vec<_> = choices.iter().map(|choice| choice.value).collect();
                match values.split_last() {
                    Some((last, others)) if !others.is_empty() => {
                        write!(formatter, "{} or {last}", others.join(", "))
                    }
                    _ => formatter.write_str(&values.concat()),
                }
            }
            Self::File => formatter.write_str("the path of a file"),
            Self::Count { unit, least, most } => {
                write!(
                    formatter,
                    "a whole number of {unit} from {least} to {most}, like 300000, 300_000 or 3e5"
                )
            }
            Self::Size { least, most, multiple_of } => {
                let [least, most] = [least, most].map(quantity::format_size);
                write!(formatter, "a size from {least} to {most}")?;
                if multiple_of > 1 {
                    let unit = quantity::format_size(multiple_of);
                    write!(formatter, " that is a multiple of {unit}")?;
                }
                formatter.write_str(", like 4096, 4K, 4KiB or 2xL1")
            }
        }
    }
}

/// A parameter that decides whether the data of two workers of one process lie in one cache line, as
/// long as the other parameters have their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSharing {
    /// The parameter's name.
    pub parameter: &'static str,
    /// The value that puts workers 0 and 1 into one line.
    pub shared: &'static str,
    /// The value that gives each worker a line, and a pair of lines, of its own.
    pub own: &'static str,
}

/// A row's name without the suite's.
pub(crate) fn within_suite(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
