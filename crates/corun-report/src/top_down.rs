//! The categories of the top-down method (Yasin 2014) that the components of a cycle stack belong to.

/// A category of issue slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    /// A micro-op was issued and retired.
    Retiring,
    /// The slot was lost to a mispredicted branch.
    BadSpeculation,
    /// No micro-op was available.
    FrontEndBound,
    /// The core had no entry or port for a micro-op, or its operands were missing.
    CoreBound,
    /// The oldest micro-op waited for memory.
    MemoryBound,
}

impl Category {
    /// Every category, in the order of tables.
    pub(crate) const ALL: [Self; 5] = [
        Self::Retiring,
        Self::BadSpeculation,
        Self::FrontEndBound,
        Self::CoreBound,
        Self::MemoryBound,
    ];

    /// The category of a component, by the simulator's name of it.
    pub(crate) fn of(component: &str) -> Self {
        match component {
            "retiring" => Self::Retiring,
            "mispredict" => Self::BadSpeculation,
            "front end" => Self::FrontEndBound,
            "L1D" | "L2" | "L3" | "memory" | "other core" | "store forwarding" | "load queue"
            | "store queue" => Self::MemoryBound,
            _ => Self::CoreBound,
        }
    }

    /// The category's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Retiring => "retiring",
            Self::BadSpeculation => "bad speculation",
            Self::FrontEndBound => "front-end bound",
            Self::CoreBound => "back-end bound, core",
            Self::MemoryBound => "back-end bound, memory",
        }
    }
}
