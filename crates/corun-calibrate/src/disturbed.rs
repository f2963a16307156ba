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

impl Disturbed {
    /// All counts, in the order of the fields.
    pub(crate) fn counts(self) -> [usize; 5] {
        let Self { samples, unsteady, switched, shared, never_alone } = self;
        [samples, unsteady, switched, shared, never_alone]
    }
}

impl From<[usize; 5]> for Disturbed {
    fn from([samples, unsteady, switched, shared, never_alone]: [usize; 5]) -> Self {
        Self { samples, unsteady, switched, shared, never_alone }
    }
}
