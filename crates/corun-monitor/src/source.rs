//! Sources of activities.

use std::time::Duration;

use corun_record::Activity;

use crate::MonitorError;

/// Something that says what a machine did, an interval at a time.
pub trait Source {
    /// Waits for this long, and says what happened since the last call (or since the source was opened).
    ///
    /// # Errors
    /// If nothing can be read any more; a recording that has ended is [`MonitorError::Ended`].
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError>;

    /// Limits of trust in the source as a whole, as one sentence, once that is known.
    fn caveat(&self) -> Option<&str> {
        None
    }

    /// Time of the newest interval, where it is not now.
    fn moment(&self) -> Option<String> {
        None
    }

    /// True if there may be intervals after the end: earlier ones of a recording.
    fn can_go_back(&self) -> bool {
        false
    }
}

impl Source for Box<dyn Source + Send> {
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        (**self).next(wait)
    }

    fn caveat(&self) -> Option<&str> {
        (**self).caveat()
    }

    fn moment(&self) -> Option<String> {
        (**self).moment()
    }

    fn can_go_back(&self) -> bool {
        (**self).can_go_back()
    }
}

/// Which tasks a source reads; fewer cost less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tasks {
    /// None: the CPUs alone.
    None,
    /// Processes, each as one task.
    Processes,
    /// Every thread of the processes that used a CPU.
    #[default]
    Threads,
}
