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

/// Program to load, and the command line it sees.
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
        let Some((interpreter, argument)) = interpreter(&start) else { break };
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

/// The name of the program that `env` starts for a script that begins with `#!/usr/bin/env NAME`; none for other files.
pub(super) fn started_by_env(program: &Path) -> Option<OsString> {
    let start = first_line(program).ok()?;
    let (interpreter, name) = interpreter(&start)?;
    let is_env = Path::new(interpreter).file_name()? == "env";
    // Options and variables are for env itself.
    let is_name = !name.is_empty() && !name.as_bytes().starts_with(b"-");
    let is_name =
        is_name && !name.as_bytes().iter().any(|it| *it == b'=' || it.is_ascii_whitespace());
    (is_env && is_name).then(|| name.to_owned())
}

/// Interpreter of a script's first line: its interpreter, and what follows that as one argument, which may be empty.
fn interpreter(first_line: &[u8]) -> Option<(&OsStr, &OsStr)> {
    let shebang = first_line.strip_prefix(b"#!")?.trim_ascii();
    let end = shebang.iter().position(u8::is_ascii_whitespace).unwrap_or(shebang.len());
    let (interpreter, argument) = shebang.split_at(end);
    Some((OsStr::from_bytes(interpreter), OsStr::from_bytes(argument.trim_ascii())))
}

fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(LINE)).read_until(b'\n', &mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_env_is_its_interpreters() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        let started = |text: &str| {
            std::fs::write(&file, text).unwrap();
            started_by_env(&file)
        };
        for text in ["#!/usr/bin/env sh\necho", "#! /bin/env  sh \n", "#!/usr/bin/env\tsh"] {
            assert_eq!(started(text).as_deref(), Some(OsStr::new("sh")), "{text}");
        }
        for text in [
            "",
            "#!",
            "#!/bin/sh\n",
            "#!/usr/bin/env\n",
            "#!/usr/bin/env -S sh -e\n",
            "#!/usr/bin/env A=1 sh\n",
            "#!/usr/bin/env sh -e\n",
            "\x7fELF\x02/usr/bin/env sh",
        ] {
            assert_eq!(started(text), None, "{text:?}");
        }
        assert_eq!(started_by_env(&folder.path().join("missing")), None);
    }

    #[test]
    fn a_target_is_what_env_becomes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        std::fs::write(&file, "#!/usr/bin/env sh\nexit 3").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        let target = Target::find(file.as_os_str(), &["word".into()]).unwrap();
        assert_eq!(target.program, which::which("sh").unwrap());
        assert_eq!(target.arguments, [file.clone().into_os_string(), "word".into()]);
        std::fs::write(&file, "#!/usr/bin/env no-such-interpreter\n").unwrap();
        let target = Target::find(file.as_os_str(), &[]).unwrap();
        assert_eq!((target.program, target.arguments), (file, Vec::<OsString>::new()));
    }
}
