//! Which file the kernel would load for a program: scripts name their interpreter.
//!
//! DynamoRIO and QEMU load the program in the kernel's place and know executables only.
#![expect(
    clippy::disallowed_methods,
    reason = "the beginning of a program, of a length that is set"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Target;

/// The kernel reads no more of a script's first line.
const LINE: u64 = 256;
/// The kernel follows no more scripts that interpret scripts.
const DEPTH: usize = 5;
const ELF: &[u8] = b"\x7fELF\x02";

/// What to load, and the command line it sees.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) image: PathBuf,
    pub(super) name: OsString,
    pub(super) arguments: Vec<OsString>,
}

/// Follows scripts to the executable that runs them.
///
/// # Errors
/// If there is none of 64 bits.
pub(super) fn resolve(target: &Target) -> io::Result<CommandLine> {
    let mut line = CommandLine {
        image: target.program.clone(),
        name: target.program.clone().into(),
        arguments: target.arguments.clone(),
    };
    for _ in 0..DEPTH {
        let start = first_line(&line.image)?;
        if start.starts_with(ELF) {
            return Ok(line);
        }
        let Some(shebang) = start.strip_prefix(b"#!") else { break };
        let shebang = shebang.trim_ascii();
        let end = shebang.iter().position(u8::is_ascii_whitespace).unwrap_or(shebang.len());
        let (interpreter, argument) = shebang.split_at(end);
        let (interpreter, argument) =
            (OsStr::from_bytes(interpreter), OsStr::from_bytes(argument.trim_ascii()));
        let mut arguments: Vec<OsString> = Vec::new();
        if !argument.is_empty() {
            arguments.push(argument.to_owned());
        }
        arguments.push(line.image.into());
        arguments.append(&mut line.arguments);
        line = CommandLine { image: interpreter.into(), name: interpreter.to_owned(), arguments };
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "expected an executable of 64 bits or a script that names one",
    ))
}

fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(LINE)).read_until(b'\n', &mut line)?;
    Ok(line)
}
