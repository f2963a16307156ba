//! The samples that were left out because something else ran.

/// The counts of samples that were left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbed {
    /// Samples taken.
    pub samples: usize,
    /// Left out since the clock changed.
    pub unsteady: usize,
    /// Left out since the kernel gave the CPU to another thread.
    pub switched: usize,
    /// Left out since a sibling took slots.
    pub shared: usize,
    /// Routines for which there were not enough moments with a core of one's own.
    pub never_alone: usize,
}
