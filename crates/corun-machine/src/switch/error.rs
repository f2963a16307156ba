//! Why SMT was not switched, and what a user can do about it.

use std::io;
use std::path::PathBuf;

use corun_record::{Actionable, Exit, SmtState};

use super::change::ChangeError;
use super::runtime::{Holder, State};
use super::snapshot::Difference;

/// Why SMT was not switched or not brought back.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The kernel keeps siblings off until a reboot.
    #[error("SMT cannot be switched on: smt/control says `forceoff`")]
    ForcedOff {
        /// The argument of the kernel's command line that did it, if one did.
        by: Option<String>,
    },
    /// There is nothing to switch.
    #[error("expected a processor with siblings, found none: {found}")]
    NoSmt {
        /// Evidence.
        found: String,
    },
    /// The kernel has siblings and cannot switch them.
    #[error(
        "this kernel cannot switch SMT on this architecture: smt/control says `notimplemented`"
    )]
    NotImplemented {
        /// The siblings that would go, in the kernel's list form.
        siblings: String,
    },
    /// This user may not.
    #[error("switching SMT needs root: {file} may not be written")]
    NotRoot {
        /// The file.
        file: PathBuf,
    },
    /// No user may, from here.
    #[error("{file} is mounted read-only, as in a container")]
    ReadOnly {
        /// The file.
        file: PathBuf,
    },
    /// Cpusets of version 1 would lose CPUs.
    #[error(
        "cpusets of version 1 would lose CPUs, which the kernel does not give back: {}", sets.join(", ")
    )]
    Cpusets {
        /// Their folders.
        sets: Vec<String>,
    },
    /// Another corun is switching.
    #[error("another corun is switching SMT right now{}", named(.0.as_ref()))]
    Busy(Option<Holder>),
    /// This process was started by a corun that switches.
    #[error("this runs inside a corun that has switched SMT{}", named(Some(.0)))]
    Nested(Holder),
    /// A state file cannot be read.
    #[error(
        "expected in {} how everything was before corun switched SMT, found a file that cannot be read: {source}",
        corun_record::shown(file)
    )]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Somebody else switched meanwhile.
    #[error("another process has changed which CPUs are online: corun left {left}, found {found}")]
    Disturbed {
        /// State as it was left.
        left: String,
        /// State as it is.
        found: String,
    },
    /// Everything came back, and it cannot be written down that it did.
    #[error(
        "everything is as it was, but the state files in {} cannot be removed: {source}",
        corun_record::shown(folder)
    )]
    NotForgotten {
        /// The folder.
        folder: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A corun that died has left SMT switched.
    #[error("a corun that was killed has left SMT switched{}", since(.0))]
    Unfinished(Box<State>),
    /// There is nothing to restore.
    #[error("expected a switch to undo, found none: nothing that corun has switched is left")]
    NothingToRestore,
    /// The change failed; everything is as it was before.
    #[error("SMT could not be switched {wanted}, and everything is again as it was: {source}")]
    RolledBack {
        /// The state that was wanted.
        wanted: SmtState,
        /// Error of the change.
        source: ChangeError,
    },
    /// Not everything came back.
    #[error("not everything came back as it was: {}", list(.0))]
    NotRestored(Vec<Difference>),
    /// The state could not be written down, so nothing was changed.
    #[error("could not use {file} to write down how everything was: {source}")]
    State {
        /// The folder or file.
        file: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The watchdog did not start, so nothing was changed.
    #[error("could not start the watchdog that restores SMT should corun die: {0}")]
    Watchdog(io::Error),
    /// The machine cannot be read.
    #[error("could not read this machine's CPUs below /sys")]
    NoMachine,
}

fn named(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |Holder { process, command }| {
        format!(" (process {process}: {command})")
    })
}

fn since(state: &State) -> String {
    format!("{}, since {}", named(Some(&state.by)), state.taken)
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

impl Actionable for SwitchError {
    fn exit(&self) -> Exit {
        match self {
            Self::ForcedOff { .. }
            | Self::NoSmt { .. }
            | Self::NotImplemented { .. }
            | Self::ReadOnly { .. }
            | Self::Cpusets { .. }
            | Self::NoMachine => Exit::NotPossible,
            Self::NotRoot { .. } => Exit::NotPermitted,
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::ForcedOff { by: Some(argument) } => format!(
                "Boot without `{argument}` on the kernel's command line; only a reboot undoes it."
            ),
            Self::ForcedOff { by: None } => {
                "Something wrote `forceoff` since the boot; only a reboot undoes it.".to_owned()
            }
            Self::NoSmt { .. } => "If the processor has SMT, enable it in the firmware's setup; a \
                 virtual machine must be given threads by its host."
                .to_owned(),
            Self::NotImplemented { siblings } if siblings.is_empty() => {
                "Switch SMT in the firmware's setup.".to_owned()
            }
            Self::NotImplemented { siblings } => format!(
                "Take the siblings offline by hand (`chcpu -d {siblings}`), and bring them back \
                 with `chcpu -e {siblings}`."
            ),
            Self::NotRoot { .. } => "Run the same with sudo.".to_owned(),
            Self::ReadOnly { .. } => {
                "Run corun on the host, or in a container that may write /sys.".to_owned()
            }
            Self::Cpusets { .. } => "Add --repair-cpusets: corun then writes their CPUs and tasks \
                 down and puts them back afterwards."
                .to_owned(),
            Self::Busy(_) => "Wait until it is done, or add --wait.".to_owned(),
            Self::Nested(_) => "A command cannot switch SMT while it runs in a state that was \
                 asked for it; run it outside."
                .to_owned(),
            Self::Unreadable { file, .. } => format!(
                "Nothing was changed. See `corun smt status`; once SMT is as it should be, \
                 remove {}.",
                corun_record::shown(file)
            ),
            Self::Disturbed { .. } => {
                "Stop what else switches SMT or takes CPUs offline.".to_owned()
            }
            Self::NotForgotten { .. } => "Remove them by hand.".to_owned(),
            Self::Unfinished(_) => "Bring everything back first: corun smt restore".to_owned(),
            Self::NothingToRestore => "`corun smt status` shows the state.".to_owned(),
            Self::RolledBack { .. } => "See what the kernel says about it: dmesg | tail".to_owned(),
            Self::NotRestored(_) => {
                "Check what is named, then try again: corun smt restore".to_owned()
            }
            Self::State { .. } => "Nothing was changed. See that the folder can be written and \
                 its file system has room."
                .to_owned(),
            Self::Watchdog(_) => {
                "Nothing was changed. See what limits this process (memory, processes).".to_owned()
            }
            Self::NoMachine => "Mount sysfs at /sys.".to_owned(),
        }
    }
}
