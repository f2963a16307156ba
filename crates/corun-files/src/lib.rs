//! Files that a user names: read up to a limit, written whole or not at all.
//!
//! Every file that a user names is read through [`text()`], [`bytes`], [`stream`] or [`random`], and every
//! file that is made for a user is an [`Output`]. clippy.toml refuses other ways. Of the kernel's files this reads two,
//! which several crates look at: a task's [`TaskStat`], and the identifier of the boot.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod boot;
mod growing;
mod input;
mod output;
mod signals;
mod task_stat;
mod unfinished;

pub use boot::{BOOT_ID, boot_id};
pub use growing::growing;
pub use input::{
    InputError, InputKind, Stream, bytes, input, kept, kernel_text, random, stream, text,
};
pub use output::{Output, is_descriptor};
pub use signals::{is_passed_on, is_signal_ignored, pass_on, signals_to_handle};
pub use task_stat::{TaskStat, decimal};
pub use unfinished::{are_handled_elsewhere, remove_unfinished};
