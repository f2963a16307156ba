//! Instruction sources: recorded threads as a core takes them, once, over and over, in step with the other
//! threads of their process, or in time slices.

pub(crate) mod recorded;
pub(crate) mod synchronisation;
pub(crate) mod synchronised;
pub(crate) mod time_slices;
