//! `corun topo --capture DIR`: the machine in a folder, for `--root` here and elsewhere.

use std::path::Path;
use std::process::ExitCode;

use corun_machine::{Capture, MachineError, Names, RootFiles};
use corun_record::{Exit, shown};

use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run(folder: &Path, names: Names, root: &Path) -> Result<ExitCode, Problem> {
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let capture = Capture::take(&mut files, names).ok_or_else(|| MachineError::none_below(root))?;
    capture.write(folder)?;
    let left_out = match names {
        Names::Kept => "Serial numbers and tasks are left out; --anonymous leaves names out, too.",
        Names::LeftOut => "Serial numbers, tasks and names are left out.",
    };
    let number = capture.files().len();
    let folder = shown(folder);
    terminal::show(&format!(
        "Captured {number} files of this machine. {left_out}\n\n  corun topo --root {folder}\n  corun doctor --root {folder}\n"
    ))?;
    Ok(code(Exit::Done))
}
