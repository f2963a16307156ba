//! Errors a user can act on.
//!
//! A crate's error type implements [`Actionable`], so that the command line can print every error in
//! the same form (what was expected and found, then what to do) and end with the right exit code.

/// Exit code of a corun command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done.
    Done = 0,
    /// Something failed: the measured command, a file, the system.
    Failed = 1,
    /// Usage error: the command line is not valid.
    Usage = 2,
    /// This machine cannot do it.
    NotPossible = 3,
    /// This machine could do it, this user may not.
    NotPermitted = 4,
    /// Ended early, by the user or by a limit on time that left no answer; what was finished has been kept.
    Interrupted = 5,
}

impl Exit {
    /// Every exit code.
    pub const ALL: [Self; 6] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::NotPossible,
        Self::NotPermitted,
        Self::Interrupted,
    ];

    /// The exit code where a file that a user names cannot be read: the command line is valid, the file fails.
    pub fn of_file(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Self::NotPermitted,
            _ => Self::Failed,
        }
    }

    /// Meaning of the exit code in one sentence: the text of every help, man page and document.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "Everything asked for was done.",
            Self::Failed => "Something failed: the command, a file or the system.",
            Self::Usage => "The command line is not valid.",
            Self::NotPossible => "This machine cannot do it.",
            Self::NotPermitted => "This machine could do it, but this user may not.",
            Self::Interrupted => {
                "It was interrupted, or the time allowed was too short for an answer; what was finished is kept."
            }
        }
    }
}

/// An error whose `Display` says what was expected, what was found and where, in one sentence.
pub trait Actionable: std::error::Error {
    /// Exit code with which this error ends the command.
    fn exit(&self) -> Exit;

    /// Advice to the user, in one sentence.
    fn next_step(&self) -> String;
}
